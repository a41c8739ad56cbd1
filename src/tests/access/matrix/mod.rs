//! Every route and every server function, asked by every role with every scope: who gets through, and who does not.
//!
//! The routes come from the OpenAPI document and the server functions from their registry, so that one which is added without
//! a line in the tables of `rules` fails.

mod rules;

use std::collections::BTreeSet;

use leptos::server_fn::axum::server_fn_paths;
use lockkeeper::domain::role::Role;
use lockkeeper::domain::{LockId, Place, Rights, Verb};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::{Value, json};
use strum::VariantArray as _;

use super::{console_with, rights, sign_in, token, user};
use crate::api::group;
use crate::support::console::{Answer, Person};
use crate::support::redis_nodes::RedisNodes;
use rules::{BESIDE, FUNCTIONS, ROUTES, Rule, Where};

/// The path of a server function.
pub fn function(name: &str) -> String {
    let paths = server_fn_paths().map(|(path, _)| path.to_owned());
    let named = paths.into_iter().find(|path| name_of(path) == name);
    named.unwrap_or_else(|| panic!("there is no server function {name}"))
}

/// The name of the server function at a path: a hash of digits stands behind it.
fn name_of(path: &str) -> &str {
    let name = path.strip_prefix("/_fn/").unwrap();
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// The routes of the document, as `METHOD /path`.
fn documented() -> BTreeSet<String> {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods
            .filter(|word| ["get", "post", "put", "patch", "delete"].contains(&word.as_str()))
            .map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

#[test]
fn every_route_and_every_server_function_has_a_rule() {
    let known: BTreeSet<String> = ROUTES.iter().map(|rule| rule.name.to_owned()).collect();
    assert_eq!(documented(), known, "a new route wants a line in ROUTES");
    let paths = server_fn_paths().map(|(path, _)| name_of(path).to_owned());
    let functions: BTreeSet<String> = paths.collect();
    let known = FUNCTIONS.iter().map(|rule| rule.name.to_owned()).collect();
    assert_eq!(
        functions, known,
        "a new server function wants a line in FUNCTIONS"
    );
}

/// One who asks: what is sent to be let in, and what the rule says they may.
struct Asker {
    what: String,
    header: (&'static str, String),
    rights: Rights,
}

/// Every role, everywhere, in one group, and for some names in it; of each once with a token and once signed in.
async fn askers(
    groups: Vec<lockkeeper::server::config::GroupConfig>,
) -> (crate::support::console::TestConsole, Vec<Asker>) {
    let scopes = [
        (None, None),
        (Some(&["orders"][..]), None),
        (Some(&["orders"][..]), Some(&["lock:mine:*"][..])),
        (None, Some(&["lock:mine:*"][..])),
    ];
    let mut access = AccessConfig::default();
    let mut askers = Vec::new();
    let mut people = Vec::new();
    for &role in Role::VARIANTS {
        for (n, (groups, keys)) in scopes.into_iter().enumerate() {
            let rights = rights(role, groups, keys);
            let name = format!("{}-{n}", role.slug());
            let (secret, config) = token(&name, rights.clone());
            access.tokens.push(config);
            access.users.push(user(&name, rights.clone()));
            people.push((name.clone(), rights.clone()));
            askers.push(Asker {
                what: format!("the token {name}"),
                header: ("authorization", format!("Bearer {secret}")),
                rights,
            });
        }
    }
    let console = console_with(groups, access, Clock::real()).await;
    for (name, rights) in people {
        let cookie = sign_in(&console.person(), &name).await;
        askers.push(Asker {
            what: format!("{name}, signed in"),
            header: ("cookie", cookie),
            rights,
        });
    }
    (console, askers)
}

/// The locks that are asked for.
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

/// Asks, and says how it ended: the code of a refusal, or nothing.
async fn ask(person: &Person, asker: &Asker, request: &(String, String, String)) -> Option<String> {
    let (method, path, body) = request;
    let headers = [
        (asker.header.0, asker.header.1.as_str()),
        ("content-type", "application/json"),
    ];
    if path == "/api/v1/events" {
        // An answer without an end.
        person.watch_with("", &headers[..1]).await;
        return None;
    }
    let answer = person.send(method, path, &headers, body.as_str()).await;
    code(&answer)
}

fn code(answer: &Answer) -> Option<String> {
    assert_ne!(answer.status, 405, "{}", answer.text);
    assert_ne!(answer.status, 415, "{}", answer.text);
    let body: Value = serde_json::from_str(&answer.text).unwrap_or_default();
    let code = body.get("code").and_then(Value::as_str).map(str::to_owned);
    assert_ne!(code.as_deref(), Some("bad-request"), "{}", answer.text);
    assert_ne!(code.as_deref(), Some("internal"), "{}", answer.text);
    code.filter(|code| code == "forbidden" || code == "sign-in-required")
}

/// What is sent for a rule about a lock.
fn request(rule: &Rule, is_route: bool, id: &LockId) -> (String, String, String) {
    let body = match (rule.body)(id) {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    if !is_route {
        return ("POST".to_owned(), function(rule.name), body);
    }
    let (method, path) = rule.name.split_once(' ').unwrap();
    let path = path
        .replace("{group}", &id.group)
        .replace("{key}", &id.key.encoded())
        .replace("{node}", "a");
    (method.to_owned(), path, body)
}

#[tokio::test]
async fn every_route_and_server_function_lets_through_whom_the_rule_lets_and_nobody_else() {
    let (orders, jobs) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let groups = vec![group("orders", &orders), group("jobs", &jobs)];
    let (console, askers) = askers(groups).await;
    let person = console.person();
    let all = ROUTES.iter().chain(BESIDE).map(|rule| (rule, true));
    let all = all.chain(FUNCTIONS.iter().map(|rule| (rule, false)));
    for (rule, is_route) in all {
        for id in locks() {
            let request = request(rule, is_route, &id);
            let (method, path, body) = &request;
            let json = [("content-type", "application/json")];
            let answer = person.send(method, path, &json, body.as_str()).await;
            assert_eq!(
                code(&answer).as_deref(),
                Some("sign-in-required"),
                "nobody asks {}",
                rule.name
            );
            for asker in &askers {
                let place = match rule.at {
                    Where::Console => Place::console(),
                    Where::Group => Place::group(&id.group),
                    Where::Lock => Place::lock(&id),
                };
                let may = asker.rights.may(rule.verb, place);
                // What is not there is told to those who could see it.
                let is_there = rule.at == Where::Console || id.group != "no-such-group";
                let sees = asker.rights.may(Verb::See, place).is_ok();
                let refused = (may.is_err() && (is_there || !sees)).then(|| "forbidden".to_owned());
                let ended = ask(&person, asker, &request).await;
                assert_eq!(
                    ended, refused,
                    "{} asks {method} {path}: {may:?}",
                    asker.what
                );
            }
            if rule.at == Where::Console {
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_somebody_acquired_on_the_pages_belongs_to_them_alone() {
    let nodes = RedisNodes::start(1).await;
    let people = ["alice", "bob"].map(|name| user(name, Rights::everywhere(Role::Admin)));
    let console = super::console_for(vec![group("orders", &nodes)], people.to_vec()).await;
    let person = console.person();
    let (alice, bob) = (
        sign_in(&person, "alice").await,
        sign_in(&person, "bob").await,
    );
    let call = async |cookie: &str, name: &str, body: Value| {
        let headers = [("cookie", cookie), ("content-type", "application/json")];
        let path = function(name);
        person.send("POST", &path, &headers, body.to_string()).await
    };
    let [id, ..] = locks();
    let acquire = json!({"group": id.group, "key": id.key, "format": "plain", "ttl_ms": 60_000, "wait_ms": 0, "label": null, "auto_renew": false});
    assert_eq!(call(&alice, "acquire", acquire).await.status, 200);
    for (name, body) in [
        ("take_token", json!({"id": id})),
        ("extend_mine", json!({"id": id, "ttl_ms": 1000})),
        ("release_mine", json!({"id": id})),
    ] {
        let answer = call(&bob, name, body).await;
        assert_eq!(answer.json()["code"], "not-held", "{name}: {}", answer.text);
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
