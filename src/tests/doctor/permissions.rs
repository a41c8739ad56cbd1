//! Users that may not do what watching and locking take.

use serde_json::Value;

use super::{Visit, type_all, type_in};
use crate::support::eventually;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, url};
use lockkeeper::server::config::GroupConfig;

fn commands(finding: &Value) -> Vec<&str> {
    let lines = finding["commands"].as_array().unwrap();
    lines.iter().map(|line| line.as_str().unwrap()).collect()
}

/// A server with a user `keeper` that may do everything but this, and the group as that user sees it.
async fn without(forbidden: &str) -> (RedisNode, GroupConfig) {
    let node = RedisNode::start_with(&PERSISTENT).await;
    let user = format!("ACL SETUSER keeper on >pw ~* &* +@all {forbidden}");
    type_all(&node, &[&user]).await;
    let address = format!("redis://keeper:pw@127.0.0.1:{}", node.port());
    let group = GroupConfig::new("orders", [url(&address)]);
    (node, group)
}

#[tokio::test]
async fn every_missing_permission_is_found_until_its_line_is_typed() {
    let (node, group) = without("-client|tracking -object -set -pexpire").await;
    let visit = Visit::to(vec![group]).await;
    let codes = [
        "may-not-watch",
        "may-not-measure",
        "may-not-act",
        "changes-not-told",
    ];
    let found = visit.finds_all("orders", &codes).await;
    assert_eq!(
        commands(&found["may-not-watch"]),
        ["ACL SETUSER keeper +client|tracking"]
    );
    assert_eq!(
        commands(&found["may-not-measure"]),
        [
            "ACL SETUSER keeper +object|encoding",
            "ACL SETUSER keeper +object|idletime",
            "ACL SETUSER keeper +object|refcount"
        ]
    );
    assert_eq!(
        commands(&found["may-not-act"]),
        ["ACL SETUSER keeper +pexpire +set"]
    );
    for code in &codes[..3] {
        type_all(&node, &commands(&found[*code])).await;
    }
    // Who has a connection that was refused is asked again after a while; a new one has it at once.
    type_in(&node, "CLIENT KILL USER keeper").await.unwrap();
    visit.finds_none("orders", &codes).await;
}

#[tokio::test]
async fn who_may_only_watch_is_told_so_unless_the_group_is_read_only() {
    let (_node, group) = without("-@scripting").await;
    let watched = GroupConfig {
        read_only: true,
        name: "watched".to_owned(),
        ..group.clone()
    };
    let visit = Visit::to(vec![group, watched]).await;
    let found = visit.finds_all("orders", &["may-not-act"]).await;
    assert_eq!(
        commands(&found["may-not-act"]),
        ["ACL SETUSER keeper +evalsha"]
    );
    visit.finds_none("watched", &["may-not-act"]).await;
}

#[tokio::test]
async fn what_may_not_be_asked_is_unchecked_and_not_called_good_or_bad() {
    let (node, group) = without("-config -info").await;
    let visit = Visit::to(vec![group]).await;
    let unchecked = async || -> Vec<String> {
        let checkup = visit.checkup("orders").await;
        let unchecked = checkup["unchecked"].as_array().unwrap();
        let why = |one: &Value| one["why"].as_str().unwrap().to_owned();
        unchecked.iter().map(why).collect()
    };
    let told = eventually("both are unchecked", async || {
        Some(unchecked().await).filter(|told| told.len() == 2)
    })
    .await;
    assert!(told[0].contains("ACL SETUSER keeper +info"), "{told:?}");
    assert!(told[1].starts_with("CONFIG GET is not allowed"), "{told:?}");
    visit
        .finds_none("orders", &["forgets-locks", "loses-last-locks"])
        .await;
    type_all(&node, &["ACL SETUSER keeper +info +config|get"]).await;
    eventually("everything is checked", async || {
        unchecked().await.is_empty().then_some(())
    })
    .await;
}
