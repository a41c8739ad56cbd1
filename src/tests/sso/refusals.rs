//! Who is not let in, and why: each with its reason on the page, and a line in the audit.

use std::time::Duration;

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use serde_json::json;

use super::provider::Provider;
use super::{GRANTS, Sso, Visitor, access, access_as, why};
use crate::access::{get_with, location, sign_in, user};

async fn sso() -> (Provider, Sso) {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    (provider, sso)
}

/// The value of a parameter of an address.
fn parameter<'a>(url: &'a str, name: &str) -> &'a str {
    let mut pairs = url
        .split(['?', '&'])
        .filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).unwrap().1
}

/// What was written down of the last refusal.
async fn reason(sso: &Sso) -> String {
    let audited = sso.audited().await;
    let last = audited.iter().rfind(|line| line["end"] == "refused");
    last.unwrap()["detail"].as_str().unwrap().to_owned()
}

/// Somebody who tried and is not in.
async fn is_refused(visitor: &mut Visitor, path: &str, reason: &str) {
    let answer = visitor.get(path).await;
    assert_eq!(why(&answer), reason, "{path}");
    assert!(!visitor.is_in().await, "{path}");
    let page = visitor.get(location(&answer)).await;
    assert!(
        page.status == 200 && page.text.contains("role=\"alert\""),
        "{}",
        page.text
    );
}

#[tokio::test]
async fn whoever_has_no_role_is_told_so() {
    let (_provider, sso) = sso().await;
    let mut nobody = sso.visitor();
    let answer = nobody.sign_in("nobody").await;
    assert_eq!(location(&answer), "/sign-in?next=%2Fnodes&why=no-role");
    assert!(!nobody.is_in().await);
    let page = nobody.get(location(&answer)).await.text;
    assert!(
        page.contains("no role in this console is given to you"),
        "{page}"
    );
    let mut alice = sso.visitor();
    alice.sign_in("alice").await;
    let counted = "lockkeeper_sign_ins_total{outcome=\"refused\",way=\"provider\"} 1\n";
    let page = alice.get("/metrics").await.text;
    assert!(page.contains(counted), "{page}");
    let audited = sso.audited().await;
    let line = audited
        .iter()
        .find(|line| line["act"] == "sign-in")
        .unwrap();
    assert_eq!(
        (&line["who"], &line["end"]),
        (&json!("nobody"), &json!("refused")),
        "{line}"
    );
}

#[tokio::test]
async fn a_code_counts_once_for_the_sign_in_that_it_was_made_for_and_in_its_browser() {
    let (_provider, sso) = sso().await;
    let mut alice = sso.visitor();
    // A made-up state, a made-up code.
    is_refused(&mut alice, "/sign-in/back?code=a&state=b", "expired").await;
    is_refused(&mut alice, "/sign-in/back", "expired").await;
    let there = alice.begin("/").await;
    let forged = format!(
        "/sign-in/back?code=forged&state={}",
        parameter(&there, "state")
    );
    is_refused(&mut alice, &forged, "untrusted").await;
    assert!(reason(&sso).await.contains("invalid_grant"));
    // Two at a time in one browser; the code of one with the state of the other.
    let (one, other) = (alice.begin("/").await, alice.begin("/").await);
    let back = alice.at_provider(&one, "alice").await;
    let swapped = back.replace(parameter(&one, "state"), parameter(&other, "state"));
    is_refused(&mut alice, &swapped, "untrusted").await;
    assert!(reason(&sso).await.contains("invalid_grant"));
    // Another browser is made to open the address.
    let there = alice.begin("/").await;
    let back = alice.at_provider(&there, "alice").await;
    let mut victim = sso.visitor();
    is_refused(&mut victim, &back, "expired").await;
    victim.begin("/").await;
    let there = alice.begin("/").await;
    let back = alice.at_provider(&there, "alice").await;
    is_refused(&mut victim, &back, "expired").await;
    assert!(reason(&sso).await.contains("in this browser"));
    // Twice.
    let there = alice.begin("/").await;
    let back = alice.at_provider(&there, "alice").await;
    assert_eq!(location(&alice.get(&back).await), "/");
    assert_eq!(why(&alice.get(&back).await), "expired");
}

#[tokio::test]
async fn a_token_for_another_nonce_is_refused() {
    let (_provider, sso) = sso().await;
    let mut alice = sso.visitor();
    let there = alice.begin("/").await;
    let nonce = parameter(&there, "nonce").to_owned();
    let back = alice
        .at_provider(&there.replace(&nonce, "another"), "alice")
        .await;
    is_refused(&mut alice, &back, "untrusted").await;
    assert!(reason(&sso).await.contains("nonce"));
}

#[tokio::test]
async fn a_token_signed_with_another_key_is_refused() {
    let provider = Provider::start_with(json!({ "other_keys": true })).await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let mut alice = sso.visitor();
    let there = alice.begin("/").await;
    let back = alice.at_provider(&there, "alice").await;
    is_refused(&mut alice, &back, "untrusted").await;
    assert!(reason(&sso).await.contains("Signature verification failed"));
}

