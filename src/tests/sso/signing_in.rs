//! Sign-in with the provider, the resulting permissions, and sign-out.

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, ReloadableConfig};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::provider::{Provider, issuer, table};
use super::{Browser, ROLE_MAPPINGS, SsoConsole, access, access_with, error_code};
use crate::access::{location, user_config};
use crate::api::{group_config, lock_path};
use crate::support::certificates::{CertificateAuthority, path_str};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNodes, free_port};
use crate::support::wait_until;

/// Tries to acquire a lock with the browser's session. Returns the status and the body.
async fn acquire(browser: &Browser, key: &[u8]) -> (u16, String) {
    let cookies = browser.cookies.header();
    let headers = [
        ("cookie", cookies.as_str()),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", key, "/acquire");
    let response = browser
        .api
        .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
        .await;
    (response.status, response.text)
}

#[tokio::test]
async fn the_claims_of_a_user_determine_role_and_scope() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let mut alice = console.browser();
    let response = alice.sign_in("alice").await;
    assert_eq!(location(&response), "/nodes");
    let set_cookies: Vec<_> = response
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|value| value.to_str().unwrap())
        .collect();
    assert!(
        set_cookies[0].starts_with("lockkeeper=")
            && set_cookies[0].contains("; HttpOnly; SameSite=Lax")
    );
    assert!(
        set_cookies[1].starts_with("lockkeeper-sign-in-"),
        "{set_cookies:?}"
    );
    let page = alice.get("/").await.text;
    assert!(page.contains("alice") && page.contains("operator"));
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
    let (status, text) = acquire(&alice, b"other:a").await;
    assert!(status == 403 && text.contains("lock:*"), "{status} {text}");
    // The second role mapping, by a nested claim.
    let mut otto = console.browser();
    assert_eq!(location(&otto.sign_in("otto").await), "/nodes");
    let (status, text) = acquire(&otto, b"lock:b").await;
    assert!(status == 403 && text.contains("viewer"), "{status} {text}");
    let sample = "lockkeeper_authentications_total{method=\"provider\",result=\"done\"} 2\n";
    let page = alice.get("/metrics").await.text;
    assert!(page.contains(sample), "{page}");
    let entries = console.audit_entries().await;
    let sign_ins: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["action"] == "sign-in")
        .collect();
    assert_eq!(sign_ins[0]["actor"], "alice");
    let detail = sign_ins[0]["detail"]["message"].as_str().unwrap();
    assert!(
        detail.contains("Example login: groups has \"sre\""),
        "{detail}"
    );
}

#[tokio::test]
async fn missing_claims_are_read_from_the_userinfo_endpoint() {
    let provider = Provider::start_with(json!({ "thin": true })).await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let mut alice = console.browser();
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
    assert_eq!(
        error_code(&console.browser().sign_in("guest").await),
        "no-role"
    );
}

#[tokio::test]
async fn the_sign_in_page_offers_the_provider_with_or_without_a_password_form() {
    let provider = Provider::start().await;
    let mut access = access(&provider);
    let provider_only = SsoConsole::start(access.clone(), Clock::system()).await;
    let page = provider_only
        .browser()
        .get("/sign-in?next=%2Fnodes")
        .await
        .text;
    assert!(page.contains("Sign in with Example login"), "{page}");
    assert!(
        page.contains("href=\"/sign-in/provider?next=%2Fnodes\""),
        "{page}"
    );
    assert!(!page.contains("type=\"password\""));
    access.users = vec![user_config("vera", RoleGrant::unrestricted(Role::Viewer))];
    let with_password = SsoConsole::start(access, Clock::system()).await;
    let headers = [("accept-language", "zh-CN")];
    let api = with_password.api();
    let page = api.send("GET", "/sign-in", &headers, "").await.text;
    assert!(page.contains("使用 Example login 登录") && page.contains("type=\"password\""));
    // With both methods, an unauthenticated request is redirected to the sign-in page, not to the
    // provider.
    let response = with_password.browser().get("/waits").await;
    assert_eq!(location(&response), "/sign-in?next=%2Fwaits");
}

