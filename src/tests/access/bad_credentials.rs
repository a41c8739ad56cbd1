//! Wrong passwords, unknown users, hostile form fields and invalid cookies are rejected and
//! rate-limited without affecting other users.

use std::time::{Duration, Instant};

use futures::future::join_all;
use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, LimitsConfig};

use super::{
    FORM_HEADERS, PASSWORD, get_with_cookie, location, sign_in, start_console_with_access,
    start_console_with_users, try_to_sign_in, user_config,
};
use crate::api::{group_config, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn most_of_a_thousand_wrong_passwords_are_rate_limited_without_verification() {
    let nodes = RedisNodes::start(1).await;
    // The clock does not advance, so no further attempt becomes free.
    let clock = Clock::manual(Clock::system().now());
    let access = AccessConfig {
        users: ["alice", "bob"]
            .map(|name| user_config(name, RoleGrant::unrestricted(Role::Operator)))
            .to_vec(),
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, clock.clone()).await;
    let (attacker, api) = (
        console.api(),
        console.api().with_local_address([127, 0, 0, 2]),
    );
    let bob = sign_in(&api, "bob").await;
    let guesses = (0..1000).map(|n| {
        let attacker = attacker.clone();
        async move { try_to_sign_in(&attacker, "alice", &format!("guess {n}")).await }
    });
    let responses = join_all(guesses).await;
    let count = |reason: &str| {
        let parameter = format!("why={reason}");
        responses
            .iter()
            .filter(|response| location(response).contains(&parameter))
            .count()
    };
    assert_eq!((count("wrong"), count("later")), (6, 994));
    assert!(
        responses
            .iter()
            .all(|response| !response.headers.contains_key("set-cookie"))
    );
    // During the back-off even the correct password is rejected; from another address it is
    // accepted.
    let response = try_to_sign_in(&attacker, "alice", PASSWORD).await;
    assert_eq!(
        location(&response),
        "/sign-in?next=%2Fnodes&why=later&seconds=1"
    );
    sign_in(&api, "alice").await;
    // Other users are not affected.
    assert_eq!(
        get_with_cookie(&api, "/api/v1/groups", &bob).await.status,
        200
    );
    sign_in(&api, "bob").await;
    clock.advance(Duration::from_secs(1));
    sign_in(&attacker, "alice").await;
}

#[tokio::test]
async fn unknown_users_get_the_same_responses_and_rate_limit_as_known_ones() {
    let nodes = RedisNodes::start(1).await;
    let clock = Clock::manual(Clock::system().now());
    let access = AccessConfig {
        users: vec![user_config("alice", RoleGrant::unrestricted(Role::Viewer))],
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, clock).await;
    let mut locations_by_user = Vec::new();
    for (last_octet, name) in [(2, "alice"), (3, "mallory")] {
        let api = console.api().with_local_address([127, 0, 0, last_octet]);
        let mut locations = Vec::new();
        for _ in 0..8 {
            let response = try_to_sign_in(&api, name, "wrong").await;
            locations.push(location(&response).to_owned());
        }
        locations_by_user.push(locations);
    }
    let [known, unknown] = &locations_by_user[..] else {
        panic!("{locations_by_user:?}")
    };
    assert_eq!(known, unknown);
    assert!(known[5].ends_with("why=wrong") && known[6].ends_with("why=later&seconds=1"));
}

#[tokio::test]
async fn an_unknown_user_takes_as_long_to_reject_as_a_known_one() {
    let nodes = RedisNodes::start(1).await;
    let hash = lockkeeper::server::access::password::hash_password(PASSWORD).unwrap();
    let mut alice = user_config("alice", RoleGrant::unrestricted(Role::Viewer));
    let hash = argon2::password_hash::phc::PasswordHash::new(&hash).unwrap();
    alice.password_hash = Some(lockkeeper::server::config::access::SecretHash(hash));
    let console = start_console_with_users(vec![group_config("jobs", &nodes)], vec![alice]).await;
    let api = console.api();
    let fastest_rejection = async |name: &str| {
        let mut fastest = Duration::MAX;
        for _ in 0..4 {
            let started = Instant::now();
            let response = try_to_sign_in(&api, name, "wrong").await;
            assert!(location(&response).ends_with("why=wrong"));
            fastest = fastest.min(started.elapsed());
        }
        fastest
    };
    let (known, unknown) = (
        fastest_rejection("alice").await,
        fastest_rejection("mallory").await,
    );
    // Without the dummy hash, an unknown user would be rejected in about a hundredth of the time.
    assert!(unknown > known / 4, "{unknown:?} against {known:?}");
}

#[tokio::test]
async fn hostile_form_and_query_values_have_no_effect() {
    let nodes = RedisNodes::start(1).await;
    let alice = user_config("alice", RoleGrant::unrestricted(Role::Viewer));
    let console = start_console_with_users(vec![group_config("jobs", &nodes)], vec![alice]).await;
    let api = console.api();
    let password = PASSWORD.replace(' ', "+");
    for (next, expected) in [
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
        let response = api.send("POST", "/sign-in", &FORM_HEADERS, form).await;
        assert_eq!(location(&response), expected, "{next}");
        assert_eq!(response.headers.get_all("set-cookie").iter().count(), 2);
    }
    let script = "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    for query in [
        format!("why={script}"),
        format!("next=%2F{script}"),
        format!("seconds={script}"),
    ] {
        let page = api.get(&format!("/sign-in?{query}")).await;
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
        let response = api.send("POST", "/sign-in", &FORM_HEADERS, form).await;
        assert!(
            response.status == 303 || response.problem_code() == "bad-request",
            "{form}"
        );
        assert!(!response.headers.contains_key("set-cookie"));
    }
    let long_text = "a".repeat(7_000);
    for (name, password) in [
        ("alice", long_text.as_str()),
        (long_text.as_str(), PASSWORD),
    ] {
        let response = try_to_sign_in(&api, name, password).await;
        assert!(location(&response).ends_with("why=wrong"));
    }
}

