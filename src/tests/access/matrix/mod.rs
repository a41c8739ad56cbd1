//! The permission matrix: every route and every server function, called by every role with every
//! scope.
//!
//! The routes come from the OpenAPI document and the server functions from their registry, so a new
//! one without a rule in `rules` fails the test.

mod rules;

use std::collections::BTreeSet;

use leptos::server_fn::axum::server_fn_paths;
use lockkeeper::domain::role::Role;
use lockkeeper::domain::{LockId, Permission, RoleGrant, Scope};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::{Value, json};
use strum::VariantArray as _;

use super::{api_token, role_grant, sign_in, start_console_with_access, user_config};
use crate::api::group_config;
use crate::support::console::{ApiClient, ApiResponse};
use crate::support::redis_nodes::RedisNodes;
use rules::{ROUTES, Resource, Rule, SERVER_FUNCTIONS, UNDOCUMENTED_ROUTES};

/// The path of a server function.
pub fn server_function_path(name: &str) -> String {
    let paths = server_fn_paths().map(|(path, _)| path.to_owned());
    let path = paths
        .into_iter()
        .find(|path| server_function_name(path) == name);
    path.unwrap_or_else(|| panic!("there is no server function {name}"))
}

/// The name of the server function at a path, without the numeric hash that follows it.
fn server_function_name(path: &str) -> &str {
    let name = path.strip_prefix("/_fn/").unwrap();
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// The routes of the OpenAPI document, as `METHOD /path`.
fn documented_routes() -> BTreeSet<String> {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, methods)| {
        let fields = methods.as_object().unwrap().keys();
        fields
            .filter(|field| ["get", "post", "put", "patch", "delete"].contains(&field.as_str()))
            .map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

#[test]
fn every_route_and_every_server_function_has_a_rule() {
    let with_rule: BTreeSet<String> = ROUTES.iter().map(|rule| rule.name.to_owned()).collect();
    assert_eq!(
        documented_routes(),
        with_rule,
        "add a rule for each new route to ROUTES"
    );
    let paths = server_fn_paths().map(|(path, _)| server_function_name(path).to_owned());
    let functions: BTreeSet<String> = paths.collect();
    let with_rule = SERVER_FUNCTIONS
        .iter()
        .map(|rule| rule.name.to_owned())
        .collect();
    assert_eq!(
        functions, with_rule,
        "add a rule for each new server function to SERVER_FUNCTIONS"
    );
}

/// A caller with its credentials and its role grant.
struct Caller {
    description: String,
    header: (&'static str, String),
    grant: RoleGrant,
}

/// Starts a console with a caller of every role in every scope (everywhere, one group, one group
/// and key pattern, one key pattern), each with an API token and with a session.
async fn start_console_with_callers(
    groups: Vec<lockkeeper::server::config::GroupConfig>,
) -> (crate::support::console::TestConsole, Vec<Caller>) {
    let scopes = [
        (None, None),
        (Some(&["orders"][..]), None),
        (Some(&["orders"][..]), Some(&["lock:mine:*"][..])),
        (None, Some(&["lock:mine:*"][..])),
    ];
    let mut access = AccessConfig::default();
    let mut callers = Vec::new();
    let mut users = Vec::new();
    for &role in Role::VARIANTS {
        for (n, (groups, keys)) in scopes.into_iter().enumerate() {
            let grant = role_grant(role, groups, keys);
            let name = format!("{}-{n}", role.slug());
            let (secret, config) = api_token(&name, grant.clone());
            access.tokens.push(config);
            access.users.push(user_config(&name, grant.clone()));
            users.push((name.clone(), grant.clone()));
            callers.push(Caller {
                description: format!("API token {name}"),
                header: ("authorization", format!("Bearer {secret}")),
                grant,
            });
        }
    }
    let console = start_console_with_access(groups, access, Clock::system()).await;
    for (name, grant) in users {
        let cookie = sign_in(&console.api(), &name).await;
        callers.push(Caller {
            description: format!("session of {name}"),
            header: ("cookie", cookie),
            grant,
        });
    }
    (console, callers)
}

fn locks() -> [LockId; 4] {
    let lock = |group: &str, key: &str| LockId {
        group: group.to_owned(),
        key: key.into(),
    };
    [
        lock("orders", "lock:mine:1"),
        lock("orders", "lock:other"),
        lock("jobs", "lock:mine:1"),
        lock("no-such-group", "lock:mine:1"),
    ]
}

/// Sends a request and returns the problem code if the caller is not authorized.
async fn send_as(
    api: &ApiClient,
    caller: &Caller,
    request: &(String, String, String),
) -> Option<String> {
    let (method, path, body) = request;
    let headers = [
        (caller.header.0, caller.header.1.as_str()),
        ("content-type", "application/json"),
    ];
    if path == "/api/v1/events" {
        // The response body of an event stream never ends.
        api.subscribe_with_headers("", &headers[..1]).await;
        return None;
    }
    let response = api.send(method, path, &headers, body.as_str()).await;
    authorization_problem_code(&response)
}

/// The code of an authorization problem, or `None` for any other result.
///
/// Panics if the request itself is invalid, because then the rule's body is wrong.
fn authorization_problem_code(response: &ApiResponse) -> Option<String> {
    assert_ne!(response.status, 405, "{}", response.text);
    assert_ne!(response.status, 415, "{}", response.text);
    let body: Value = serde_json::from_str(&response.text).unwrap_or_default();
    let code = body.get("code").and_then(Value::as_str).map(str::to_owned);
    assert_ne!(code.as_deref(), Some("bad-request"), "{}", response.text);
    assert_ne!(code.as_deref(), Some("internal"), "{}", response.text);
    code.filter(|code| code == "forbidden" || code == "sign-in-required")
}

/// The method, path and body of a rule's request for a lock.
fn request(rule: &Rule, is_route: bool, id: &LockId) -> (String, String, String) {
    let body = match (rule.body)(id) {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    if !is_route {
        return ("POST".to_owned(), server_function_path(rule.name), body);
    }
    let (method, path) = rule.name.split_once(' ').unwrap();
    let path = path
        .replace("{group}", &id.group)
        .replace("{owner}", "web-2")
        .replace("{key}", &id.key.encoded())
        .replace("{prefix}", &id.key.encoded())
        .replace("{node}", "a");
    (method.to_owned(), path, body)
}

#[tokio::test]
async fn every_route_and_server_function_enforces_its_permission() {
    let (orders, jobs) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let groups = vec![group_config("orders", &orders), group_config("jobs", &jobs)];
    let (console, callers) = start_console_with_callers(groups).await;
    let api = console.api();
    let routes = ROUTES.iter().chain(UNDOCUMENTED_ROUTES);
    let routes = routes.map(|rule| (rule, true));
    let rules = routes.chain(SERVER_FUNCTIONS.iter().map(|rule| (rule, false)));
    for (rule, is_route) in rules {
        for id in locks() {
            let request = request(rule, is_route, &id);
            let (method, path, body) = &request;
            let json = [("content-type", "application/json")];
            let response = api.send(method, path, &json, body.as_str()).await;
            assert_eq!(
                authorization_problem_code(&response).as_deref(),
                Some("sign-in-required"),
                "unauthenticated: {}",
                rule.name
            );
            for caller in &callers {
                let scope = match rule.resource {
                    Resource::Console => Scope::console(),
                    Resource::Group => Scope::group(&id.group),
                    Resource::Lock => Scope::lock(&id),
                };
                let authorized = caller.grant.authorize(rule.permission, scope);
                // `unknown-group` is returned only to callers that could see the group.
                let group_exists =
                    rule.resource == Resource::Console || id.group != "no-such-group";
                let can_view = caller.grant.authorize(Permission::View, scope).is_ok();
                let expected = (authorized.is_err() && (group_exists || !can_view))
                    .then(|| "forbidden".to_owned());
                let actual = send_as(&api, caller, &request).await;
                assert_eq!(
                    actual, expected,
                    "{}: {method} {path}: {authorized:?}",
                    caller.description
                );
            }
            if rule.resource == Resource::Console {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_lock_acquired_in_the_ui_belongs_to_its_user_alone() {
    let nodes = RedisNodes::start(1).await;
    let users =
        ["alice", "bob"].map(|name| user_config(name, RoleGrant::unrestricted(Role::Admin)));
    let console =
        super::start_console_with_users(vec![group_config("orders", &nodes)], users.to_vec()).await;
    let api = console.api();
    let (alice, bob) = (sign_in(&api, "alice").await, sign_in(&api, "bob").await);
    let call = async |cookie: &str, name: &str, body: Value| {
        let headers = [("cookie", cookie), ("content-type", "application/json")];
        let path = server_function_path(name);
        api.send("POST", &path, &headers, body.to_string()).await
    };
    let [id, ..] = locks();
    let acquire = json!({"group": id.group, "key": id.key, "format": "plain", "ttl_ms": 60_000, "wait_ms": 0, "label": null, "auto_renew": false});
    assert_eq!(call(&alice, "acquire", acquire).await.status, 200);
    for (name, body) in [
        ("reveal_token", json!({"id": id})),
        ("extend_mine", json!({"id": id, "ttl_ms": 1000})),
        ("release_mine", json!({"id": id})),
    ] {
        let response = call(&bob, name, body).await;
        assert_eq!(
            response.json()["code"],
            "not-held",
            "{name}: {}",
            response.text
        );
    }
    assert!(
        !call(&bob, "mine", json!({}))
            .await
            .text
            .contains("lock:mine")
    );
    assert!(
        call(&alice, "mine", json!({}))
            .await
            .text
            .contains("lock:mine")
    );
    assert_eq!(
        call(&alice, "release_mine", json!({"id": id})).await.status,
        200
    );
}