#[tokio::test]
async fn an_answer_of_another_provider_and_what_the_provider_refuses_lets_nobody_in() {
    let (_provider, sso) = sso().await;
    let mut alice = sso.visitor();
    for (says, reason) in [
        ("code=a&iss=http%3A%2F%2Fevil.example", "untrusted"),
        ("error=access_denied", "cancelled"),
        ("error=temporarily_unavailable", "provider"),
        (
            "error=invalid_scope&error_description=%0Aforged+line",
            "untrusted",
        ),
        ("", "untrusted"),
    ] {
        let there = alice.begin("/").await;
        let state = parameter(&there, "state").to_owned();
        is_refused(
            &mut alice,
            &format!("/sign-in/back?{says}&state={state}"),
            reason,
        )
        .await;
    }
}

#[tokio::test]
async fn a_sign_in_that_takes_too_long_has_to_begin_again() {
    let provider = Provider::start().await;
    let clock = Clock::by_hand(Clock::real().now());
    let sso = Sso::console(access(&provider), clock.clone()).await;
    let mut alice = sso.visitor();
    let there = alice.begin("/").await;
    let back = alice.at_provider(&there, "alice").await;
    clock.advance(Duration::from_mins(10));
    is_refused(&mut alice, &back, "expired").await;
}

#[tokio::test]
async fn clocks_that_do_not_agree_are_named_as_the_reason() {
    let provider = Provider::start().await;
    for (early, late) in [
        (Duration::from_hours(3), Duration::ZERO),
        (Duration::ZERO, Duration::from_mins(5)),
    ] {
        let now = Clock::real().now().millis() - i64::try_from(early.as_millis()).unwrap();
        let clock = Clock::by_hand(lockkeeper::domain::Timestamp::from_millis(now));
        clock.advance(late);
        let sso = Sso::console(access(&provider), clock).await;
        let mut alice = sso.visitor();
        let there = alice.begin("/").await;
        let back = alice.at_provider(&there, "alice").await;
        is_refused(&mut alice, &back, "clock").await;
    }
}

#[tokio::test]
async fn nobody_comes_as_a_user_of_the_configuration() {
    let provider = Provider::start().await;
    let mut config = access(&provider);
    config.users = vec![user("root", Rights::everywhere(Role::Admin))];
    let sso = Sso::console(config, Clock::real()).await;
    let mut root = sso.visitor();
    assert_eq!(why(&root.sign_in("root").await), "name-taken");
    assert!(!root.is_in().await);
}

#[tokio::test]
async fn nobody_is_sent_to_another_place_afterwards() {
    let (_provider, sso) = sso().await;
    let mut alice = sso.visitor();
    let answer = alice
        .get("/sign-in/provider?next=https%3A%2F%2Fevil.example")
        .await;
    let there = location(&answer).to_owned();
    let back = alice.at_provider(&there, "alice").await;
    assert_eq!(location(&alice.get(&back).await), "/");
}

#[tokio::test]
async fn whoever_guesses_is_slowed_down_and_whoever_has_no_role_is_not() {
    let provider = Provider::start().await;
    // Time stands still: what is free is free once.
    let clock = Clock::by_hand(Clock::real().now());
    let sso = Sso::console(access(&provider), clock).await;
    let mut nobody = sso.visitor();
    for n in 0..21 {
        let answer = nobody.get(&format!("/sign-in/back?code=a&state={n}")).await;
        assert_eq!(why(&answer), "expired");
    }
    let answer = nobody.get("/sign-in/back?code=a&state=b").await;
    assert_eq!(why(&answer), "later&seconds=1");
    let mut elsewhere = Visitor::of(sso.console.person().calling_from([127, 0, 0, 2]));
    for _ in 0..22 {
        assert_eq!(why(&elsewhere.sign_in("nobody").await), "no-role");
    }
}

#[tokio::test]
async fn a_secret_that_the_provider_does_not_know_is_the_consoles_mistake_and_slows_nobody_down() {
    let provider = Provider::start().await;
    let table = provider.table();
    let table = table.replace("a secret of the client", "one of yesterday");
    assert_ne!(table, provider.table());
    // Time stands still: what is free is free once.
    let clock = Clock::by_hand(Clock::real().now());
    let mut config = access_as(&table, GRANTS);
    config.users = vec![user("vera", Rights::everywhere(Role::Viewer))];
    let sso = Sso::console(config, clock).await;
    let mut alice = sso.visitor();
    for _ in 0..22 {
        assert_eq!(why(&alice.sign_in("alice").await), "console");
    }
    assert!(
        reason(&sso).await.contains("client_secret"),
        "{}",
        reason(&sso).await
    );
    let page = alice.get("/sign-in?why=console").await.text;
    assert!(page.contains("does not know this console"), "{page}");
    let counted = "lockkeeper_sign_ins_total{outcome=\"not-asked\",way=\"provider\"} 22\n";
    let vera = sso.console.person();
    let page = get_with(&vera, "/metrics", &sign_in(&vera, "vera").await).await;
    assert!(page.text.contains(counted), "{}", page.text);
}

#[tokio::test]
async fn where_no_provider_is_configured_there_is_no_way_to_one() {
    let config = access_as("", "");
    assert!(config.is_open());
    let users = vec![user("vera", Rights::everywhere(Role::Viewer))];
    let config = lockkeeper::server::config::AccessConfig { users, ..config };
    let sso = Sso::console(config, Clock::real()).await;
    let mut vera = sso.visitor();
    assert_eq!(why(&vera.get("/sign-in/provider").await), "provider");
    assert_eq!(
        why(&vera.get("/sign-in/back?code=a&state=b").await),
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
