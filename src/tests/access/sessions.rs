//! How long somebody stays signed in, and what ends with it.

use std::time::Duration;

use lockkeeper::domain::role::Role;
use lockkeeper::domain::{Rights, Timestamp};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::SessionsConfig;
use lockkeeper::server::config::{AccessConfig, Config, Later};
use tokio::sync::watch;

use super::{FORM, console_for, console_with, get_with, rights, sign_in, token, user};
use crate::api::{group, lock_path};
use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// Whether somebody with this header is let in.
async fn is_in(person: &Person, cookie: &str) -> bool {
    get_with(person, "/api/v1/groups", cookie).await.status == 200
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_when_it_is_old() {
    let nodes = RedisNodes::start(1).await;
    let clock = Clock::by_hand(Timestamp::from_millis(1_800_000_000_000));
    let access = AccessConfig {
        sessions: SessionsConfig {
            idle: Duration::from_mins(10),
            longest: Duration::from_mins(25),
        },
        users: vec![user("alice", Rights::everywhere(Role::Viewer))],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("orders", &nodes)], access, clock.clone()).await;
    let person = console.person();
    let (idle, busy) = (
        sign_in(&person, "alice").await,
        sign_in(&person, "alice").await,
    );
    for (minutes, idle_is_in, busy_is_in) in [
        (9, None, true),
        (2, Some(false), true),
        (9, None, true),
        (5, None, false),
    ] {
        clock.advance(Duration::from_mins(minutes));
        assert_eq!(is_in(&person, &busy).await, busy_is_in);
        if let Some(expected) = idle_is_in {
            assert_eq!(is_in(&person, &idle).await, expected);
        }
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_session_and_not_with_that_of_somebody_else() {
    let nodes = RedisNodes::start(1).await;
    let people = ["alice", "bob"].map(|name| user(name, Rights::everywhere(Role::Viewer)));
    let console = console_for(vec![group("orders", &nodes)], people.to_vec()).await;
    let person = console.person();
    let (alice, bob) = (
        sign_in(&person, "alice").await,
        sign_in(&person, "bob").await,
    );
    let mut everything = person.watch_with("", &[("cookie", &alice)]).await;
    let mut window = person.watch_with("?limit=5", &[("cookie", &alice)]).await;
    let mut bobs = person.watch_with("", &[("cookie", &bob)]).await;
    for stream in [&mut everything, &mut window, &mut bobs] {
        stream.until(|told| told.event == "snapshot").await;
    }
    let headers = [FORM[0], ("cookie", alice.as_str())];
    person.send("POST", "/sign-out", &headers, "").await;
    while everything.next().await.is_some() {}
    while window.next().await.is_some() {}
    for _ in 0..2 {
        bobs.until(|told| told.event == "ping").await;
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let nodes = RedisNodes::start(1).await;
    let begin = Timestamp::from_millis(1_800_000_000_000);
    let clock = Clock::by_hand(begin);
    let (secret, mut config) = token("watcher", Rights::everywhere(Role::Viewer));
    config.expires = Some(begin.plus(Duration::from_hours(1)));
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("orders", &nodes)], access, clock.clone()).await;
    let bearer = format!("Bearer {secret}");
    let headers = [("authorization", bearer.as_str())];
    let person = console.person();
    let mut stream = person.watch_with("", &headers).await;
    stream.until(|told| told.event == "ping").await;
    clock.advance(Duration::from_hours(1));
    while stream.next().await.is_some() {}
    let answer = person.send("GET", "/api/v1/groups", &headers, "").await;
    assert_eq!(answer.code(), "sign-in-required");
}

#[tokio::test]
async fn what_the_configuration_says_later_counts_at_once_and_a_new_password_ends_sessions() {
    let nodes = RedisNodes::start(1).await;
    let see = |role| rights(role, None, None);
    let people = ["alice", "bob", "carol"].map(|name| user(name, see(Role::Operator)));
    let mut access = AccessConfig {
        users: people.to_vec(),
        ..AccessConfig::default()
    };
    let mut config = Config {
        access: access.clone(),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let (sender, later) = watch::channel(Later::of(&config));
    config.later = Some(later);
    let console = TestConsole::start_as(config, Clock::real()).await;
    let person = console.person();
    let mut cookies = Vec::new();
    for name in ["alice", "bob", "carol"] {
        cookies.push(sign_in(&person, name).await);
    }
    let mut stream = person.watch_with("", &[("cookie", &cookies[2])]).await;
    stream.until(|told| told.event == "snapshot").await;
    // Alice has another password, Bob is gone, Carol may only look, and Dave is new.
    access.users = vec![
        user("alice", see(Role::Operator)),
        user("dave", see(Role::Viewer)),
        people[2].clone(),
    ];
    access.users[2].rights = see(Role::Viewer);
    sender.send_modify(|later| later.access = access);
    eventually_is("alice is out", async || !is_in(&person, &cookies[0]).await).await;
    assert!(!is_in(&person, &cookies[1]).await);
    assert!(is_in(&person, &cookies[2]).await);
    let path = lock_path("orders", b"lock:a", "/acquire");
    let headers = [
        ("cookie", cookies[2].as_str()),
        ("content-type", "application/json"),
    ];
    let answer = person
        .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(answer.code(), "forbidden");
    // What was begun with other rights is begun again.
    while stream.next().await.is_some() {}
    sign_in(&person, "dave").await;
    sign_in(&person, "alice").await;
}
