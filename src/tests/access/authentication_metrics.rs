//! Authentications are counted by method and result, with no other label.

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use lockkeeper::server::config::access::AuthProxyConfig;

use super::{api_token, sign_in, start_console_with_access, try_to_sign_in, user_config};
use crate::api::group_config;
use crate::support::prometheus::lint_metrics;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn authentications_are_counted_by_method_and_result_without_user_names() {
    let nodes = RedisNodes::start(1).await;
    let (secret, token_config) = api_token("prometheus", RoleGrant::unrestricted(Role::Viewer));
    let access = AccessConfig {
        users: vec![user_config(
            "alice",
            RoleGrant::unrestricted(Role::Operator),
        )],
        tokens: vec![token_config],
        auth_proxy: Some(AuthProxyConfig {
            header: "x-forwarded-user".parse().unwrap(),
            networks: vec!["127.0.0.2/32".parse().unwrap()],
            default_role: Some(Role::Viewer),
        }),
        ..AccessConfig::default()
    };
    // The clock does not advance, so no further attempt becomes free.
    let clock = Clock::manual(Clock::system().now());
    let console =
        start_console_with_access(vec![group_config("jobs", &nodes)], access, clock).await;
    let api = console.api();
    let cookie = sign_in(&api, "alice").await;
    for n in 0..20 {
        try_to_sign_in(&api, "alice", &format!("S3CRET {n}")).await;
    }
    let long_password = "x".repeat(2_000);
    try_to_sign_in(&api, "bob", &long_password).await;
    let from_proxy = console.api().with_local_address([127, 0, 0, 2]);
    let headers = [("x-forwarded-user", "S3CRET-carol")];
    from_proxy.send("GET", "/api/v1/groups", &headers, "").await;
    for authorization in ["Bearer lk_S3CRET_00", "Basic S3CRET"] {
        let headers = [("authorization", authorization)];
        api.send("GET", "/api/v1/groups", &headers, "").await;
    }
    let authorization = format!("Bearer {secret}");
    let headers = [("authorization", authorization.as_str())];
    let page = api.send("GET", "/metrics", &headers, "").await.text;
    for (method, result, count) in [
        ("password", "done", 1),
        ("token", "done", 1),
        ("token", "refused", 2),
        ("proxy", "done", 1),
        ("provider", "done", 0),
        ("provider", "refused", 0),
    ] {
        let line = format!(
            "lockkeeper_authentications_total{{method=\"{method}\",result=\"{result}\"}} {count}\n"
        );
        assert!(page.contains(&line), "{line}{page}");
    }
    let password_count = |result: &str| -> u32 {
        let sample =
            format!("lockkeeper_authentications_total{{method=\"password\",result=\"{result}\"}} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&sample));
        value.unwrap().parse().unwrap()
    };
    // The first attempts are verified, the others are rate-limited. The long password is rejected
    // without verification.
    assert!(
        password_count("refused") > 1 && password_count("rate-limited") > 1,
        "{page}"
    );
    assert_eq!(
        password_count("refused") + password_count("rate-limited"),
        21
    );
    for name in ["S3CRET", "alice", "bob", "prometheus\"", "127.0.0.2"] {
        assert!(!page.contains(name), "{name}: {page}");
    }
    lint_metrics(&page).await;
    // A request with an existing session is not counted as an authentication.
    let before = page;
    api.send("GET", "/api/v1/groups", &[("cookie", &cookie)], "")
        .await;
    let page = api.send("GET", "/metrics", &headers, "").await.text;
    let done_count = |page: &str| {
        page.matches("method=\"password\",result=\"done\"} 1\n")
            .count()
    };
    assert_eq!((done_count(&before), done_count(&page)), (1, 1));
}
