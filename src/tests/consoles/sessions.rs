//! Who is signed in on one console is on the other, until they sign out on either.

use std::time::Duration;

use lockkeeper::server::config::access::SessionsConfig;

use super::{Pair, everything};
use crate::access::{FORM, get_with, sign_in};
use crate::api::lock_path;
use crate::support::console::Person;
use crate::support::eventually_is;

async fn is_in(person: &Person, cookie: &str) -> bool {
    get_with(person, "/api/v1/groups", cookie).await.status == 200
}

#[tokio::test]
async fn signed_in_on_one_console_acting_on_the_other_and_signed_out_on_both() {
    let mut pair = Pair::start().await;
    let (one, other) = (pair.person(0), pair.person(1));
    let cookies = [
        sign_in(&one, "alice").await,
        sign_in(&other, "alice").await,
        sign_in(&other, "bob").await,
        sign_in(&other, "alice").await,
    ];
    let headers = [
        ("cookie", cookies[0].as_str()),
        ("content-type", "application/json"),
    ];
    for (n, person) in [&one, &other].into_iter().enumerate() {
        let path = lock_path("orders", format!("lock:{n}").as_bytes(), "/acquire");
        let answer = person.send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#);
        assert_eq!(answer.await.status, 201);
    }

    // A stream on the other console ends with its session, and with no other.
    let mut stream = other.watch_with("", &[("cookie", &cookies[0])]).await;
    stream.until(|told| told.event == "snapshot").await;
    let headers = [FORM[0], ("cookie", cookies[0].as_str())];
    one.send("POST", "/sign-out", &headers, "").await;
    while stream.next().await.is_some() {}
    for person in [&one, &other] {
        assert!(!is_in(person, &cookies[0]).await && is_in(person, &cookies[1]).await);
    }
    let headers = [FORM[0], ("cookie", cookies[1].as_str())];
    one.send("POST", "/sign-out", &headers, "everywhere=yes")
        .await;
    for person in [&one, &other] {
        assert!(!is_in(person, &cookies[1]).await && !is_in(person, &cookies[3]).await);
        assert!(is_in(person, &cookies[2]).await);
    }

    // A session survives every restart, and is kept as a digest.
    pair.restart().await;
    let later = pair.person(0);
    assert!(is_in(&later, &cookies[2]).await);
    let rows = pair.rows("session").await;
    let secret = cookies[2].split_once('=').unwrap().1;
    assert!(rows.len() == 1 && rows[0].contains("bob"), "{rows:?}");
    assert!(!rows[0].contains(secret));

    // The same password with another salt: nobody can tell that it is the same.
    pair.config.access.users[1] = everything("bob");
    pair.restart().await;
    let later = pair.person(0);
    assert!(!is_in(&later, &cookies[2]).await);
    assert!(is_in(&later, &sign_in(&later, "bob").await).await);
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_watching_on_another_console_does_not_keep_it() {
    let pair = Pair::start_with(|config| {
        config.access.sessions = SessionsConfig {
            idle: Duration::from_secs(3),
            longest: Duration::from_secs(60),
        };
    })
    .await;
    let (one, other) = (pair.person(0), pair.person(1));
    let cookie = sign_in(&one, "alice").await;
    let mut stream = other.watch_with("", &[("cookie", &cookie)]).await;
    // It is looked up all the while, and ends all the same.
    while stream.next().await.is_some() {}
    eventually_is("the session ends", async || !is_in(&one, &cookie).await).await;
}
