//! `acquire`, `show`, `extend`, `release` and `force-release`: their output and exit statuses.

use lockkeeper::domain::LockKey;
use serde_json::Value;

use super::{Shell, no_lock_left, output_of};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

const LOCK: [&str; 2] = ["default", "lock:payout/eu"];

fn with<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [LOCK.as_slice(), arguments].concat()
}

/// The field names of an object.
fn fields(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[tokio::test]
async fn a_lock_is_acquired_shown_extended_and_released() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let acquired = shell
        .run("acquire", &with(&["--ttl", "30s", "--label", "deploy"]))
        .await;
    assert_eq!((acquired.status, acquired.stderr.as_str()), (0, ""));
    let token = acquired.field("token");
    let key = LockKey::from(LOCK[1]);
    // The command ends with a quorum; the third node may reply later.
    assert!(
        acquired.field("nodes").matches("acquired").count() >= 2,
        "{acquired:?}"
    );
    wait_until("every node has stored the token", async || {
        let stored_values: Vec<_> = nodes.values(0..3, &key).await;
        stored_values == vec![Some(token.as_bytes().to_vec()); 3]
    })
    .await;

    let shown = shell.run("show", &LOCK).await;
    assert_eq!((shown.status, shown.stderr.as_str()), (0, ""));
    assert_eq!(shown.field("fingerprint"), acquired.field("fingerprint"));
    assert!(
        shown.stdout.contains("on 3 of 3 nodes") && shown.stdout.contains("deploy"),
        "{shown:?}"
    );
    assert!(!shown.stdout.contains(token), "show never prints the token");

    std::fs::write(shell.path("token"), format!("{token}\n")).unwrap();
    let extended = shell
        .run("extend", &with(&["--ttl", "10m", "--token-file", "token"]))
        .await;
    assert_eq!((extended.status, extended.stderr.as_str()), (0, ""));
    assert!(
        extended.field("valid for").starts_with("9m"),
        "{extended:?}"
    );

    let mut release = shell.command("release", &LOCK);
    let released = output_of(release.env("LOCKKEEPER_TOKEN", token)).await;
    assert_eq!((released.status, released.stderr.as_str()), (0, ""));
    // `release` returns when a quorum has replied; the last node may be pending.
    let on_nodes: Vec<&str> = released.field("nodes").split(", ").collect();
    let released_nodes = on_nodes.iter().filter(|node| node.ends_with(" released"));
    assert!(
        on_nodes.len() == 3 && released_nodes.count() >= 2,
        "{released:?}"
    );
    wait_until("no lock is left", async || no_lock_left(&nodes).await).await;
}