#[tokio::test]
async fn sign_out_ends_the_session_and_offers_sign_out_at_the_provider() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let mut alice = console.browser();
    alice.sign_in("alice").await;
    let mut copy = Browser::new(alice.api.clone());
    copy.cookies = alice.cookies.clone();
    let response = alice.post("/sign-out", "").await;
    assert_eq!(location(&response), "/sign-in?out=provider");
    assert!(!alice.check_session().await && !copy.check_session().await);
    let page = alice.get("/sign-in?out=provider").await.text;
    assert!(
        page.contains("You may still be signed in at Example login."),
        "{page}"
    );
    let response = alice.get("/sign-out/provider").await;
    let logout_url = location(&response).to_owned();
    assert!(
        logout_url.starts_with(&format!("{}/session/end?", provider.issuer())),
        "{logout_url}"
    );
    assert!(logout_url.contains("post_logout_redirect_uri=http%3A%2F%2Flocalhost%3A1%2Fsign-in"));
    assert!(logout_url.contains("client_id=lockkeeper") && !logout_url.contains("id_token_hint"));
    let (_, text) = alice.send_to_provider("GET", &logout_url, "").await;
    assert!(text.contains("Do you want to sign-out"), "{text}");
}

#[tokio::test]
async fn every_sign_in_sets_a_new_cookie_and_sign_out_everywhere_ends_all_sessions() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let (mut first, mut second) = (console.browser(), console.browser());
    first.sign_in("alice").await;
    second.sign_in("alice").await;
    let old_cookies = first.cookies.clone();
    // Alice still has a session at the provider, which shows no form.
    first.sign_in("alice").await;
    assert_ne!(old_cookies.0["lockkeeper"], first.cookies.0["lockkeeper"]);
    let mut old = Browser::new(first.api.clone());
    old.cookies = old_cookies;
    assert!(!old.check_session().await && first.check_session().await);
    first.post("/sign-out", "everywhere=yes").await;
    assert!(!first.check_session().await && !second.check_session().await);
}

#[tokio::test]
async fn a_changed_role_mapping_changes_the_role_and_a_removed_one_ends_the_session() {
    let provider = Provider::start().await;
    let nodes = RedisNodes::start(1).await;
    let mut config = Config {
        access: access(&provider),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let (reload_sender, reloads) = watch::channel(ReloadableConfig::from_config(&config));
    config.reloads = Some(reloads);
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let mut alice = Browser::new(console.api());
    alice.sign_in("alice").await;
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
    let table = provider.table();
    let reload = |role_mappings: &str| {
        let access = access_with(&table, role_mappings);
        reload_sender.send_modify(|config| config.access = access);
    };
    reload(&ROLE_MAPPINGS.replace("operator", "viewer"));
    wait_until("alice is a viewer", async || {
        acquire(&alice, b"lock:b").await.0 == 403
    })
    .await;
    assert!(alice.check_session().await);
    reload(&ROLE_MAPPINGS.replace("sre", "others"));
    wait_until("the session ends", async || {
        acquire(&alice, b"lock:c").await.0 == 401
    })
    .await;
}

#[tokio::test]
async fn an_unreachable_provider_does_not_affect_passwords_and_is_retried() {
    let port = free_port();
    let mut config = access_with(&table(&issuer(port)), ROLE_MAPPINGS);
    config.users = vec![user_config("vera", RoleGrant::unrestricted(Role::Viewer))];
    let console = SsoConsole::start(config, Clock::system()).await;
    let mut alice = console.browser();
    let response = alice.get("/sign-in/provider?next=%2Fnodes").await;
    assert_eq!(location(&response), "/sign-in?next=%2Fnodes&why=provider");
    let page = alice.get("/sign-in?next=%2Fnodes&why=provider").await.text;
    assert!(
        page.contains("The sign-in provider does not respond."),
        "{page}"
    );
    crate::access::sign_in(&console.api(), "vera").await;
    let provider = Provider::start_with(json!({ "port": port })).await;
    wait_until("the provider is queried again", async || {
        let response = alice.get("/sign-in/provider").await;
        location(&response).starts_with("http")
    })
    .await;
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    // The provider stops during a sign-in.
    let authorization_url = alice.begin_sign_in("/nodes").await;
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    provider.stop().await;
    assert_eq!(error_code(&alice.get(&callback).await), "provider");
}

#[tokio::test]
async fn rotated_signing_keys_of_the_provider_are_accepted() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    assert_eq!(
        location(&console.browser().sign_in("alice").await),
        "/nodes"
    );
    let port = provider.stop().await;
    let _restarted = Provider::start_with(json!({ "port": port })).await;
    assert_eq!(
        location(&console.browser().sign_in("alice").await),
        "/nodes"
    );
}

