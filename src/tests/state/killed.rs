//! A console is killed in the middle of an act: the other one finds what was begun and tells what the nodes show of it.

use serde_json::{Value, json};

use crate::api::lock_path;
use crate::audit::{Served, serve};
use crate::support::eventually;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

fn configure(folder: &std::path::Path, nodes: &RedisNodes, state: &RedisNode) {
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[state]\nurl = \"redis://127.0.0.1:{}\"\n[audit]\nto = \"state\"\n[[group]]\nname = \"orders\"\ncommand_timeout = \"5m\"\nnode_share_percent = 50\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
        state.port(),
        nodes.0[0].port()
    );
    std::fs::write(folder.join("lockkeeper.toml"), text).unwrap();
}

#[tokio::test]
async fn an_act_that_nobody_saw_the_end_of_is_told_by_the_other_console() {
    let (nodes, state) = (
        RedisNodes::start(1).await,
        RedisNode::start_with(&PERSISTENT).await,
    );
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &nodes, &state);
    let mut one = Served::start(serve(), folder.path()).await;
    let other = Served::start(serve(), folder.path()).await;
    let path = |verb| lock_path("orders", b"lock:a", verb);
    let ours = one
        .person
        .post(&path("/acquire"), json!({"ttl_ms": 600_000}))
        .await;
    assert_eq!(ours.status, 201, "{ours:?}");

    nodes.0[0].stop().await;
    let forced = json!({"fingerprint": ours.json()["fingerprint"], "reason": "it is stuck", "confirm": "lock:a"});
    let forcing = tokio::spawn({
        let (person, path) = (one.person.clone(), path("/force-release"));
        async move {
            let _it_is_killed = tokio::time::timeout(
                std::time::Duration::from_secs(60),
                person.send_unanswered("POST", &path, forced),
            )
            .await;
        }
    });
    let told = async |end: &str| -> Option<Value> {
        let query = format!("/api/v1/audit?act=force-release&end={end}");
        let answer = other.person.get(&query).await;
        answer.json()["acts"].as_array()?.first().cloned()
    };
    eventually("it is begun", async || told("in-progress").await).await;
    one.child.kill().await.unwrap();
    forcing.await.unwrap();
    nodes.0[0].go_on().await;
    let end = eventually("it is told", async || {
        let end = told("unknown").await?;
        end["ended_at"].is_string().then_some(end)
    })
    .await;
    assert_eq!(end["reason"], "it is stuck");
    assert_eq!(end["seen"][0]["node"], "a", "{end}");
}