#[tokio::test]
async fn json_output_has_the_fields_of_the_api() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let mut group = nodes.config();
    group.name = "default".into();
    let console = TestConsole::start(vec![group]).await;
    let api = console.api();
    let path = "/api/v1/groups/default/locks/lock%3Apayout%2Feu";
    let body = |token: &Value| serde_json::json!({"token": token, "ttl_ms": 30_000});
    let post = async |act: &str, body: Value| api.post(&format!("{path}/{act}"), body).await;

    let api_acquired = post("acquire", serde_json::json!({"ttl_ms": 30_000}))
        .await
        .json();
    let api_extended = post("extend", body(&api_acquired["token"])).await.json();
    let api_shown = api.get(path).await.json();
    let api_listed = api.get("/api/v1/locks").await.json();
    let api_rejected = post("acquire", serde_json::json!({"ttl_ms": 30_000}))
        .await
        .json();
    let api_released = post(
        "release",
        serde_json::json!({"token": api_acquired["token"]}),
    )
    .await
    .json();
    console.stop().await;

    let json = async |subcommand: &str, arguments: &[&str]| {
        let output = shell
            .run(
                subcommand,
                &[&with(arguments), ["--json"].as_slice()].concat(),
            )
            .await;
        assert_eq!(output.stderr, "", "--json prints only one document");
        output
    };
    let acquired = json("acquire", &["--ttl", "30s"]).await.json();
    assert_eq!(fields(&acquired), fields(&api_acquired));
    std::fs::write(shell.path("token"), acquired["token"].as_str().unwrap()).unwrap();
    let extended = json("extend", &["--ttl", "30s", "--token-file", "token"])
        .await
        .json();
    assert_eq!(fields(&extended), fields(&api_extended));
    let shown = json("show", &[]).await.json();
    let mut expected_fields = fields(&api_shown);
    // Only a running console records the history of a lock.
    expected_fields.retain(|field| *field != "history");
    assert_eq!(fields(&shown), expected_fields);
    assert_eq!(shown["owner"]["fingerprint"], acquired["fingerprint"]);
    let listed = shell.run_line("list --json").await.json();
    let mut common_fields = fields(&listed);
    common_fields.retain(|field| !["complete", "groups"].contains(field));
    assert_eq!(common_fields, fields(&api_listed));
    // The advice needs facts that only the request for one lock reads.
    let mut listed_fields = fields(&shown);
    listed_fields.retain(|field| *field != "release_advice");
    assert_eq!(fields(&listed["locks"][0]), listed_fields);
    let rejected = json("acquire", &["--ttl", "30s"]).await;
    assert_eq!(rejected.status, 75);
    let rejected = rejected.json();
    assert_eq!(rejected["code"], "held");
    assert_eq!(rejected["owner"]["fingerprint"], acquired["fingerprint"]);
    for field_name in [
        "detail",
        "advice",
        "owner",
        "lease_ms",
        "retry_after_ms",
        "nodes",
    ] {
        assert!(
            !api_rejected[field_name].is_null() && !rejected[field_name].is_null(),
            "{field_name}: {rejected}"
        );
    }
    let released = json("release", &["--token-file", "token"]).await.json();
    assert_eq!(fields(&released), fields(&api_released));
}

/// Exit status, code and command: without a lock, and with a lock of another owner.
const REJECTIONS: [&str; 2] = [
    "
6 not-observed show
3 not-held extend --token-file token --ttl 30s
3 not-held release --token-file token
3 not-held force-release --fingerprint 0123456789abcdef --reason test
",
    "
75 held acquire --ttl 30s
4 not-owner extend --token-file token --ttl 30s
4 not-owner release --token-file token
5 owner-changed force-release --fingerprint 0123456789abcdef --reason test
2 impossible acquire --ttl 2h
2 impossible acquire --ttl 1ms
2 unusable release
2 unusable release --token-file empty
2 unusable release --token-file binary
2 unusable release --token-file huge
2 unusable release --token-file nowhere
2 unusable release --token-file /
",
];

#[tokio::test]
async fn every_rejection_has_its_own_exit_status() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    std::fs::write(shell.path("token"), "other-token").unwrap();
    std::fs::write(shell.path("empty"), "\n").unwrap();
    std::fs::write(shell.path("binary"), b"\xff\xfe").unwrap();
    std::fs::write(shell.path("huge"), "x".repeat(100_000)).unwrap();
    let lock = LOCK[1].as_bytes();
    let run_json = async |command_line: &str| {
        let (subcommand, arguments) = command_line.split_once(' ').unwrap_or((command_line, ""));
        let arguments = arguments.split_whitespace().chain(["--json"]);
        let line: Vec<&str> = LOCK.into_iter().chain(arguments).collect();
        let output = shell.run(subcommand, &line).await;
        let code = output.json()["code"].as_str().unwrap().to_owned();
        (output.status.to_string(), code)
    };
    for (rejections, is_held) in REJECTIONS.into_iter().zip([false, true]) {
        for n in 0..3 {
            if is_held {
                nodes.set(n, lock, b"the-owner", Some(60_000)).await;
            }
        }
        for line in rejections.trim().lines() {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            let expected = (parts.next().unwrap(), parts.next().unwrap());
            assert_eq!(run_json(&parts.next().unwrap()).await, expected, "{line}");
        }
    }
    let unknown = shell.run_line("show orders lock:a --json").await;
    assert_eq!(unknown.status, 2);
    assert_eq!(unknown.json()["code"], "unknown-group");
    let advice = unknown.json()["advice"].to_string();
    assert!(advice.contains("default"), "{unknown:?}");
    for n in 0..3 {
        assert_eq!(nodes.get(n, lock).await.unwrap(), b"the-owner");
        nodes.delete(n, lock).await;
        nodes.hset(n, lock, b"a", b"b").await;
    }
    let wrong_type = ("1".to_owned(), "wrong-type".to_owned());
    assert_eq!(run_json("acquire --ttl 30s").await, wrong_type);
}

