//! Settings of servers that endanger locks.

use lockkeeper::server::config::GroupConfig;
use serde_json::Value;

use super::{Visit, nodes_of, type_all, type_in};
use crate::support::ask;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

/// What does harm, on which node, and what is found then.
const WRONG: [(&str, usize, &[&str]); 7] = [
    ("loses-last-locks", 0, &["CONFIG SET appendfsync everysec"]),
    ("forgets-locks", 1, &["CONFIG SET appendonly no"]),
    (
        "fsync-paused",
        2,
        &["CONFIG SET no-appendfsync-on-rewrite yes"],
    ),
    (
        "evicts-locks",
        0,
        &[
            "CONFIG SET maxmemory 100mb",
            "CONFIG SET maxmemory-policy allkeys-lru",
        ],
    ),
    (
        "readers-without-limit",
        0,
        &["CONFIG SET client-output-buffer-limit \"pubsub 0 0 0\""],
    ),
    (
        "readers-cut-off",
        1,
        &["CONFIG SET client-output-buffer-limit \"pubsub 64kb 0 0\""],
    ),
    (
        "notifications-unused",
        2,
        &["CONFIG SET notify-keyspace-events KEA"],
    ),
];

/// Does what a finding says helps, on the nodes that it is about.
async fn follow(finding: &Value, nodes: &RedisNodes) {
    let names = ["a", "b", "c"];
    for name in nodes_of(finding) {
        let n = names.iter().position(|one| *one == name).unwrap();
        for command in finding["commands"].as_array().unwrap() {
            let line = command.as_str().unwrap();
            let typed = type_in(&nodes.0[n], line).await;
            // These servers were started without a file to rewrite.
            assert!(
                typed.is_ok() || line == "CONFIG REWRITE",
                "{line}: {typed:?}"
            );
        }
    }
}

#[tokio::test]
async fn each_wrong_setting_is_found_and_gone_after_the_fix_that_is_given() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    for (_, n, lines) in WRONG {
        type_all(&nodes.0[n], lines).await;
    }
    let visit = Visit::to(vec![nodes.config()]).await;
    let codes = WRONG.map(|(code, _, _)| code);
    let found = visit.finds_all("orders", &codes).await;
    for (code, n, _) in WRONG {
        assert_eq!(nodes_of(&found[code]), [["a", "b", "c"][n]], "{code}");
        let evidence = found[code]["evidence"][0].as_str().unwrap();
        assert!(
            evidence.contains("INFO") || evidence.contains("CONFIG GET"),
            "{evidence}"
        );
    }
    let checkup = visit.checkup("orders").await;
    assert_eq!(
        checkup["fit"], false,
        "what evicts locks is an error: {checkup}"
    );
    for code in codes {
        follow(&found[code], &nodes).await;
    }
    let left = visit.finds_none("orders", &codes).await;
    // What cannot be otherwise on one machine.
    assert_eq!(left.into_keys().collect::<Vec<_>>(), ["one-host"]);
    assert_eq!(visit.checkup("orders").await["fit"], true);
}

#[tokio::test]
async fn memory_that_is_nearly_used_up_is_found_until_there_is_more() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let visit = Visit::to(vec![nodes.config()]).await;
    let node = &nodes.0[0];
    let info: String = ask(&mut node.client().await, "INFO memory").await;
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.unwrap().parse().unwrap();
    type_all(node, &[&format!("CONFIG SET maxmemory {used}")]).await;
    let found = visit.finds_all("orders", &["memory-nearly-full"]).await;
    assert_eq!(found["memory-nearly-full"]["severity"], "error");
    type_all(node, &["CONFIG SET maxmemory 1gb"]).await;
    visit.finds_none("orders", &["memory-nearly-full"]).await;
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_is_found_until_it_can() {
    let node =
        RedisNode::start_with(&["--enable-protected-configs", "yes", "--save", "3600 1"]).await;
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    type_all(&node, &[&format!("CONFIG SET dir {}", gone.display())]).await;
    std::fs::remove_dir(&gone).unwrap();
    type_all(&node, &["BGSAVE"]).await;
    let visit = Visit::to(vec![GroupConfig::new("orders", [node.url()])]).await;
    let found = visit
        .finds_all("orders", &["persistence-fails", "forgets-locks"])
        .await;
    let evidence = found["persistence-fails"]["evidence"][0].as_str().unwrap();
    assert!(evidence.contains("refuses every write"), "{evidence}");
    let there = format!("CONFIG SET dir {}", folder.path().display());
    type_all(&node, &[&there, "BGSAVE"]).await;
    visit.finds_none("orders", &["persistence-fails"]).await;
}

#[tokio::test]
async fn connections_that_are_nearly_all_in_use_are_found_until_more_are_allowed() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let node = &nodes.0[0];
    let visit = Visit::to(vec![nodes.config()]).await;
    visit
        .finds_none("orders", &["clients-nearly-all", "node-unreachable"])
        .await;
    let mut others = Vec::new();
    for _ in 0..16 {
        others.push(node.client().await);
    }
    // The console has three or four besides.
    type_all(node, &["CONFIG SET maxclients 22"]).await;
    let found = visit.finds_all("orders", &["clients-nearly-all"]).await;
    follow(&found["clients-nearly-all"], &nodes).await;
    visit.finds_none("orders", &["clients-nearly-all"]).await;
    drop(others);
}
