//! Session lifetime, and the streams that end with a session.

use std::time::Duration;

use lockkeeper::domain::role::Role;
use lockkeeper::domain::{RoleGrant, Timestamp};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::SessionsConfig;
use lockkeeper::server::config::{AccessConfig, Config, ReloadableConfig};
use tokio::sync::watch;

use super::{
    FORM_HEADERS, api_token, get_with_cookie, role_grant, sign_in, start_console_with_access,
    start_console_with_users, user_config,
};
use crate::api::{group_config, lock_path};
use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Whether the session of this cookie is valid.
async fn accepts_session(api: &ApiClient, cookie: &str) -> bool {
    get_with_cookie(api, "/api/v1/groups", cookie).await.status == 200
}

#[tokio::test]
async fn a_session_ends_after_the_idle_timeout_and_at_its_maximum_age() {
    let nodes = RedisNodes::start(1).await;
    let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
    let access = AccessConfig {
        sessions: SessionsConfig {
            idle_timeout: Duration::from_mins(10),
            max_age: Duration::from_mins(25),
        },
        users: vec![user_config("alice", RoleGrant::unrestricted(Role::Viewer))],
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("orders", &nodes)], access, clock.clone())
            .await;
    let api = console.api();
    let (idle, active) = (sign_in(&api, "alice").await, sign_in(&api, "alice").await);
    for (minutes, is_idle_valid, is_active_valid) in [
        (9, None, true),
        (2, Some(false), true),
        (9, None, true),
        (5, None, false),
    ] {
        clock.advance(Duration::from_mins(minutes));
        assert_eq!(accepts_session(&api, &active).await, is_active_valid);
        if let Some(expected) = is_idle_valid {
            assert_eq!(accepts_session(&api, &idle).await, expected);
        }
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_own_session_only() {
    let nodes = RedisNodes::start(1).await;
    let users =
        ["alice", "bob"].map(|name| user_config(name, RoleGrant::unrestricted(Role::Viewer)));
    let console =
        start_console_with_users(vec![group_config("orders", &nodes)], users.to_vec()).await;
    let api = console.api();
    let (alice, bob) = (sign_in(&api, "alice").await, sign_in(&api, "bob").await);
    let mut full_stream = api.subscribe_with_headers("", &[("cookie", &alice)]).await;
    let mut page_stream = api
        .subscribe_with_headers("?limit=5", &[("cookie", &alice)])
        .await;
    let mut bob_stream = api.subscribe_with_headers("", &[("cookie", &bob)]).await;
    for stream in [&mut full_stream, &mut page_stream, &mut bob_stream] {
        stream.wait_for(|event| event.event == "snapshot").await;
    }
    let headers = [FORM_HEADERS[0], ("cookie", alice.as_str())];
    api.send("POST", "/sign-out", &headers, "").await;
    while full_stream.next().await.is_some() {}
    while page_stream.next().await.is_some() {}
    for _ in 0..2 {
        bob_stream.wait_for(|event| event.event == "ping").await;
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let nodes = RedisNodes::start(1).await;
    let start = Timestamp::from_millis(1_800_000_000_000);
    let clock = Clock::manual(start);
    let (secret, mut config) = api_token("watcher", RoleGrant::unrestricted(Role::Viewer));
    config.expires = Some(start.plus(Duration::from_hours(1)));
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console =
        start_console_with_access(vec![group_config("orders", &nodes)], access, clock.clone())
            .await;
    let bearer = format!("Bearer {secret}");
    let headers = [("authorization", bearer.as_str())];
    let api = console.api();
    let mut stream = api.subscribe_with_headers("", &headers).await;
    stream.wait_for(|event| event.event == "ping").await;
    clock.advance(Duration::from_hours(1));
    while stream.next().await.is_some() {}
    let response = api.send("GET", "/api/v1/groups", &headers, "").await;
    assert_eq!(response.problem_code(), "sign-in-required");
}

#[tokio::test]
async fn a_reload_applies_at_once_and_a_new_password_ends_sessions() {
    let nodes = RedisNodes::start(1).await;
    let everywhere = |role| role_grant(role, None, None);
    let users = ["alice", "bob", "carol"].map(|name| user_config(name, everywhere(Role::Operator)));
    let mut access = AccessConfig {
        users: users.to_vec(),
        ..AccessConfig::default()
    };
    let mut config = Config {
        access: access.clone(),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let (reload_sender, reloads) = watch::channel(ReloadableConfig::from_config(&config));
    config.reloads = Some(reloads);
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let api = console.api();
    let mut cookies = Vec::new();
    for name in ["alice", "bob", "carol"] {
        cookies.push(sign_in(&api, name).await);
    }
    let mut stream = api
        .subscribe_with_headers("", &[("cookie", &cookies[2])])
        .await;
    stream.wait_for(|event| event.event == "snapshot").await;
    // Alice gets a new password, Bob is removed, Carol becomes a viewer, and Dave is added.
    access.users = vec![
        user_config("alice", everywhere(Role::Operator)),
        user_config("dave", everywhere(Role::Viewer)),
        users[2].clone(),
    ];
    access.users[2].grant = everywhere(Role::Viewer);
    reload_sender.send_modify(|config| config.access = access);
    wait_until("alice's session ends", async || {
        !accepts_session(&api, &cookies[0]).await
    })
    .await;
    assert!(!accepts_session(&api, &cookies[1]).await);
    assert!(accepts_session(&api, &cookies[2]).await);
    let path = lock_path("orders", b"lock:a", "/acquire");
    let headers = [
        ("cookie", cookies[2].as_str()),
        ("content-type", "application/json"),
    ];
    let response = api
        .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(response.problem_code(), "forbidden");
    // A stream ends when its user's permissions change. The client has to reconnect.
    while stream.next().await.is_some() {}
    sign_in(&api, "dave").await;
    sign_in(&api, "alice").await;
}
