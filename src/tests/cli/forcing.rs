//! Forced releases from the command line: by what was seen before, and many in one go.

use lockkeeper::server::formats::fingerprint;
use serde_json::json;

use super::Shell;
use crate::support::redis_nodes::RedisNodes;

const THREAD: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";

async fn enter(nodes: &RedisNodes, count: &str) {
    nodes
        .hash(0, b"order", THREAD.as_bytes(), count.as_bytes())
        .await;
    let expire = redis::cmd("PEXPIRE").arg("order").arg(60_000).to_owned();
    let () = expire
        .exec_async(&mut nodes.0[0].client().await)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_show_wrote_down_keeps_a_later_hold_of_the_same_thread_safe() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    enter(&nodes, "1").await;
    let shown = shell.types("show default order --json").await;
    std::fs::write(shell.path("seen.json"), &shown.out).unwrap();
    let owner = fingerprint(THREAD.as_bytes());
    let release = async |seen: &str| {
        let words = [
            "default",
            "order",
            "--fingerprint",
            owner.as_str(),
            "--reason",
            "stuck",
            "--seen",
            seen,
        ];
        shell.type_in("force-release", &words).await
    };
    enter(&nodes, "2").await;
    let refused = release("seen.json").await;
    assert_eq!(refused.status, 5, "{refused:?}");
    assert!(
        refused.err.contains("acquired the lock again"),
        "{refused:?}"
    );
    let other = json!({"group": "default", "key": "another"});
    let mut seen = shown.json();
    seen["key_encoded"] = other["key"].clone();
    std::fs::write(shell.path("other.json"), seen.to_string()).unwrap();
    for (file, says) in [
        ("other.json", "another lock"),
        ("nowhere.json", "cannot be read"),
        (".", "cannot be read"),
    ] {
        let refused = release(file).await;
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.err.contains(says), "{refused:?}");
    }
    let shown = shell.types("show default order --json").await;
    std::fs::write(shell.path("seen.json"), &shown.out).unwrap();
    let released = release("seen.json").await;
    assert_eq!(released.status, 0, "{released:?}");
    assert!(nodes.dump(0).await.is_empty());
}

#[tokio::test]
async fn many_are_freed_from_a_list_after_a_look_at_what_would_come_of_it() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    for n in 0..3 {
        for (key, owner) in [("lock:a", "stuck"), ("lock:b", "stuck"), ("lock:c", "next")] {
            nodes
                .set(n, key.as_bytes(), owner.as_bytes(), Some(60_000))
                .await;
        }
    }
    let theirs: Vec<_> = ["lock:a", "lock:b", "lock:c"]
        .map(|key| json!({"group": "default", "key": key, "fingerprint": fingerprint(b"stuck")}))
        .into();
    std::fs::write(shell.path("theirs.json"), json!(theirs).to_string()).unwrap();
    let words = ["--from", "theirs.json", "--reason", "its host is gone"];
    let all = async |more: &[&str]| {
        shell
            .type_in("force-releases", &[&words[..], more].concat())
            .await
    };

    let rehearsed = all(&["--dry-run"]).await;
    assert_eq!(rehearsed.status, 1, "{rehearsed:?}");
    assert!(
        rehearsed.err.starts_with("2 of 3 locks would be released"),
        "{rehearsed:?}"
    );
    assert_eq!(nodes.dump(0).await.len(), 3);
    let freed = all(&["--json"]).await;
    assert_eq!((freed.status, freed.err.as_str()), (1, ""));
    let told = freed.json();
    assert_eq!(told["released"], 2);
    let outcomes = ["released", "released", "owner-changed"];
    for (item, outcome) in told["items"].as_array().unwrap().iter().zip(outcomes) {
        assert_eq!(item["outcome"], outcome);
    }
    let next = &told["items"][2]["problem"]["owner"]["fingerprint"];
    assert_eq!(next, fingerprint(b"next").as_str());
    assert_eq!(nodes.dump(0).await.len(), 1);

    std::fs::write(shell.path("theirs.json"), "{}").unwrap();
    let refused = all(&[]).await;
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("is not an array of"), "{refused:?}");
}
