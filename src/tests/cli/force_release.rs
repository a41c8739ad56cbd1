//! `force-release`: with the output of `show`, and many locks at once.

use lockkeeper::server::stores::redis::formats::fingerprint;
use serde_json::json;

use super::Shell;
use crate::support::redis_nodes::RedisNodes;

const THREAD: &str = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";

async fn set_hold(nodes: &RedisNodes, count: &str) {
    nodes
        .hset(0, b"order", THREAD.as_bytes(), count.as_bytes())
        .await;
    let expire = redis::cmd("PEXPIRE").arg("order").arg(60_000).to_owned();
    let () = expire
        .exec_async(&mut nodes.0[0].client().await)
        .await
        .unwrap();
}

#[tokio::test]
async fn if_match_protects_a_later_hold_of_the_same_thread() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    set_hold(&nodes, "1").await;
    let shown = shell.run_line("show default order --json").await;
    std::fs::write(shell.path("shown.json"), &shown.stdout).unwrap();
    let owner = fingerprint(THREAD.as_bytes());
    let release = async |shown_file: &str| {
        let arguments = [
            "default",
            "order",
            "--fingerprint",
            owner.as_str(),
            "--reason",
            "stuck",
            "--if-match",
            shown_file,
        ];
        shell.run("force-release", &arguments).await
    };
    set_hold(&nodes, "2").await;
    let rejected = release("shown.json").await;
    assert_eq!(rejected.status, 5, "{rejected:?}");
    assert!(
        rejected.stderr.contains("re-acquired the lock"),
        "{rejected:?}"
    );
    let other = json!({"group": "default", "key": "another"});
    let mut shown_file = shown.json();
    shown_file["key_encoded"] = other["key"].clone();
    std::fs::write(shell.path("other.json"), shown_file.to_string()).unwrap();
    for (file, expected) in [
        ("other.json", "another lock"),
        ("nowhere.json", "cannot read"),
        (".", "cannot read"),
    ] {
        let rejected = release(file).await;
        assert_eq!(rejected.status, 2, "{rejected:?}");
        assert!(rejected.stderr.contains(expected), "{rejected:?}");
    }
    let shown = shell.run_line("show default order --json").await;
    std::fs::write(shell.path("shown.json"), &shown.stdout).unwrap();
    let released = release("shown.json").await;
    assert_eq!(released.status, 0, "{released:?}");
    assert!(nodes.dump(0).await.is_empty());
}

#[tokio::test]
async fn locks_from_a_file_are_released_after_a_dry_run() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    for n in 0..3 {
        for (key, owner) in [("lock:a", "stuck"), ("lock:b", "stuck"), ("lock:c", "next")] {
            nodes
                .set(n, key.as_bytes(), owner.as_bytes(), Some(60_000))
                .await;
        }
    }
    let targets: Vec<_> = ["lock:a", "lock:b", "lock:c"]
        .map(|key| json!({"group": "default", "key": key, "fingerprint": fingerprint(b"stuck")}))
        .into();
    std::fs::write(shell.path("targets.json"), json!(targets).to_string()).unwrap();
    let arguments = ["--from", "targets.json", "--reason", "its host is gone"];
    let release_all = async |more: &[&str]| {
        shell
            .run("force-release", &[&arguments[..], more].concat())
            .await
    };

    let dry_run = release_all(&["--dry-run"]).await;
    assert_eq!(dry_run.status, 1, "{dry_run:?}");
    assert!(
        dry_run.stderr.contains("2 of 3 locks would be released")
            && dry_run.stderr.contains("2 with an owner of unknown state"),
        "{dry_run:?}"
    );
    let heading = dry_run.stdout.lines().next().unwrap_or_default();
    assert!(heading.contains("OWNER"), "{dry_run:?}");
    let counted = release_all(&["--dry-run", "--json"]).await.json();
    assert_eq!(counted["advice"]["unknown"], 2);
    assert_eq!(nodes.dump(0).await.len(), 3);
    let released = release_all(&["--json"]).await;
    assert_eq!((released.status, released.stderr.as_str()), (1, ""));
    let output = released.json();
    assert_eq!(output["released"], 2);
    let outcomes = ["released", "released", "owner-changed"];
    for (item, outcome) in output["items"].as_array().unwrap().iter().zip(outcomes) {
        assert_eq!(item["outcome"], outcome);
    }
    let next = &output["items"][2]["problem"]["owner"]["fingerprint"];
    assert_eq!(next, fingerprint(b"next").as_str());
    assert_eq!(nodes.dump(0).await.len(), 1);

    std::fs::write(shell.path("targets.json"), "{}").unwrap();
    let rejected = release_all(&[]).await;
    assert_eq!(rejected.status, 2);
    assert!(
        rejected.stderr.contains("is not an array of"),
        "{rejected:?}"
    );
}
