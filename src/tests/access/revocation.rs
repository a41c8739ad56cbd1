//! Revoked credentials end streams, waiting acquires and the auto-renewal of locks.

use std::net::{IpAddr, Ipv4Addr};

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::AuthProxyConfig;
use lockkeeper::server::config::{AccessConfig, Config, ReloadableConfig};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::matrix::server_function_path;
use super::{api_token, user_config};
use crate::api::{group_config, lock_path};
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{wait_for, wait_until};

/// A console whose access configuration can be reloaded.
struct ReloadableConsole {
    console: TestConsole,
    reload_sender: watch::Sender<ReloadableConfig>,
    nodes: RedisNodes,
}

impl ReloadableConsole {
    async fn start(access: AccessConfig) -> Self {
        let nodes = RedisNodes::start(1).await;
        let mut config = Config {
            access,
            ..Config::with_groups(vec![group_config("orders", &nodes)])
        };
        let (reload_sender, reloads) = watch::channel(ReloadableConfig::from_config(&config));
        config.reloads = Some(reloads);
        let console = TestConsole::start_with_config(config, Clock::system()).await;
        Self {
            console,
            reload_sender,
            nodes,
        }
    }

    fn reload(&self, access: AccessConfig) {
        self.reload_sender
            .send_modify(|config| config.access = access);
    }
}

fn token_access(tokens: Vec<lockkeeper::server::config::access::TokenConfig>) -> AccessConfig {
    AccessConfig {
        tokens,
        ..AccessConfig::default()
    }
}

/// Users that a proxy at this address names are operators.
fn proxy_access(proxy: Option<IpAddr>) -> AccessConfig {
    AccessConfig {
        users: vec![user_config("admin", RoleGrant::unrestricted(Role::Admin))],
        auth_proxy: Some(AuthProxyConfig {
            header: http::HeaderName::from_static("x-user"),
            networks: proxy.into_iter().map(Into::into).collect(),
            default_role: Some(Role::Operator),
        }),
        ..AccessConfig::default()
    }
}

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

