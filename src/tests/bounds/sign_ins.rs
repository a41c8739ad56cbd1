//! Whoever guesses keeps nobody else out.

use std::time::Duration;

use futures::future::join_all;
use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;

use crate::access::{
    FORM, PASSWORD, console_with, cookie, get_with, location, sign_in, try_to_sign_in, user,
};
use crate::api::group;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::redis_nodes::RedisNodes;

/// A console with two people, on which time stands still: what is free is free once.
async fn console(nodes: &RedisNodes) -> (TestConsole, Clock) {
    let clock = Clock::by_hand(Clock::real().now());
    let users = [("alice", Role::Admin), ("vera", Role::Viewer)];
    let access = AccessConfig {
        users: users
            .map(|(name, role)| user(name, Rights::everywhere(role)))
            .to_vec(),
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", nodes)], access, clock.clone()).await;
    (console, clock)
}

async fn guess(person: &Person, name: &str, many: usize) {
    join_all((0..many).map(|n| async move {
        try_to_sign_in(person, name, &format!("guess {n}")).await;
    }))
    .await;
}

/// Every cookie that an answer sets, as a browser sends them back.
fn cookies(answer: &Answer) -> String {
    let set = answer.headers.get_all("set-cookie").iter();
    let pairs = set.map(|set| set.to_str().unwrap().split(';').next().unwrap());
    pairs.collect::<Vec<_>>().join("; ")
}

async fn sign_in_with(person: &Person, name: &str, cookies: &str) -> Answer {
    let form = format!(
        "name={name}&password={}&next=%2Fnodes",
        PASSWORD.replace(' ', "+")
    );
    let headers = [FORM[0], ("cookie", cookies)];
    person.send("POST", "/sign-in", &headers, form).await
}

#[tokio::test]
async fn guesses_from_one_place_keep_the_account_open_for_every_other() {
    let nodes = RedisNodes::start(1).await;
    let (console, clock) = console(&nodes).await;
    let attacker = console.person();
    let alice = console.person().calling_from([127, 0, 0, 2]);
    for _ in 0..5 {
        guess(&attacker, "alice", 40).await;
        let answer = try_to_sign_in(&alice, "alice", PASSWORD).await;
        assert_eq!(location(&answer), "/nodes");
        let refused = try_to_sign_in(&attacker, "alice", PASSWORD).await;
        assert!(location(&refused).contains("why=later"), "{refused:?}");
        clock.advance(Duration::from_secs(30));
    }
}

#[tokio::test]
async fn guesses_from_many_places_slow_an_account_down_and_close_it_to_nobody() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = console(&nodes).await;
    for n in 10..60 {
        let place = console.person().calling_from([127, 0, 0, n]);
        try_to_sign_in(&place, "alice", "a guess").await;
    }
    let alice = console.person().calling_from([127, 0, 0, 2]);
    let answer = try_to_sign_in(&alice, "alice", PASSWORD).await;
    assert_eq!(location(&answer), "/nodes");
}

#[tokio::test]
async fn a_browser_that_signed_in_before_is_not_kept_out_by_guesses_from_its_own_network() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = console(&nodes).await;
    let everybody = console.person();
    let first = try_to_sign_in(&everybody, "alice", PASSWORD).await;
    let browser = cookies(&first);
    let made_up = (0..24).map(|n| {
        let everybody = &everybody;
        async move { try_to_sign_in(everybody, &format!("name-{n}"), "x").await }
    });
    join_all(made_up).await;
    guess(&everybody, "alice", 40).await;
    let stranger = try_to_sign_in(&everybody, "alice", PASSWORD).await;
    assert!(location(&stranger).contains("why=later"), "{stranger:?}");
    let known = sign_in_with(&everybody, "alice", &browser).await;
    assert_eq!(location(&known), "/nodes");
    // It is known for this account alone, and what somebody made up is worth nothing.
    for forged in [
        browser.replace("lockkeeper-known=", "lockkeeper-known=0"),
        format!("lockkeeper-known={}", "0".repeat(64)),
    ] {
        guess(&everybody, "alice", 10).await;
        let answer = sign_in_with(&everybody, "alice", &forged).await;
        assert!(location(&answer).contains("why=later"), "{answer:?}");
    }
    guess(&everybody, "vera", 10).await;
    let other = sign_in_with(&everybody, "vera", &browser).await;
    assert!(location(&other).contains("why=later"), "{other:?}");
}

#[tokio::test]
async fn a_network_that_an_account_came_from_before_is_not_closed_to_it_by_made_up_names() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = console(&nodes).await;
    let everybody = console.person();
    sign_in(&everybody, "alice").await;
    for n in 0..24 {
        try_to_sign_in(&everybody, &format!("name-{n}"), "x").await;
    }
    let refused = try_to_sign_in(&everybody, "one-more", "x").await;
    assert!(location(&refused).contains("why=later"), "{refused:?}");
    sign_in(&everybody, "alice").await;
}

#[tokio::test]
async fn admins_are_told_of_a_proxy_that_is_not_listed() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = console(&nodes).await;
    let person = console.person();
    let (alice, vera) = (
        cookie(&try_to_sign_in(&person, "alice", PASSWORD).await),
        cookie(&try_to_sign_in(&person, "vera", PASSWORD).await),
    );
    let page = get_with(&person, "/nodes", &alice).await.text;
    assert!(!page.contains("trusted_from"), "{page}");
    let proxied = console.person().calling_from([127, 0, 0, 9]);
    let headers = [("x-forwarded-for", "10.1.2.3")];
    proxied.send("GET", "/sign-in", &headers, "").await;
    let page = get_with(&person, "/nodes", &alice).await.text;
    assert!(
        page.contains("trusted_from") && page.contains("127.0.0.9"),
        "nobody is told"
    );
    let page = get_with(&person, "/nodes", &vera).await.text;
    assert!(!page.contains("trusted_from"), "{page}");
}