#[tokio::test]
async fn invalid_session_cookies_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    let alice = user_config("alice", RoleGrant::unrestricted(Role::Viewer));
    let console = start_console_with_users(vec![group_config("jobs", &nodes)], vec![alice]).await;
    let api = console.api();
    let valid = sign_in(&api, "alice").await;
    let too_long = format!("lockkeeper={}", "a".repeat(8_000));
    for cookie in [
        "lockkeeper=",
        "lockkeeper",
        "lockkeeper=0000000000000000000000000000000000000000000000000000000000000000",
        "lockkeeper=\"alice\"",
        "lockkeeper=alice; lockkeeper=alice",
        "=; ;;; =;",
        too_long.as_str(),
        valid.to_uppercase().as_str(),
        &format!("{valid}0"),
        &valid[..valid.len() - 1],
        &format!("{valid}; lockkeeper=x"),
    ] {
        assert_eq!(
            get_with_cookie(&api, "/api/v1/groups", cookie).await.status,
            401,
            "{cookie}"
        );
    }
    assert_eq!(
        get_with_cookie(&api, "/api/v1/groups", &valid).await.status,
        200
    );
}

#[tokio::test]
async fn the_body_limit_applies_to_server_functions_too() {
    let nodes = RedisNodes::start(1).await;
    let config = Config {
        limits: LimitsConfig {
            max_body_bytes: 1_000,
            ..LimitsConfig::default()
        },
        ..Config::with_groups(vec![group_config("jobs", &nodes)])
    };
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let api = console.api();
    let function = super::matrix::server_function_path("initial_state");
    let json = [("content-type", "application/json")];
    let body = |bytes: usize| format!("{{\"page\":\"{}\"}}", "a".repeat(bytes));
    let response = api.send("POST", &function, &json, body(100)).await;
    assert_eq!(response.status, 200);
    let response = api.send("POST", &function, &json, body(100_000)).await;
    assert_eq!(response.problem_code(), "payload-too-large");
    let path = lock_path("jobs", b"lock:a", "/acquire");
    assert_eq!(
        api.send("POST", &path, &json, body(100_000))
            .await
            .problem_code(),
        "payload-too-large"
    );
}
