//! Who is signed in on one console is on the other, until they sign out on either.

use lockkeeper::server::config::access::SessionsConfig;
use redis::AsyncCommands as _;
use std::time::Duration;

use super::Pair;
use crate::access::{FORM, get_with, sign_in};
use crate::api::lock_path;
use crate::support::console::Person;
use crate::support::{eventually, eventually_is};

async fn is_in(person: &Person, cookie: &str) -> bool {
    get_with(person, "/api/v1/groups", cookie).await.status == 200
}

#[tokio::test]
async fn signed_in_on_one_console_and_acting_on_the_other() {
    let pair = Pair::start().await;
    let person = pair.balancer().await;
    let person = person.person();
    let cookie = sign_in(&person, "alice").await;
    for n in 0..4 {
        let path = lock_path("orders", format!("lock:{n}").as_bytes(), "/acquire");
        let headers = [
            ("cookie", cookie.as_str()),
            ("content-type", "application/json"),
        ];
        let answer = person
            .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
            .await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

#[tokio::test]
async fn signing_out_on_one_ends_it_on_both_and_a_stream_with_it() {
    let pair = Pair::start().await;
    let (one, other) = (pair.person(0), pair.person(1));
    let cookie = sign_in(&one, "alice").await;
    let mut stream = other.watch_with("", &[("cookie", &cookie)]).await;
    stream.until(|told| told.event == "snapshot").await;
    let headers = [FORM[0], ("cookie", cookie.as_str())];
    one.send("POST", "/sign-out", &headers, "").await;
    assert!(!is_in(&one, &cookie).await && !is_in(&other, &cookie).await);
    while stream.next().await.is_some() {}
}

#[tokio::test]
async fn signing_out_everywhere_leaves_others_alone() {
    let pair = Pair::start().await;
    let (one, other) = (pair.person(0), pair.person(1));
    let cookies = [
        sign_in(&one, "alice").await,
        sign_in(&other, "alice").await,
        sign_in(&other, "bob").await,
    ];
    let headers = [FORM[0], ("cookie", cookies[0].as_str())];
    one.send("POST", "/sign-out", &headers, "everywhere=yes")
        .await;
    for person in [&one, &other] {
        assert!(!is_in(person, &cookies[0]).await);
        assert!(!is_in(person, &cookies[1]).await);
        assert!(is_in(person, &cookies[2]).await);
    }
}

#[tokio::test]
async fn a_session_survives_every_restart_and_is_kept_as_a_digest_with_an_end() {
    let mut pair = Pair::start().await;
    let cookie = sign_in(&pair.person(0), "alice").await;
    for console in std::mem::take(&mut pair.consoles) {
        console.stop().await;
    }
    pair.state.restart().await;
    pair.start_another().await;
    assert!(is_in(&pair.person(0), &cookie).await);

    let secret = cookie.split_once('=').unwrap().1;
    let mut state = pair.state.client().await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut state)
        .await
        .unwrap();
    assert!(
        keys.iter()
            .any(|key| key.starts_with("lockkeeper:session:"))
    );
    for key in keys {
        assert!(!key.contains(secret), "{key}");
        if key.starts_with("lockkeeper:session") {
            let left: i64 = state.pttl(&key).await.unwrap();
            assert!(left > 0, "{key} has no end");
            let dump: Vec<u8> = redis::cmd("DUMP")
                .arg(&key)
                .query_async(&mut state)
                .await
                .unwrap();
            assert!(!String::from_utf8_lossy(&dump).contains(secret));
        }
    }
}

#[tokio::test]
async fn a_session_ends_by_the_clock_of_what_is_shared_and_looking_does_not_keep_it() {
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
    // It is asked after all the while, and ends all the same.
    while stream.next().await.is_some() {}
    eventually_is("the session ends", async || !is_in(&one, &cookie).await).await;
}

#[tokio::test]
async fn with_another_password_in_the_configuration_old_sessions_are_worth_nothing() {
    let mut pair = Pair::start().await;
    let cookie = sign_in(&pair.person(0), "alice").await;
    pair.consoles.remove(0).stop().await;
    // The same password with another salt: nobody can tell that it is the same.
    pair.config.access.users[0] = super::everything("alice");
    pair.start_another().await;
    let later = pair.person(1);
    assert!(!is_in(&later, &cookie).await);
    assert!(is_in(&later, &sign_in(&later, "alice").await).await);
}

#[tokio::test]
async fn what_the_consoles_share_is_no_lock_even_where_locks_are() {
    let pair = Pair::start_with(|_| {}).await;
    // The same server, as a group of its own, read as the configuration file would be.
    let text = format!(
        "[state]\nurl = \"redis://127.0.0.1:{port}\"\n[[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]",
        port = pair.state.port()
    );
    let mut config = lockkeeper::server::config::parse("test", &text, &|_| None).unwrap();
    config.access = pair.config.access.clone();
    let console = crate::support::console::TestConsole::start_as(
        config,
        lockkeeper::server::clock::Clock::real(),
    )
    .await;
    let person = console.person();
    let cookie = sign_in(&person, "alice").await;
    let mut state = pair.state.client().await;
    let _: () = state.pset_ex("lock:a", "me", 60_000).await.unwrap();
    let locks = eventually("the lock is seen", async || {
        let answer = get_with(&person, "/api/v1/locks", &cookie).await.json();
        let locks = answer["locks"].as_array().unwrap().clone();
        (!locks.is_empty()).then_some(locks)
    })
    .await;
    let keys: Vec<_> = locks.iter().map(|lock| lock["key"].clone()).collect();
    assert_eq!(keys, ["lock:a"]);
}