#[tokio::test]
async fn a_lock_of_another_owner_is_force_released_by_its_fingerprint() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    nodes
        .set_on_first(3, LOCK[1].as_bytes(), b"stuck", None)
        .await;
    let shown = shell.run("show", &LOCK).await;
    let force = [
        "--fingerprint",
        shown.field("fingerprint"),
        "--reason",
        "its host is gone",
    ];
    let released = shell.run("force-release", &with(&force)).await;
    assert_eq!((released.status, released.stderr.as_str()), (0, ""));
    assert!(
        released.stdout.contains("does not stop the process"),
        "{released:?}"
    );
    assert!(no_lock_left(&nodes).await);
}

#[tokio::test]
async fn production_requires_confirmation_and_read_only_rejects_every_operation() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let group = |name: &str, arguments: &str| {
        let port = nodes.0[0].port();
        format!(
            "[[group]]\nname = \"{name}\"\n{arguments}\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n"
        )
    };
    let config =
        group("live", "environment = \"production\"") + &group("frozen", "read_only = true");
    std::fs::write(shell.path("lockkeeper.toml"), config).unwrap();
    nodes.set(0, b"lock:a", b"stuck", None).await;
    let shown = output_of(shell.bare_command(&["show", "live", "lock:a", "--json"]))
        .await
        .json();
    let fingerprint = shown["owner"]["fingerprint"].as_str().unwrap();
    let arguments = [
        "force-release",
        "live",
        "lock:a",
        "--reason",
        "r",
        "--fingerprint",
        fingerprint,
    ];
    for confirm in [&[][..], &["--confirm", "lock:b"]] {
        let rejected =
            output_of(shell.bare_command(&[arguments.as_slice(), confirm].concat())).await;
        assert_eq!(rejected.status, 2, "{rejected:?}");
        assert!(rejected.stderr.contains("--confirm"), "{rejected:?}");
    }
    let frozen =
        output_of(shell.bare_command(&["acquire", "frozen", "lock:b", "--ttl", "1s"])).await;
    assert_eq!(frozen.status, 2, "{frozen:?}");
    assert!(frozen.stderr.contains("read-only"), "{frozen:?}");
    let released = [arguments.as_slice(), &["--confirm", "lock:a"]].concat();
    assert_eq!(output_of(shell.bare_command(&released)).await.status, 0);
    assert!(no_lock_left(&nodes).await);
}

#[tokio::test]
async fn a_missing_quorum_is_distinguished_from_a_held_lock() {
    let mut nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    nodes.0[2].kill().await;
    let acquired = shell
        .run("acquire", &with(&["--ttl", "30s", "--json"]))
        .await;
    assert_eq!(acquired.status, 0, "{acquired:?}");
    std::fs::write(
        shell.path("token"),
        acquired.json()["token"].as_str().unwrap(),
    )
    .unwrap();
    nodes.0[1].kill().await;
    let token = ["--token-file", "token"];
    for (subcommand, arguments, code) in [
        ("show", &[][..], "unreachable"),
        ("acquire", &["--ttl", "30s"], "no-quorum"),
        (
            "extend",
            &[&token[..], &["--ttl", "30s"]].concat(),
            "no-quorum",
        ),
    ] {
        let rejected = shell
            .run(subcommand, &[&with(arguments), &["--json"][..]].concat())
            .await;
        let problem = rejected.json();
        // The lock is on one of three nodes, so its verdict is unknown.
        if subcommand == "show" && rejected.status == 0 {
            assert_eq!(problem["verdict"], "unknown", "{rejected:?}");
            continue;
        }
        assert_eq!(
            (rejected.status, problem["code"].as_str()),
            (1, Some(code)),
            "{rejected:?}"
        );
    }
    let output = shell.run_line("acquire default lock:b --ttl 30s").await;
    assert!(
        output.stderr.contains("node b: connection refused"),
        "{output:?}"
    );
    assert_eq!(
        nodes.get(0, b"lock:b").await,
        None,
        "the acquire is rolled back on the remaining node"
    );
}

