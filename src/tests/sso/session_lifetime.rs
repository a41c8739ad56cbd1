//! The maximum age of a session, the subject in the audit log, and renewal at the provider.

use std::time::Duration;

use lockkeeper::server::clock::Clock;
use serde_json::{Value, json};

use super::provider::Provider;
use super::{ROLE_MAPPINGS, SsoConsole, access, access_with};
use crate::access::location;
use crate::api::lock_path;
use crate::support::wait_until;

#[tokio::test]
async fn a_session_expires_after_an_hour_and_redirects_to_the_provider() {
    let provider = Provider::start().await;
    let clock = Clock::manual(Clock::system().now());
    let console = SsoConsole::start(access(&provider), clock.clone()).await;
    let mut alice = console.browser();
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    clock.advance(Duration::from_mins(59));
    assert!(alice.check_session().await);
    clock.advance(Duration::from_mins(1));
    assert!(!alice.check_session().await, "an hour after the sign-in");
    let response = alice.get("/nodes?q=a").await;
    assert_eq!(
        location(&response),
        "/sign-in/provider?next=%2Fnodes%3Fq%3Da"
    );
    assert!(ROLE_MAPPINGS.contains("sre"));
}

#[tokio::test]
async fn audit_entries_have_the_issuer_and_subject_of_the_user() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let mut alice = console.browser();
    alice.sign_in("alice").await;
    let headers = [
        (
            "cookie",
            alice
                .cookies
                .0
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join("; "),
        ),
        ("content-type", "application/json".to_owned()),
    ];
    let headers = headers
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = json!({"ttl_ms": 60_000}).to_string();
    let acquired = alice.api.send("POST", &path, &headers, body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    alice.post("/sign-out", "").await;
    let subject = json!(format!("{} alice", provider.issuer()));
    let entries = console.audit_entries().await;
    let subjects = |action: &str| -> Vec<Value> {
        let entries = entries.iter().filter(|entry| entry["action"] == action);
        entries.map(|entry| entry["subject"].clone()).collect()
    };
    assert_eq!(subjects("acquire"), [subject.clone(), subject.clone()]);
    assert!(subjects("sign-in").contains(&subject));
    assert!(subjects("sign-out").contains(&subject));
}

#[tokio::test]
async fn with_a_session_at_the_provider_a_new_sign_in_needs_no_input() {
    let provider = Provider::start().await;
    let table = format!("{}max_session_age = \"2s\"\n", provider.table());
    let console = SsoConsole::start(access_with(&table, ROLE_MAPPINGS), Clock::system()).await;
    let mut alice = console.browser();
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    wait_until("the session ends", async || !alice.check_session().await).await;
    let redirect = alice.get("/nodes").await;
    let redirect = alice.get(location(&redirect)).await;
    let authorization_url = location(&redirect).to_owned();
    // If the provider showed its form, this user name would be entered, which has no role.
    let callback = alice.sign_in_at_provider(&authorization_url, "guest").await;
    assert_eq!(location(&alice.get(&callback).await), "/nodes");
    assert!(alice.check_session().await);
}
