//! Whoever guesses, floods or smuggles: refused, slowed down, and of no concern to others.

use std::time::{Duration, Instant};

use futures::future::join_all;
use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, LimitsConfig};

use super::{
    FORM, PASSWORD, console_for, console_with, get_with, location, sign_in, try_to_sign_in, user,
};
use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_thousand_wrong_passwords_are_mostly_not_even_looked_at() {
    let nodes = RedisNodes::start(1).await;
    // Time stands still: what is free is free once.
    let clock = Clock::by_hand(Clock::real().now());
    let access = AccessConfig {
        users: ["alice", "bob"]
            .map(|name| user(name, Rights::everywhere(Role::Operator)))
            .to_vec(),
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", &nodes)], access, clock.clone()).await;
    let (attacker, person) = (
        console.person(),
        console.person().calling_from([127, 0, 0, 2]),
    );
    let bob = sign_in(&person, "bob").await;
    let guesses = (0..1000).map(|n| {
        let attacker = attacker.clone();
        async move { try_to_sign_in(&attacker, "alice", &format!("guess {n}")).await }
    });
    let answers = join_all(guesses).await;
    let count = |why: &str| {
        let why = format!("why={why}");
        answers
            .iter()
            .filter(|answer| location(answer).contains(&why))
            .count()
    };
    assert_eq!((count("wrong"), count("later")), (6, 994));
    assert!(
        answers
            .iter()
            .all(|answer| !answer.headers.contains_key("set-cookie"))
    );
    // The right one is not looked at either, before the time has come; from elsewhere it is.
    let answer = try_to_sign_in(&attacker, "alice", PASSWORD).await;
    assert_eq!(
        location(&answer),
        "/sign-in?next=%2Fnodes&why=later&seconds=1"
    );
    sign_in(&person, "alice").await;
    // Others are not bothered.
    assert_eq!(get_with(&person, "/api/v1/groups", &bob).await.status, 200);
    sign_in(&person, "bob").await;
    clock.advance(Duration::from_secs(1));
    sign_in(&attacker, "alice").await;
}

#[tokio::test]
async fn names_that_do_not_exist_are_refused_in_the_same_words_and_slowed_down_as_much() {
    let nodes = RedisNodes::start(1).await;
    let clock = Clock::by_hand(Clock::real().now());
    let access = AccessConfig {
        users: vec![user("alice", Rights::everywhere(Role::Viewer))],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("jobs", &nodes)], access, clock).await;
    let mut told = Vec::new();
    for (from, name) in [(2, "alice"), (3, "nobody")] {
        let person = console.person().calling_from([127, 0, 0, from]);
        let mut places = Vec::new();
        for _ in 0..8 {
            let answer = try_to_sign_in(&person, name, "wrong").await;
            places.push(location(&answer).to_owned());
        }
        told.push(places);
    }
    assert_eq!(told[0], told[1]);
    assert!(told[0][5].ends_with("why=wrong") && told[0][6].ends_with("why=later&seconds=1"));
}

#[tokio::test]
async fn a_name_that_does_not_exist_takes_as_long_as_one_that_does() {
    let nodes = RedisNodes::start(1).await;
    let hash = lockkeeper::server::access::password::hash(PASSWORD).unwrap();
    let mut alice = user("alice", Rights::everywhere(Role::Viewer));
    let hash = argon2::password_hash::phc::PasswordHash::new(&hash).unwrap();
    alice.password = Some(lockkeeper::server::config::access::SecretHash(hash));
    let console = console_for(vec![group("jobs", &nodes)], vec![alice]).await;
    let person = console.person();
    let fastest = async |name: &str| {
        let mut fastest = Duration::MAX;
        for _ in 0..4 {
            let began = Instant::now();
            let answer = try_to_sign_in(&person, name, "wrong").await;
            assert!(location(&answer).ends_with("why=wrong"));
            fastest = fastest.min(began.elapsed());
        }
        fastest
    };
    let (known, unknown) = (fastest("alice").await, fastest("nobody").await);
    // A name that is looked up and not found would take a hundredth of it.
    assert!(unknown > known / 4, "{unknown:?} against {known:?}");
}

