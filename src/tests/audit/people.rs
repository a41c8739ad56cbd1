//! Who is in the audit, and who may read it.

use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use serde_json::{Value, json};

use crate::access::{console_with, get_with, rights, sign_in, token, try_to_sign_in, user};
use crate::api::{group, lock_path};
use crate::support::audit::entries;
use crate::support::console::Person;
use crate::support::redis_nodes::RedisNodes;

/// The acts that somebody with this cookie is told of.
async fn acts(person: &Person, cookie: &str) -> Vec<Value> {
    let answer = get_with(person, "/api/v1/audit", cookie).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["acts"].as_array().unwrap().clone()
}

fn words(acts: &[Value]) -> Vec<[&str; 4]> {
    let words = ["act", "who", "via", "end"];
    acts.iter()
        .map(|act| words.map(|word| act[word].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn people_and_programs_are_named_as_they_came_and_read_what_their_rights_show() {
    let (orders, jobs) = (RedisNodes::start(1).await, RedisNodes::start(1).await);
    let (secret, deploy) = token("deploy", rights(Role::Operator, None, None));
    let access = AccessConfig {
        users: vec![
            user("anna", rights(Role::Admin, None, None)),
            user("omar", rights(Role::Operator, Some(&["orders"]), None)),
            user("vera", rights(Role::Viewer, None, None)),
        ],
        tokens: vec![deploy],
        ..AccessConfig::default()
    };
    let groups = vec![group("orders", &orders), group("jobs", &jobs)];
    let console = console_with(groups, access, Clock::real()).await;
    let person = console.person();
    try_to_sign_in(&person, "anna", "a wrong password").await;
    try_to_sign_in(&person, "Tr0ub4dor", "typed into the wrong field").await;
    let anna = sign_in(&person, "anna").await;
    let omar = sign_in(&person, "omar").await;
    let vera = sign_in(&person, "vera").await;

    let bearer = format!("Bearer {secret}");
    let json = ("content-type", "application/json");
    for (name, value) in [
        ("authorization", bearer.as_str()),
        ("cookie", vera.as_str()),
    ] {
        for group in ["orders", "jobs"] {
            let path = lock_path(group, b"lock:a", "/acquire");
            let body = json!({"ttl_ms": 60_000}).to_string();
            person
                .send("POST", &path, &[(name, value), json], body)
                .await;
        }
    }

    let told = acts(&person, &anna).await;
    assert_eq!(
        words(&told),
        [
            ["acquire", "vera", "browser", "refused"],
            ["acquire", "vera", "browser", "refused"],
            ["acquire", "deploy", "token", "done"],
            ["acquire", "deploy", "token", "done"],
            ["sign-in", "vera", "browser", "done"],
            ["sign-in", "omar", "browser", "done"],
            ["sign-in", "anna", "browser", "done"],
            ["sign-in", "(nobody of that name)", "browser", "refused"],
            ["sign-in", "anna", "browser", "refused"],
        ]
    );
    assert_eq!(told[0]["code"], "forbidden");
    let file = json!(entries(&console.storage_file()).await).to_string();
    for secret in [
        "a wrong password",
        "Tr0ub4dor",
        "typed into",
        secret.as_str(),
    ] {
        assert!(!file.contains(secret), "{secret} is in the audit");
    }

    // What happened in other groups, and who came in, is not for those who see one group only.
    let told = acts(&person, &omar).await;
    assert!(told.iter().all(|act| act["group"] == "orders"), "{told:?}");
    assert_eq!(told.len(), 2);
    let other = get_with(&person, "/api/v1/audit?group=jobs", &omar).await;
    assert_eq!(other.status, 403, "{}", other.text);
    for path in ["/api/v1/audit", "/api/v1/audit/export?as=csv"] {
        let refused = get_with(&person, path, &vera).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "forbidden")
        );
    }
    let page = get_with(&person, "/groups/orders/locks/lock%3Aa", &vera).await;
    assert!(
        page.text
            .contains("Not shown: the role `viewer` may not read the audit")
    );
}
