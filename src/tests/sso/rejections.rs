//! Rejected sign-ins: the reason on the sign-in page and the entry in the audit log.

use std::time::Duration;

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use serde_json::json;

use super::provider::Provider;
use super::{Browser, ROLE_MAPPINGS, SsoConsole, access, access_with, error_code};
use crate::access::{get_with_cookie, location, sign_in, user_config};

async fn start() -> (Provider, SsoConsole) {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    (provider, console)
}

/// The value of a query parameter.
fn query_parameter<'a>(url: &'a str, name: &str) -> &'a str {
    let mut pairs = url
        .split(['?', '&'])
        .filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).unwrap().1
}

/// The sentence of the last rejected sign-in in the audit log.
async fn last_rejection(console: &SsoConsole) -> String {
    let entries = console.audit_entries().await;
    let last = entries.iter().rfind(|entry| entry["result"] == "refused");
    last.unwrap()["detail"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Asserts that this callback is rejected with this error code and that the page shows it.
async fn assert_rejected(browser: &mut Browser, path: &str, code: &str) {
    let response = browser.get(path).await;
    assert_eq!(error_code(&response), code, "{path}");
    assert!(!browser.check_session().await, "{path}");
    let page = browser.get(location(&response)).await;
    assert!(
        page.status == 200 && page.text.contains("role=\"alert\""),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn a_user_without_a_role_is_rejected_with_the_reason() {
    let (_provider, console) = start().await;
    let mut without_role = console.browser();
    let response = without_role.sign_in("guest").await;
    assert_eq!(location(&response), "/sign-in?next=%2Fnodes&why=no-role");
    assert!(!without_role.check_session().await);
    let page = without_role.get(location(&response)).await.text;
    assert!(
        page.contains("no role in this console is assigned to you"),
        "{page}"
    );
    let mut alice = console.browser();
    alice.sign_in("alice").await;
    let sample = "lockkeeper_authentications_total{method=\"provider\",result=\"refused\"} 1\n";
    let page = alice.get("/metrics").await.text;
    assert!(page.contains(sample), "{page}");
    let entries = console.audit_entries().await;
    let entry = entries
        .iter()
        .find(|entry| entry["action"] == "sign-in")
        .unwrap();
    assert_eq!(
        (&entry["actor"], &entry["result"]),
        (&json!("guest"), &json!("refused")),
        "{entry}"
    );
}

#[tokio::test]
async fn a_code_is_accepted_once_for_its_own_sign_in_in_the_same_browser() {
    let (_provider, console) = start().await;
    let mut alice = console.browser();
    // A forged state or a forged code.
    assert_rejected(&mut alice, "/sign-in/callback?code=a&state=b", "expired").await;
    assert_rejected(&mut alice, "/sign-in/callback", "expired").await;
    let authorization_url = alice.begin_sign_in("/").await;
    let forged = format!(
        "/sign-in/callback?code=forged&state={}",
        query_parameter(&authorization_url, "state")
    );
    assert_rejected(&mut alice, &forged, "untrusted").await;
    assert!(last_rejection(&console).await.contains("invalid_grant"));
    // Two pending sign-ins in one browser: the code of the first with the state of the second.
    let (first, second) = (
        alice.begin_sign_in("/").await,
        alice.begin_sign_in("/").await,
    );
    let callback = alice.sign_in_at_provider(&first, "alice").await;
    let swapped = callback.replace(
        query_parameter(&first, "state"),
        query_parameter(&second, "state"),
    );
    assert_rejected(&mut alice, &swapped, "untrusted").await;
    assert!(last_rejection(&console).await.contains("invalid_grant"));
    // Another browser opens the callback (login CSRF), without and with a pending sign-in of its
    // own.
    let authorization_url = alice.begin_sign_in("/").await;
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    let mut victim = console.browser();
    assert_rejected(&mut victim, &callback, "expired").await;
    victim.begin_sign_in("/").await;
    let authorization_url = alice.begin_sign_in("/").await;
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    assert_rejected(&mut victim, &callback, "expired").await;
    assert!(
        last_rejection(&console)
            .await
            .contains("no pending sign-in")
    );
    // A second use of a callback.
    let authorization_url = alice.begin_sign_in("/").await;
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    assert_eq!(location(&alice.get(&callback).await), "/");
    assert_eq!(error_code(&alice.get(&callback).await), "expired");
}

#[tokio::test]
async fn an_id_token_with_another_nonce_is_rejected() {
    let (_provider, console) = start().await;
    let mut alice = console.browser();
    let authorization_url = alice.begin_sign_in("/").await;
    let nonce = query_parameter(&authorization_url, "nonce").to_owned();
    let callback = alice
        .sign_in_at_provider(&authorization_url.replace(&nonce, "another"), "alice")
        .await;
    assert_rejected(&mut alice, &callback, "untrusted").await;
    assert!(last_rejection(&console).await.contains("nonce"));
}

#[tokio::test]
async fn an_id_token_signed_with_an_unknown_key_is_rejected() {
    let provider = Provider::start_with(json!({ "other_keys": true })).await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let mut alice = console.browser();
    let authorization_url = alice.begin_sign_in("/").await;
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    assert_rejected(&mut alice, &callback, "untrusted").await;
    assert!(
        last_rejection(&console)
            .await
            .contains("Signature verification failed")
    );
}

#[tokio::test]
async fn error_responses_and_responses_of_another_issuer_are_rejected() {
    let (_provider, console) = start().await;
    let mut alice = console.browser();
    for (parameters, code) in [
        ("code=a&iss=http%3A%2F%2Fevil.example", "untrusted"),
        ("error=access_denied", "cancelled"),
        ("error=temporarily_unavailable", "provider"),
        (
            "error=invalid_scope&error_description=%0Aforged+line",
            "untrusted",
        ),
        ("", "untrusted"),
    ] {
        let authorization_url = alice.begin_sign_in("/").await;
        let state = query_parameter(&authorization_url, "state").to_owned();
        assert_rejected(
            &mut alice,
            &format!("/sign-in/callback?{parameters}&state={state}"),
            code,
        )
        .await;
    }
}

#[tokio::test]
async fn a_pending_sign_in_expires_after_ten_minutes() {
    let provider = Provider::start().await;
    let clock = Clock::manual(Clock::system().now());
    let console = SsoConsole::start(access(&provider), clock.clone()).await;
    let mut alice = console.browser();
    let authorization_url = alice.begin_sign_in("/").await;
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    clock.advance(Duration::from_mins(10));
    assert_rejected(&mut alice, &callback, "expired").await;
}

#[tokio::test]
async fn clock_skew_between_console_and_provider_is_reported_as_the_reason() {
    let provider = Provider::start().await;
    for (behind, advance) in [
        (Duration::from_hours(3), Duration::ZERO),
        (Duration::ZERO, Duration::from_mins(5)),
    ] {
        let now = Clock::system().now().millis() - i64::try_from(behind.as_millis()).unwrap();
        let clock = Clock::manual(lockkeeper::domain::Timestamp::from_millis(now));
        clock.advance(advance);
        let console = SsoConsole::start(access(&provider), clock).await;
        let mut alice = console.browser();
        let authorization_url = alice.begin_sign_in("/").await;
        let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
        assert_rejected(&mut alice, &callback, "clock").await;
    }
}

#[tokio::test]
async fn a_provider_user_with_the_name_of_a_configured_user_is_rejected() {
    let provider = Provider::start().await;
    let mut config = access(&provider);
    config.users = vec![user_config("root", RoleGrant::unrestricted(Role::Admin))];
    let console = SsoConsole::start(config, Clock::system()).await;
    let mut root = console.browser();
    assert_eq!(error_code(&root.sign_in("root").await), "name-taken");
    assert!(!root.check_session().await);
}

#[tokio::test]
async fn a_sign_in_does_not_redirect_to_another_site() {
    let (_provider, console) = start().await;
    let mut alice = console.browser();
    let response = alice
        .get("/sign-in/provider?next=https%3A%2F%2Fevil.example")
        .await;
    let authorization_url = location(&response).to_owned();
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    assert_eq!(location(&alice.get(&callback).await), "/");
}

#[tokio::test]
async fn forged_callbacks_are_rate_limited_and_sign_ins_without_a_role_are_not() {
    let provider = Provider::start().await;
    // The clock does not advance, so no further attempt becomes free.
    let clock = Clock::manual(Clock::system().now());
    let console = SsoConsole::start(access(&provider), clock).await;
    let mut attacker = console.browser();
    for n in 0..21 {
        let response = attacker
            .get(&format!("/sign-in/callback?code=a&state={n}"))
            .await;
        assert_eq!(error_code(&response), "expired");
    }
    let response = attacker.get("/sign-in/callback?code=a&state=b").await;
    assert_eq!(error_code(&response), "later&seconds=1");
    let mut without_role = console.browser_from([127, 0, 0, 2]);
    for _ in 0..22 {
        assert_eq!(error_code(&without_role.sign_in("guest").await), "no-role");
    }
}

#[tokio::test]
async fn a_rejected_client_secret_is_reported_as_a_console_error_without_rate_limiting() {
    let provider = Provider::start().await;
    let table = provider.table();
    let table = table.replace("a secret of the client", "an old client secret");
    assert_ne!(table, provider.table());
    // The clock does not advance, so no further attempt becomes free.
    let clock = Clock::manual(Clock::system().now());
    let mut config = access_with(&table, ROLE_MAPPINGS);
    config.users = vec![user_config("vera", RoleGrant::unrestricted(Role::Viewer))];
    let console = SsoConsole::start(config, clock).await;
    let mut alice = console.browser();
    for _ in 0..22 {
        assert_eq!(error_code(&alice.sign_in("alice").await), "console");
    }
    assert!(
        last_rejection(&console).await.contains("client_secret"),
        "{}",
        last_rejection(&console).await
    );
    let page = alice.get("/sign-in?why=console").await.text;
    assert!(page.contains("does not accept this console"), "{page}");
    let sample =
        "lockkeeper_authentications_total{method=\"provider\",result=\"unavailable\"} 22\n";
    let vera = console.api();
    let page = get_with_cookie(&vera, "/metrics", &sign_in(&vera, "vera").await).await;
    assert!(page.text.contains(sample), "{}", page.text);
}

#[tokio::test]
async fn without_a_configured_provider_its_routes_redirect_to_the_sign_in_page() {
    let config = access_with("", "");
    assert!(config.is_auth_disabled());
    let users = vec![user_config("vera", RoleGrant::unrestricted(Role::Viewer))];
    let config = lockkeeper::server::config::AccessConfig { users, ..config };
    let console = SsoConsole::start(config, Clock::system()).await;
    let mut vera = console.browser();
    assert_eq!(error_code(&vera.get("/sign-in/provider").await), "provider");
    assert_eq!(
        error_code(&vera.get("/sign-in/callback?code=a&state=b").await),
        "provider"
    );
    assert_eq!(location(&vera.get("/sign-out/provider").await), "/sign-in");
    assert!(
        !vera
            .get("/sign-in")
            .await
            .text
            .contains("/sign-in/provider")
    );
}
