//! Signing in with the provider, what that gives, and signing out.

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, Later};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::provider::{Provider, issuer, table};
use super::{GRANTS, Sso, Visitor, access, access_as, why};
use crate::access::{location, user};
use crate::api::{group, lock_path};
use crate::support::certificates::{Authority, text};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::{RedisNodes, free_port};

/// What somebody may do who tries to take a lock.
async fn acquire(visitor: &Visitor, key: &[u8]) -> (u16, String) {
    let cookies = visitor.cookies.header();
    let headers = [
        ("cookie", cookies.as_str()),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", key, "/acquire");
    let answer = visitor
        .person
        .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#);
    let answer = answer.await;
    (answer.status, answer.text)
}

#[tokio::test]
async fn what_the_provider_says_of_somebody_gives_the_role_and_where_it_counts() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let mut alice = sso.visitor();
    let answer = alice.sign_in("alice").await;
    assert_eq!(location(&answer), "/nodes");
    let set: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    let set: Vec<_> = set.iter().map(|set| set.to_str().unwrap()).collect();
    assert!(set[0].starts_with("lockkeeper=") && set[0].contains("; HttpOnly; SameSite=Lax"));
    assert!(set[1].starts_with("lockkeeper-sign-in-"), "{set:?}");
    let page = alice.get("/").await.text;
    assert!(page.contains("alice") && page.contains("operator"));
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
    let (status, text) = acquire(&alice, b"other:a").await;
    assert!(status == 403 && text.contains("lock:*"), "{status} {text}");
    // The second grant, by a claim inside another.
    let mut otto = sso.visitor();
    assert_eq!(location(&otto.sign_in("otto").await), "/nodes");
    let (status, text) = acquire(&otto, b"lock:b").await;
    assert!(status == 403 && text.contains("viewer"), "{status} {text}");
    let counted = "lockkeeper_sign_ins_total{outcome=\"done\",way=\"provider\"} 2\n";
    let page = alice.get("/metrics").await.text;
    assert!(page.contains(counted), "{page}");
    let audited = sso.audited().await;
    let signed_in: Vec<&Value> = audited
        .iter()
        .filter(|line| line["act"] == "sign-in")
        .collect();
    assert_eq!(signed_in[0]["who"], "alice");
    let detail = signed_in[0]["detail"].as_str().unwrap();
    assert!(
        detail.contains("Example login: groups has \"sre\""),
        "{detail}"
    );
}

#[tokio::test]
async fn a_provider_that_says_little_in_its_token_is_asked_for_the_rest() {
    let provider = Provider::start_with(json!({ "thin": true })).await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let mut alice = sso.visitor();
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
    assert_eq!(why(&sso.visitor().sign_in("nobody").await), "no-role");
}

#[tokio::test]
async fn the_page_offers_the_provider_beside_the_password_or_instead() {
    let provider = Provider::start().await;
    let mut both = access(&provider);
    let alone = Sso::console(both.clone(), Clock::real()).await;
    let page = alone.visitor().get("/sign-in?next=%2Fnodes").await.text;
    assert!(page.contains("Sign in with Example login"), "{page}");
    assert!(
        page.contains("href=\"/sign-in/provider?next=%2Fnodes\""),
        "{page}"
    );
    assert!(!page.contains("type=\"password\""));
    both.users = vec![user("vera", Rights::everywhere(Role::Viewer))];
    let both = Sso::console(both, Clock::real()).await;
    let headers = [("accept-language", "zh-CN")];
    let person = both.console.person();
    let page = person.send("GET", "/sign-in", &headers, "").await.text;
    assert!(page.contains("用 Example login 登录") && page.contains("type=\"password\""));
    // Whoever is not signed in is sent to the page, not to the provider.
    let answer = both.visitor().get("/waits").await;
    assert_eq!(location(&answer), "/sign-in?next=%2Fwaits");
}