#[tokio::test]
async fn a_release_on_a_minority_of_the_nodes_has_its_own_exit_status() {
    let mut nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let acquired = shell.run("acquire", &with(&["--ttl", "10m"])).await;
    let (token, fingerprint) = (acquired.field("token"), acquired.field("fingerprint"));
    let fingerprint = fingerprint.replace(' ', "");
    nodes.0[1].kill().await;
    nodes.0[2].kill().await;
    let arguments = ["--fingerprint", &fingerprint, "--reason", "stuck"];
    let forced = shell.run("force-release", &with(&arguments)).await;
    assert_eq!(forced.status, 7, "{forced:?}");
    assert!(
        forced.stderr.contains("released on 1 of 3 nodes") && forced.stderr.contains("node b: "),
        "{forced:?}"
    );
    nodes
        .set(0, LOCK[1].as_bytes(), token.as_bytes(), None)
        .await;
    let mut release = shell.command("release", &with(&["--json"]));
    let released = output_of(release.env("LOCKKEEPER_TOKEN", token)).await;
    assert_eq!(released.status, 7, "{released:?}");
    assert_eq!(released.json()["code"], "partly-released", "{released:?}");
}

#[tokio::test]
async fn the_group_argument_is_optional_with_a_single_group() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let key = LOCK[1];
    let acquired = shell.run("acquire", &[key, "--ttl", "30s"]).await;
    assert_eq!(acquired.status, 0, "{acquired:?}");
    let token = acquired.field("token");
    let shown = shell.run("show", &[key]).await;
    assert_eq!(shown.status, 0, "{shown:?}");
    std::fs::write(shell.path("token"), token).unwrap();
    for arguments in [
        &["extend", key, "--ttl", "20s", "--token-file", "token"][..],
        &["release", key, "--token-file", "token"],
        &["run", key, "--", "true"],
        &["run", "default", key, "--", "true"],
    ] {
        let output = shell.run(arguments[0], &arguments[1..]).await;
        assert_eq!(output.status, 0, "{output:?}");
    }

    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let group = |name: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\nkind = \"standalone\"\nnode = [{{ url = \"{url}\" }}]\n"
        )
    };
    let file = ["orders", "billing"].map(group).concat();
    std::fs::write(shell.path("lockkeeper.toml"), file).unwrap();
    let ambiguous = output_of(shell.bare_command(&["show", key])).await;
    assert_eq!(ambiguous.status, 2, "{ambiguous:?}");
    assert!(
        ambiguous.stderr.contains("orders, billing") && ambiguous.stderr.contains("GROUP"),
        "{ambiguous:?}"
    );
    let named = output_of(shell.bare_command(&["show", "orders", key])).await;
    assert_eq!(named.status, 6, "{named:?}");
}

#[tokio::test]
async fn an_empty_key_is_a_usage_error() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    for arguments in [
        &["acquire", "default", "", "--ttl", "30s"][..],
        &["show", "default", ""],
        &["run", "default", "", "--", "true"],
    ] {
        let rejected = shell.run(arguments[0], &arguments[1..]).await;
        assert_eq!(rejected.status, 2, "{rejected:?}");
        assert!(rejected.stderr.contains("KEY is empty"), "{rejected:?}");
    }
    assert!(no_lock_left(&nodes).await);
}
