//! Password guessing: failed sign-ins of one client do not lock out others.

use std::time::Duration;

use futures::future::join_all;
use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;

use crate::access::{
    FORM_HEADERS, PASSWORD, cookie, get_with_cookie, location, sign_in, start_console_with_access,
    try_to_sign_in, user_config,
};
use crate::api::group_config;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;

/// A console with two users and a manual clock, so that no rate limit refills by itself.
async fn start_console(nodes: &RedisNodes) -> (TestConsole, Clock) {
    let clock = Clock::manual(Clock::system().now());
    let users = [("alice", Role::Admin), ("vera", Role::Viewer)];
    let access = AccessConfig {
        users: users
            .map(|(name, role)| user_config(name, RoleGrant::unrestricted(role)))
            .to_vec(),
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("jobs", nodes)], access, clock.clone()).await;
    (console, clock)
}

async fn guess(api: &ApiClient, name: &str, count: usize) {
    join_all((0..count).map(|n| async move {
        try_to_sign_in(api, name, &format!("guess {n}")).await;
    }))
    .await;
}

/// All cookies that a response sets, in the form of a `Cookie` header.
fn cookie_header(response: &ApiResponse) -> String {
    let set = response.headers.get_all("set-cookie").iter();
    let pairs = set.map(|set| set.to_str().unwrap().split(';').next().unwrap());
    pairs.collect::<Vec<_>>().join("; ")
}

async fn sign_in_with_cookies(api: &ApiClient, name: &str, cookie_header: &str) -> ApiResponse {
    let form = format!(
        "name={name}&password={}&next=%2Fnodes",
        PASSWORD.replace(' ', "+")
    );
    let headers = [FORM_HEADERS[0], ("cookie", cookie_header)];
    api.send("POST", "/sign-in", &headers, form).await
}

#[tokio::test]
async fn guesses_from_one_address_do_not_lock_the_account_for_others() {
    let nodes = RedisNodes::start(1).await;
    let (console, clock) = start_console(&nodes).await;
    let attacker = console.api();
    let alice = console.api().with_local_address([127, 0, 0, 2]);
    for _ in 0..5 {
        guess(&attacker, "alice", 40).await;
        let response = try_to_sign_in(&alice, "alice", PASSWORD).await;
        assert_eq!(location(&response), "/nodes");
        let rejected = try_to_sign_in(&attacker, "alice", PASSWORD).await;
        assert!(location(&rejected).contains("why=later"), "{rejected:?}");
        clock.advance(Duration::from_secs(30));
    }
}

#[tokio::test]
async fn guesses_from_many_addresses_do_not_lock_the_account() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = start_console(&nodes).await;
    for n in 10..60 {
        let client = console.api().with_local_address([127, 0, 0, n]);
        try_to_sign_in(&client, "alice", "a guess").await;
    }
    let alice = console.api().with_local_address([127, 0, 0, 2]);
    let response = try_to_sign_in(&alice, "alice", PASSWORD).await;
    assert_eq!(location(&response), "/nodes");
}

#[tokio::test]
async fn a_known_browser_is_not_locked_out_by_guesses_from_its_own_address() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = start_console(&nodes).await;
    let client = console.api();
    let first = try_to_sign_in(&client, "alice", PASSWORD).await;
    let browser = cookie_header(&first);
    let unknown_users = (0..24).map(|n| {
        let client = &client;
        async move { try_to_sign_in(client, &format!("name-{n}"), "x").await }
    });
    join_all(unknown_users).await;
    guess(&client, "alice", 40).await;
    let unknown_browser = try_to_sign_in(&client, "alice", PASSWORD).await;
    assert!(
        location(&unknown_browser).contains("why=later"),
        "{unknown_browser:?}"
    );
    let known_browser = sign_in_with_cookies(&client, "alice", &browser).await;
    assert_eq!(location(&known_browser), "/nodes");
    // The cookie is valid only for its account, and a forged one has no effect.
    for forged in [
        browser.replace("lockkeeper-known=", "lockkeeper-known=0"),
        format!("lockkeeper-known={}", "0".repeat(64)),
    ] {
        guess(&client, "alice", 10).await;
        let response = sign_in_with_cookies(&client, "alice", &forged).await;
        assert!(location(&response).contains("why=later"), "{response:?}");
    }
    guess(&client, "vera", 10).await;
    let other = sign_in_with_cookies(&client, "vera", &browser).await;
    assert!(location(&other).contains("why=later"), "{other:?}");
}

#[tokio::test]
async fn unknown_user_names_do_not_lock_an_address_for_its_known_users() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = start_console(&nodes).await;
    let client = console.api();
    sign_in(&client, "alice").await;
    for n in 0..24 {
        try_to_sign_in(&client, &format!("name-{n}"), "x").await;
    }
    let rejected = try_to_sign_in(&client, "one-more", "x").await;
    assert!(location(&rejected).contains("why=later"), "{rejected:?}");
    sign_in(&client, "alice").await;
}

#[tokio::test]
async fn admins_see_a_warning_about_an_unlisted_proxy() {
    let nodes = RedisNodes::start(1).await;
    let (console, _clock) = start_console(&nodes).await;
    let api = console.api();
    let (alice, vera) = (
        cookie(&try_to_sign_in(&api, "alice", PASSWORD).await),
        cookie(&try_to_sign_in(&api, "vera", PASSWORD).await),
    );
    let page = get_with_cookie(&api, "/nodes", &alice).await.text;
    assert!(!page.contains("trusted_proxies"), "{page}");
    let proxied = console.api().with_local_address([127, 0, 0, 9]);
    let headers = [("x-forwarded-for", "10.1.2.3")];
    proxied.send("GET", "/sign-in", &headers, "").await;
    let page = get_with_cookie(&api, "/nodes", &alice).await.text;
    assert!(
        page.contains("trusted_proxies") && page.contains("127.0.0.9"),
        "the page shows no warning"
    );
    let page = get_with_cookie(&api, "/nodes", &vera).await.text;
    assert!(!page.contains("trusted_proxies"), "{page}");
}