#[tokio::test]
async fn whoever_signs_out_is_out_and_can_sign_out_at_the_provider() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let mut alice = sso.visitor();
    alice.sign_in("alice").await;
    let mut stolen = Visitor::of(alice.person.clone());
    stolen.cookies = alice.cookies.clone();
    let answer = alice.post("/sign-out", "").await;
    assert_eq!(location(&answer), "/sign-in?out=provider");
    assert!(!alice.is_in().await && !stolen.is_in().await);
    let page = alice.get("/sign-in?out=provider").await.text;
    assert!(
        page.contains("You may still be signed in at Example login."),
        "{page}"
    );
    let answer = alice.get("/sign-out/provider").await;
    let there = location(&answer).to_owned();
    assert!(
        there.starts_with(&format!("{}/session/end?", provider.issuer())),
        "{there}"
    );
    assert!(there.contains("post_logout_redirect_uri=http%3A%2F%2Flocalhost%3A1%2Fsign-in"));
    assert!(there.contains("client_id=lockkeeper") && !there.contains("id_token_hint"));
    let (_, text) = alice.ask_there("GET", &there, "").await;
    assert!(text.contains("Do you want to sign-out"), "{text}");
}

#[tokio::test]
async fn every_sign_in_has_a_cookie_of_its_own_and_everywhere_means_all_of_them() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let (mut one, mut other) = (sso.visitor(), sso.visitor());
    one.sign_in("alice").await;
    other.sign_in("alice").await;
    let before = one.cookies.clone();
    // The provider still knows her: nothing is typed again.
    one.sign_in("alice").await;
    assert_ne!(before.0["lockkeeper"], one.cookies.0["lockkeeper"]);
    let mut old = Visitor::of(one.person.clone());
    old.cookies = before;
    assert!(!old.is_in().await && one.is_in().await);
    one.post("/sign-out", "everywhere=yes").await;
    assert!(!one.is_in().await && !other.is_in().await);
}