async fn acquire(api: &ApiClient, authorization: &str, body: Value) -> ApiResponse {
    let headers = [
        ("authorization", authorization),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", b"lock:a", "/acquire");
    api.send("POST", &path, &headers, body.to_string()).await
}

#[tokio::test]
async fn a_stream_ends_when_its_api_token_is_replaced() {
    let (old_token, old_config) = api_token("watcher", RoleGrant::unrestricted(Role::Viewer));
    let reloadable = ReloadableConsole::start(token_access(vec![old_config])).await;
    let api = reloadable.console.api();
    let bearer = format!("Bearer {old_token}");
    let headers = [("authorization", bearer.as_str())];
    let mut stream = api.subscribe_with_headers("", &headers).await;
    stream.wait_for(|event| event.event == "ping").await;
    let (_new_token, new_config) = api_token("watcher", RoleGrant::unrestricted(Role::Viewer));
    reloadable.reload(token_access(vec![new_config]));
    let mut pings = 0;
    while let Some(event) = stream.next().await {
        pings += u32::from(event.event == "ping");
        assert!(
            pings < 4,
            "the stream continues after the token was replaced"
        );
    }
}

#[tokio::test]
async fn an_anonymous_stream_ends_when_authentication_is_enabled() {
    let reloadable = ReloadableConsole::start(AccessConfig::default()).await;
    let api = reloadable.console.api();
    let mut stream = api.subscribe("", None).await;
    stream.wait_for(|event| event.event == "ping").await;
    let (_, config) = api_token("watcher", RoleGrant::unrestricted(Role::Viewer));
    reloadable.reload(token_access(vec![config]));
    let mut pings = 0;
    while let Some(event) = stream.next().await {
        pings += u32::from(event.event == "ping");
        assert!(
            pings < 4,
            "the stream continues after authentication was enabled"
        );
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_proxy_is_no_longer_trusted() {
    let reloadable = ReloadableConsole::start(proxy_access(Some(LOCALHOST))).await;
    let api = reloadable.console.api();
    let mut stream = api.subscribe_with_headers("", &[("x-user", "carol")]).await;
    stream.wait_for(|event| event.event == "ping").await;
    reloadable.reload(proxy_access(Some([10, 0, 0, 1].into())));
    let mut pings = 0;
    while let Some(event) = stream.next().await {
        pings += u32::from(event.event == "ping");
        assert!(
            pings < 4,
            "the stream continues after its proxy was removed"
        );
    }
}

#[tokio::test]
async fn a_waiting_acquire_is_rejected_when_its_api_token_is_replaced() {
    let (old_token, old_config) = api_token("deploy", RoleGrant::unrestricted(Role::Operator));
    let (other, other_config) = api_token("other", RoleGrant::unrestricted(Role::Operator));
    let reloadable =
        ReloadableConsole::start(token_access(vec![old_config, other_config.clone()])).await;
    let api = reloadable.console.api();
    let other = format!("Bearer {other}");
    let acquired = acquire(&api, &other, json!({"ttl_ms": 60_000})).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let waiting = tokio::spawn({
        let (api, bearer) = (api.clone(), format!("Bearer {old_token}"));
        async move { acquire(&api, &bearer, json!({"ttl_ms": 60_000, "wait_ms": 8_000})).await }
    });
    wait_until("the acquire waits", async || {
        let headers = [("authorization", other.as_str())];
        let page = api.send("GET", "/metrics", &headers, "").await.text;
        page.contains("lockkeeper_requests_in_flight{kind=\"queued-acquires\"} 1\n")
    })
    .await;
    let (_new_token, new_config) = api_token("deploy", RoleGrant::unrestricted(Role::Operator));
    reloadable.reload(token_access(vec![new_config, other_config]));
    let rejected = waiting.await.unwrap();
    assert_eq!(
        rejected.problem_code(),
        "sign-in-required",
        "{}",
        rejected.text
    );
    let value = reloadable.nodes.get(0, b"lock:a").await;
    let token = acquired.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(value.as_deref(), Some(token.as_bytes()));
}

#[tokio::test]
async fn auto_renewal_stops_when_the_api_token_is_revoked() {
    let (secret, deploy_config) = api_token("deploy", RoleGrant::unrestricted(Role::Operator));
    let (_, other_config) = api_token("other", RoleGrant::unrestricted(Role::Operator));
    let reloadable =
        ReloadableConsole::start(token_access(vec![deploy_config, other_config.clone()])).await;
    let api = reloadable.console.api();
    let body = json!({"ttl_ms": 1_500, "auto_renew": true});
    let acquired = acquire(&api, &format!("Bearer {secret}"), body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    reloadable.reload(token_access(vec![other_config]));
    wait_until("the lock expires", async || {
        reloadable.nodes.get(0, b"lock:a").await.is_none()
    })
    .await;
}

#[tokio::test]
async fn a_token_and_a_replayed_response_require_the_current_permission() {
    let access = |role| AccessConfig {
        users: vec![user_config("alice", RoleGrant::unrestricted(role))],
        ..AccessConfig::default()
    };
    // The password hash stays the same, so the session remains valid.
    let operator = access(Role::Operator);
    let mut viewer = operator.clone();
    viewer.users[0].grant = RoleGrant::unrestricted(Role::Viewer);
    let reloadable = ReloadableConsole::start(operator.clone()).await;
    let api = reloadable.console.api();
    let cookie = super::sign_in(&api, "alice").await;
    let send = async |path: &str, body: Value| {
        let headers = [
            ("cookie", cookie.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "first"),
        ];
        api.send("POST", path, &headers, body.to_string()).await
    };
    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = json!({"ttl_ms": 60_000});
    let first = send(&path, body.clone()).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let server_function_body = json!({"group": "orders", "key": {"key": "lock:b"}, "format": "plain", "ttl_ms": 60_000, "wait_ms": 0, "label": null, "auto_renew": false});
    assert_eq!(
        send(&server_function_path("acquire"), server_function_body)
            .await
            .status,
        200
    );
    let replayed = send(&path, body.clone()).await;
    assert_eq!(
        (replayed.status, replayed.json()["token"].clone()),
        (201, first.json()["token"].clone())
    );
    let count_acquire_ends = async || {
        let entries = crate::support::audit::entries(&reloadable.console.storage_file()).await;
        entries
            .iter()
            .filter(|entry| {
                entry["action"] == "acquire" && entry["key"] == "lock:a" && entry["kind"] == "end"
            })
            .count()
    };
    wait_until("the audit log has the end of both requests", async || {
        count_acquire_ends().await == 2
    })
    .await;
    reloadable.reload(viewer);
    wait_for("alice is a viewer", async || {
        let rejected = send(&lock_path("orders", b"lock:c", "/acquire"), body.clone()).await;
        (rejected.status == 403).then_some(())
    })
    .await;
    assert_eq!(send(&path, body.clone()).await.problem_code(), "forbidden");
    let id = json!({"id": {"group": "orders", "key": "lock:b"}});
    let token = send(&server_function_path("reveal_token"), id).await;
    assert_eq!(token.json()["code"], "forbidden", "{}", token.text);
}
