//! `lockkeeper check`: what is printed, and the exit status that scripts go by.

use super::{Shell, output_of};
use crate::support::redis_nodes::{PERSISTENT, RedisNodes};

#[tokio::test]
async fn a_healthy_group_exits_with_0_and_an_error_with_1() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let shell = Shell::new(&nodes);
    let healthy = shell.run::<&str>("check", &[]).await;
    assert_eq!(healthy.status, 0, "{healthy:?}");
    assert!(
        healthy
            .stdout
            .starts_with("default (development, 3 nodes): healthy, 1 note\n"),
        "{healthy:?}"
    );
    assert!(healthy.stdout.contains("[same-host]"), "{healthy:?}");
    let json = shell.run_line("check --json").await.json();
    assert_eq!(json["healthy"], true);
    assert_eq!(json["groups"][0]["findings"].as_array().unwrap().len(), 1);

    let mut client = nodes.0[1].client().await;
    for (name, value) in [("maxmemory", "100mb"), ("maxmemory-policy", "volatile-ttl")] {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg(name).arg(value);
        let () = set.query_async(&mut client).await.unwrap();
    }
    let unhealthy = shell.run::<&str>("check", &[]).await;
    assert_eq!(unhealthy.status, 1, "{unhealthy:?}");
    for part in [
        "unhealthy: 1 error, 1 note",
        "[eviction-enabled]",
        "  evidence  b: maxmemory:104857600, maxmemory_policy:volatile-ttl",
        "CONFIG SET maxmemory-policy noeviction\n",
    ] {
        assert!(
            unhealthy.stdout.contains(part),
            "{part:?} in {}",
            unhealthy.stdout
        );
    }
    let json = shell.run_line("check --json").await;
    assert_eq!(json.status, 1);
    assert_eq!(
        json.json()["groups"][0]["findings"][0]["code"],
        "eviction-enabled"
    );
}

#[tokio::test]
async fn an_unreachable_node_is_an_error_and_does_not_delay_the_other_checks() {
    let mut nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    nodes.0[2].kill().await;
    let shell = Shell::new(&nodes);
    let output = shell.run_line("check --json").await;
    assert_eq!(output.status, 1);
    let report = &output.json()["groups"][0];
    assert_eq!(report["findings"][0]["code"], "node-unreachable");
    assert_eq!(report["unchecked"][0]["node"], "c");
}

#[tokio::test]
async fn missing_permissions_are_found_without_a_console() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let mut user = redis::cmd("ACL");
    for word in "SETUSER keeper on >pw ~* &* +@all -client|tracking -del".split(' ') {
        user.arg(word);
    }
    let () = user
        .query_async(&mut nodes.0[0].client().await)
        .await
        .unwrap();
    let address = format!("redis://keeper:pw@127.0.0.1:{}", nodes.0[0].port());
    let shell = Shell::new(&nodes);
    let output = output_of(shell.bare_command(&["check", "--json", "--redis", &address])).await;
    assert_eq!(output.status, 0, "{output:?}");
    let json = output.json();
    let findings = json["groups"][0]["findings"].as_array().unwrap();
    let lines: Vec<_> = findings
        .iter()
        .map(|one| {
            (
                one["code"].as_str().unwrap(),
                one["commands"][0].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            ("missing-lock-permission", "ACL SETUSER keeper +del"),
            (
                "missing-watch-permission",
                "ACL SETUSER keeper +client|tracking"
            ),
        ]
    );
}

#[tokio::test]
async fn control_characters_in_lock_names_are_escaped() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    nodes.set(0, b"lock:\x1b[2J\x07", &[b'a'; 32], None).await;
    let output = Shell::new(&nodes).run::<&str>("check", &[]).await;
    assert!(
        output.stdout.contains("lock:\\u{1b}[2J\\u{7}"),
        "{output:?}"
    );
    assert!(
        output.stdout.chars().all(|c| c == '\n' || !c.is_control()),
        "{output:?}"
    );
}

#[tokio::test]
async fn an_even_number_of_nodes_is_a_warning_and_config_reference_prints_the_fields() {
    let nodes = RedisNodes::start_with(4, &PERSISTENT).await;
    let shell = Shell::new(&nodes);
    let output = shell.run::<&str>("check", &[]).await;
    assert_eq!(output.status, 0, "{output:?}");
    assert!(
        output.stderr.contains("odd number") && output.stdout.contains("[even-nodes]"),
        "{output:?}"
    );
    let fields = output_of(shell.bare_command(&["config", "reference"])).await;
    assert_eq!(fields.status, 0);
    assert!(fields.stdout.contains("max_lease = \"1h\"") && fields.stderr.is_empty());
}