#[tokio::test]
async fn a_provider_with_a_private_ca_is_trusted_only_if_the_ca_is_configured() {
    let (authority, other_authority) = (CertificateAuthority::new(), CertificateAuthority::new());
    let provider = Provider::start_https(&authority.issue("provider")).await;
    let access_trusting = |authority: &CertificateAuthority| {
        let ca_file = format!("ca_file = \"{}\"\n", path_str(&authority.ca_file()));
        access_with(&(provider.table() + &ca_file), ROLE_MAPPINGS)
    };
    for access in [access(&provider), access_trusting(&other_authority)] {
        let console = SsoConsole::start(access, Clock::system()).await;
        let response = console.browser().get("/sign-in/provider").await;
        assert_eq!(error_code(&response), "provider");
    }
    let console = SsoConsole::start(access_trusting(&authority), Clock::system()).await;
    let mut alice = console.browser().trusting(&authority);
    let response = alice.sign_in("alice").await;
    assert_eq!(location(&response), "/nodes");
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
}

#[tokio::test]
async fn a_changed_client_secret_file_applies_to_the_next_sign_in() {
    let provider = Provider::start().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let table = provider.table();
    let secret = table.split('"').find(|text| text.starts_with("a secret"));
    let secret = secret.unwrap().to_owned();
    let in_file = format!("client_secret_file = \"{}\"\n", path_str(file.path()));
    let inline = format!("client_secret = \"{secret}\"\n");
    std::fs::write(file.path(), "an old client secret\n").unwrap();
    let access = access_with(&table.replace(&inline, &in_file), ROLE_MAPPINGS);
    let console = SsoConsole::start(access, Clock::system()).await;
    assert_eq!(
        error_code(&console.browser().sign_in("alice").await),
        "console"
    );
    std::fs::write(file.path(), format!("{secret}\n")).unwrap();
    assert_eq!(
        location(&console.browser().sign_in("alice").await),
        "/nodes"
    );
    // Without a readable secret the sign-in fails before the redirect to the provider.
    std::fs::remove_file(file.path()).unwrap();
    let response = console.browser().get("/sign-in/provider").await;
    assert_eq!(error_code(&response), "provider");
}

#[tokio::test]
async fn a_changed_ca_file_applies_to_the_next_sign_in() {
    let (old_authority, authority) = (CertificateAuthority::new(), CertificateAuthority::new());
    let provider = Provider::start_https(&authority.issue("provider")).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let write_ca_file =
        |authority: &CertificateAuthority| std::fs::copy(authority.ca_file(), file.path()).unwrap();
    write_ca_file(&old_authority);
    let ca_file = format!("ca_file = \"{}\"\n", path_str(file.path()));
    let access = access_with(&(provider.table() + &ca_file), ROLE_MAPPINGS);
    let console = SsoConsole::start(access, Clock::system()).await;
    let response = console.browser().get("/sign-in/provider").await;
    assert_eq!(error_code(&response), "provider");
    write_ca_file(&authority);
    // Each request uses another network, because requests of one network are rate-limited.
    let mut network = 0;
    wait_until("the provider is trusted", async || {
        network = u8::wrapping_add(network, 1);
        let response = console
            .browser_from([127, 0, network, 1])
            .get("/sign-in/provider")
            .await;
        location(&response).starts_with("https:")
    })
    .await;
    let alice = || console.browser().trusting(&authority);
    assert_eq!(location(&alice().sign_in("alice").await), "/nodes");
    // While the file is missing, for example during its replacement, the last certificates are
    // used.
    std::fs::remove_file(file.path()).unwrap();
    assert_eq!(location(&alice().sign_in("alice").await), "/nodes");
}