#[tokio::test]
async fn a_grant_that_changes_changes_what_somebody_may_and_one_that_is_gone_ends_their_session() {
    let provider = Provider::start().await;
    let nodes = RedisNodes::start(1).await;
    let mut config = Config {
        access: access(&provider),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let (tell, later) = watch::channel(Later::of(&config));
    config.later = Some(later);
    let console = TestConsole::start_as(config, Clock::real()).await;
    let mut alice = Visitor::of(console.person());
    alice.sign_in("alice").await;
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
    let table = provider.table();
    let change = |grants: &str| {
        let access = access_as(&table, grants);
        tell.send_modify(|later| later.access = access);
    };
    change(&GRANTS.replace("operator", "viewer"));
    eventually_is("the role is another", async || {
        acquire(&alice, b"lock:b").await.0 == 403
    })
    .await;
    assert!(alice.is_in().await);
    change(&GRANTS.replace("sre", "others"));
    eventually_is("the session is over", async || {
        acquire(&alice, b"lock:c").await.0 == 401
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_away_stops_nobody_else_and_is_asked_again() {
    let port = free_port();
    let mut config = access_as(&table(&issuer(port)), GRANTS);
    config.users = vec![user("vera", Rights::everywhere(Role::Viewer))];
    let sso = Sso::console(config, Clock::real()).await;
    let mut alice = sso.visitor();
    let answer = alice.get("/sign-in/provider?next=%2Fnodes").await;
    assert_eq!(location(&answer), "/sign-in?next=%2Fnodes&why=provider");
    let page = alice.get("/sign-in?next=%2Fnodes&why=provider").await.text;
    assert!(
        page.contains("The sign-in service does not answer."),
        "{page}"
    );
    crate::access::sign_in(&sso.console.person(), "vera").await;
    let provider = Provider::start_with(json!({ "port": port })).await;
    eventually_is("the provider is asked again", async || {
        let answer = alice.get("/sign-in/provider").await;
        location(&answer).starts_with("http")
    })
    .await;
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    // Away in the middle of it.
    let there = alice.begin("/nodes").await;
    let back = alice.at_provider(&there, "alice").await;
    provider.stop().await;
    assert_eq!(why(&alice.get(&back).await), "provider");
}

#[tokio::test]
async fn a_provider_may_sign_with_other_keys_from_one_day_to_the_next() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    assert_eq!(location(&sso.visitor().sign_in("alice").await), "/nodes");
    let port = provider.stop().await;
    let _again = Provider::start_with(json!({ "port": port })).await;
    assert_eq!(location(&sso.visitor().sign_in("alice").await), "/nodes");
}

#[tokio::test]
async fn a_provider_with_a_certificate_of_ones_own_is_asked_where_its_authority_is_named_and_nowhere_else()
 {
    let (ours, others) = (Authority::new(), Authority::new());
    let provider = Provider::with_certificate(&ours.vouch_for("provider")).await;
    let trusting = |authority: &Authority| {
        let ca_file = format!("ca_file = \"{}\"\n", text(&authority.file()));
        access_as(&(provider.table() + &ca_file), GRANTS)
    };
    for access in [access(&provider), trusting(&others)] {
        let sso = Sso::console(access, Clock::real()).await;
        let answer = sso.visitor().get("/sign-in/provider").await;
        assert_eq!(why(&answer), "provider");
    }
    let sso = Sso::console(trusting(&ours), Clock::real()).await;
    let mut alice = sso.visitor().trusting(&ours);
    let answer = alice.sign_in("alice").await;
    assert_eq!(location(&answer), "/nodes");
    assert_eq!(acquire(&alice, b"lock:a").await.0, 201);
}

#[tokio::test]
async fn another_secret_in_its_file_holds_for_the_next_who_signs_in() {
    let provider = Provider::start().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let table = provider.table();
    let secret = table.split('"').find(|text| text.starts_with("a secret"));
    let secret = secret.unwrap().to_owned();
    let in_file = format!("client_secret_file = \"{}\"\n", text(file.path()));
    let given = format!("client_secret = \"{secret}\"\n");
    std::fs::write(file.path(), "the one of yesterday\n").unwrap();
    let access = access_as(&table.replace(&given, &in_file), GRANTS);
    let sso = Sso::console(access, Clock::real()).await;
    assert_eq!(why(&sso.visitor().sign_in("alice").await), "console");
    std::fs::write(file.path(), format!("{secret}\n")).unwrap();
    assert_eq!(location(&sso.visitor().sign_in("alice").await), "/nodes");
    // Nobody is sent there in vain while it cannot be read.
    std::fs::remove_file(file.path()).unwrap();
    let answer = sso.visitor().get("/sign-in/provider").await;
    assert_eq!(why(&answer), "provider");
}

#[tokio::test]
async fn another_authority_in_its_file_holds_for_the_next_who_signs_in() {
    let (yesterdays, ours) = (Authority::new(), Authority::new());
    let provider = Provider::with_certificate(&ours.vouch_for("provider")).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let put = |authority: &Authority| std::fs::copy(authority.file(), file.path()).unwrap();
    put(&yesterdays);
    let ca_file = format!("ca_file = \"{}\"\n", text(file.path()));
    let access = access_as(&(provider.table() + &ca_file), GRANTS);
    let sso = Sso::console(access, Clock::real()).await;
    let answer = sso.visitor().get("/sign-in/provider").await;
    assert_eq!(why(&answer), "provider");
    put(&ours);
    // Each asks from a network of its own: who asks often from one is made to wait.
    let mut network = 0;
    eventually_is("the provider is believed", async || {
        network = u8::wrapping_add(network, 1);
        let answer = sso
            .visitor_from([127, 0, network, 1])
            .get("/sign-in/provider")
            .await;
        location(&answer).starts_with("https:")
    })
    .await;
    let alice = || sso.visitor().trusting(&ours);
    assert_eq!(location(&alice().sign_in("alice").await), "/nodes");
    // Whoever replaces a file may take it away for a moment: what was read last holds meanwhile.
    std::fs::remove_file(file.path()).unwrap();
    assert_eq!(location(&alice().sign_in("alice").await), "/nodes");
}