#[tokio::test]
async fn what_is_smuggled_into_the_form_goes_nowhere() {
    let nodes = RedisNodes::start(1).await;
    let alice = user("alice", Rights::everywhere(Role::Viewer));
    let console = console_for(vec![group("jobs", &nodes)], vec![alice]).await;
    let person = console.person();
    let password = PASSWORD.replace(' ', "+");
    for (next, to) in [
        ("https%3A%2F%2Fevil.example", "/"),
        ("%2F%2Fevil.example", "/"),
        ("%2F%5Cevil.example", "/"),
        ("%2Fnodes%0D%0ASet-Cookie%3A+a%3Db", "/"),
        ("%2Fnodes%00", "/"),
        (
            "%2Fgroups%2Fjobs%2Flocks%2Flock%253Aa",
            "/groups/jobs/locks/lock%3Aa",
        ),
    ] {
        let form = format!("name=alice&password={password}&next={next}");
        let answer = person.send("POST", "/sign-in", &FORM, form).await;
        assert_eq!(location(&answer), to, "{next}");
        assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 2);
    }
    let script = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    for query in [
        format!("why={script}"),
        format!("next=%2F{script}"),
        format!("seconds={script}"),
    ] {
        let page = person.get(&format!("/sign-in?{query}")).await;
        assert_eq!(page.status, 200);
        assert!(!page.text.contains("<script>alert"), "{}", page.text);
    }
    for form in [
        "",
        "name=alice",
        "password=x",
        "name=alice&name=bob&password=x",
        "%zz",
        "name=%00&password=%00",
    ] {
        let answer = person.send("POST", "/sign-in", &FORM, form).await;
        assert!(
            answer.status == 303 || answer.code() == "bad-request",
            "{form}"
        );
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    let long = "a".repeat(7_000);
    for (name, password) in [("alice", long.as_str()), (long.as_str(), PASSWORD)] {
        let answer = try_to_sign_in(&person, name, password).await;
        assert!(location(&answer).ends_with("why=wrong"));
    }
}

#[tokio::test]
async fn a_cookie_can_be_anything() {
    let nodes = RedisNodes::start(1).await;
    let alice = user("alice", Rights::everywhere(Role::Viewer));
    let console = console_for(vec![group("jobs", &nodes)], vec![alice]).await;
    let person = console.person();
    let good = sign_in(&person, "alice").await;
    let long = format!("lockkeeper={}", "a".repeat(8_000));
    for cookie in [
        "lockkeeper=",
        "lockkeeper",
        "lockkeeper=0000000000000000000000000000000000000000000000000000000000000000",
        "lockkeeper=\"alice\"",
        "lockkeeper=alice; lockkeeper=alice",
        "=; ;;; =;",
        long.as_str(),
        good.to_uppercase().as_str(),
        &format!("{good}0"),
        &good[..good.len() - 1],
        &format!("{good}; lockkeeper=x"),
    ] {
        assert_eq!(
            get_with(&person, "/api/v1/groups", cookie).await.status,
            401,
            "{cookie}"
        );
    }
    assert_eq!(get_with(&person, "/api/v1/groups", &good).await.status, 200);
}

#[tokio::test]
async fn what_is_sent_to_a_server_function_is_bounded_like_everything_else() {
    let nodes = RedisNodes::start(1).await;
    let config = Config {
        limits: LimitsConfig {
            body_bytes: 1_000,
            ..LimitsConfig::default()
        },
        ..Config::of(vec![group("jobs", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let person = console.person();
    let function = super::matrix::function("board");
    let json = [("content-type", "application/json")];
    let body = |bytes: usize| format!("{{\"page\":\"{}\"}}", "a".repeat(bytes));
    let answer = person.send("POST", &function, &json, body(100)).await;
    assert_eq!(answer.status, 200);
    let answer = person.send("POST", &function, &json, body(100_000)).await;
    assert_eq!(answer.code(), "too-large");
    let path = lock_path("jobs", b"lock:a", "/acquire");
    assert_eq!(
        person
            .send("POST", &path, &json, body(100_000))
            .await
            .code(),
        "too-large"
    );
}
