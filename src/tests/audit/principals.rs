//! The principals in audit entries, and the permission to read them.

use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::{Value, json};

use crate::access::{
    api_token, get_with_cookie, role_grant, sign_in, start_console_with_access, try_to_sign_in,
    user_config,
};
use crate::api::{group_config, lock_path};
use crate::support::audit::entries;
use crate::support::console::ApiClient;
use crate::support::redis_nodes::RedisNodes;

/// Returns the operations that the API lists for the session of this cookie.
async fn list_operations(api: &ApiClient, cookie: &str) -> Vec<Value> {
    let response = get_with_cookie(api, "/api/v1/audit", cookie).await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.json()["entries"].as_array().unwrap().clone()
}

/// The action, actor, authentication method and result of each operation.
fn summaries(operations: &[Value]) -> Vec<[&str; 4]> {
    let fields = ["action", "actor", "auth_method", "result"];
    operations
        .iter()
        .map(|operation| fields.map(|field| operation[field].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn operations_have_the_principal_and_are_listed_within_the_readers_scope() {
    let (orders, jobs) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let (secret, deploy) = api_token("deploy", role_grant(Role::Operator, None, None));
    let access = AccessConfig {
        users: vec![
            user_config("anna", role_grant(Role::Admin, None, None)),
            user_config("omar", role_grant(Role::Operator, Some(&["orders"]), None)),
            user_config("vera", role_grant(Role::Viewer, None, None)),
        ],
        tokens: vec![deploy],
        ..AccessConfig::default()
    };
    let groups = vec![group_config("orders", &orders), group_config("jobs", &jobs)];
    let console = start_console_with_access(groups, access, Clock::system()).await;
    let api = console.api();
    try_to_sign_in(&api, "anna", "a wrong password").await;
    try_to_sign_in(&api, "Tr0ub4dor", "typed into the wrong field").await;
    let anna = sign_in(&api, "anna").await;
    let omar = sign_in(&api, "omar").await;
    let vera = sign_in(&api, "vera").await;

    let bearer = format!("Bearer {secret}");
    let json = ("content-type", "application/json");
    for (name, value) in [
        ("authorization", bearer.as_str()),
        ("cookie", vera.as_str()),
    ] {
        for group in ["orders", "jobs"] {
            let path = lock_path(group, b"lock:a", "/acquire");
            let body = json!({"ttl_ms": 60_000}).to_string();
            api.send("POST", &path, &[(name, value), json], body).await;
        }
    }

    let operations = list_operations(&api, &anna).await;
    assert_eq!(
        summaries(&operations),
        [
            ["acquire", "vera", "browser", "refused"],
            ["acquire", "vera", "browser", "refused"],
            ["acquire", "deploy", "token", "done"],
            ["acquire", "deploy", "token", "done"],
            ["sign-in", "vera", "browser", "done"],
            ["sign-in", "omar", "browser", "done"],
            ["sign-in", "anna", "browser", "done"],
            ["sign-in", "(unknown user)", "browser", "refused"],
            ["sign-in", "anna", "browser", "refused"],
        ]
    );
    assert_eq!(operations[0]["code"], "forbidden");
    let stored = json!(entries(&console.storage_file()).await).to_string();
    for secret in [
        "a wrong password",
        "Tr0ub4dor",
        "typed into",
        secret.as_str(),
    ] {
        assert!(!stored.contains(secret), "{secret} is in the audit log");
    }

    // A reader whose scope is one group sees neither operations of other groups nor sign-ins.
    let operations = list_operations(&api, &omar).await;
    assert!(
        operations
            .iter()
            .all(|operation| operation["group"] == "orders"),
        "{operations:?}"
    );
    assert_eq!(operations.len(), 2);
    let other_group = get_with_cookie(&api, "/api/v1/audit?group=jobs", &omar).await;
    assert_eq!(other_group.status, 403, "{}", other_group.text);
    for path in ["/api/v1/audit", "/api/v1/audit/export?as=csv"] {
        let rejected = get_with_cookie(&api, path, &vera).await;
        assert_eq!(
            (rejected.status, rejected.problem_code().as_str()),
            (403, "forbidden")
        );
    }
    let page = get_with_cookie(&api, "/groups/orders/locks/lock%3Aa", &vera).await;
    assert!(
        page.text
            .contains("Not available: the role `viewer` cannot read the audit log")
    );
}
