//! For how long what a provider said of somebody counts, and by what they are told from others.

use std::time::Duration;

use lockkeeper::server::clock::Clock;
use serde_json::{Value, json};

use super::provider::Provider;
use super::{GRANTS, Sso, access, access_as};
use crate::access::location;
use crate::api::lock_path;
use crate::support::eventually_is;

#[tokio::test]
async fn after_an_hour_the_provider_is_asked_again() {
    let provider = Provider::start().await;
    let clock = Clock::by_hand(Clock::real().now());
    let sso = Sso::console(access(&provider), clock.clone()).await;
    let mut alice = sso.visitor();
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    clock.advance(Duration::from_mins(59));
    assert!(alice.is_in().await);
    clock.advance(Duration::from_mins(1));
    assert!(!alice.is_in().await, "an hour after the sign-in");
    let answer = alice.get("/nodes?q=a").await;
    assert_eq!(location(&answer), "/sign-in/provider?next=%2Fnodes%3Fq%3Da");
    assert!(GRANTS.contains("sre"));
}

#[tokio::test]
async fn what_somebody_does_is_written_down_with_what_the_provider_knows_them_by() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let mut alice = sso.visitor();
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
    let taken = alice.person.send("POST", &path, &headers, body).await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    alice.post("/sign-out", "").await;
    let subject = json!(format!("{} alice", provider.issuer()));
    let audited = sso.audited().await;
    let told = |act: &str| -> Vec<Value> {
        let lines = audited.iter();
        let of = lines.filter(|line| line["act"] == act);
        of.map(|line| line["subject"].clone()).collect()
    };
    assert_eq!(told("acquire"), [subject.clone(), subject.clone()]);
    assert!(told("sign-in").contains(&subject));
    assert!(told("sign-out").contains(&subject));
}

#[tokio::test]
async fn whoever_is_signed_in_at_the_provider_comes_back_without_a_question() {
    let provider = Provider::start().await;
    let table = format!("{}max_session = \"2s\"\n", provider.table());
    let sso = Sso::console(access_as(&table, GRANTS), Clock::real()).await;
    let mut alice = sso.visitor();
    assert_eq!(location(&alice.sign_in("alice").await), "/nodes");
    eventually_is("the session is over", async || !alice.is_in().await).await;
    let sent = alice.get("/nodes").await;
    let sent = alice.get(location(&sent)).await;
    let there = location(&sent).to_owned();
    // Somebody who is asked for a name there says this one, and nobody is called so.
    let back = alice.at_provider(&there, "nobody").await;
    assert_eq!(location(&alice.get(&back).await), "/nodes");
    assert!(alice.is_in().await);
}
