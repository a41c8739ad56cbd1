//! `list`: its contents, its filters and unreachable nodes.

use super::Shell;
use super::hostile_names::is_harmless;
use crate::support::redis_nodes::{RedisNode, RedisNodes};

const NO_ARGUMENTS: [&str; 0] = [];

/// A token with a label, as Lockkeeper generates it.
fn token(label: &str) -> String {
    format!("lockkeeper:{label}:9f86d081884c7d659a2feaa0c55ad015")
}

async fn create_three_locks(nodes: &RedisNodes) {
    for n in 0..3 {
        nodes
            .set(n, b"lock:long", token("web-1").as_bytes(), Some(600_000))
            .await;
        nodes
            .set(n, b"lock:stuck", token("web-2").as_bytes(), None)
            .await;
        let owner = token(&format!("web-{n}"));
        nodes
            .set(n, b"lock:split", owner.as_bytes(), Some(60_000))
            .await;
        nodes.set(n, b"no-such-thing", b"x", None).await;
    }
}

async fn create_locks(nodes: &RedisNodes, count: usize) {
    let mut client = nodes.0[0].client().await;
    for first in (0..count).step_by(1_000) {
        let mut sets = redis::pipe();
        for n in first..first + 1_000 {
            let value = token(&format!("web-{n}"));
            sets.cmd("SET")
                .arg(format!("lock:{n}"))
                .arg(value)
                .arg("PX")
                .arg(600_000)
                .ignore();
        }
        let () = sets.query_async(&mut client).await.unwrap();
    }
}

fn listed_keys(out: &str) -> Vec<&str> {
    let row = |line: &'_ str| line.split_whitespace().nth(1).map(str::len);
    out.lines()
        .skip(1)
        .filter_map(|line| {
            let length = row(line)?;
            let start = line.find("lock:")?;
            Some(&line[start..start + length])
        })
        .collect()
}

#[tokio::test]
async fn locks_that_need_attention_are_first_and_columns_are_aligned() {
    let nodes = RedisNodes::start(3).await;
    create_three_locks(&nodes).await;
    let shell = Shell::new(&nodes);
    let listed = shell.run("list", &NO_ARGUMENTS).await;
    assert_eq!(listed.status, 0, "{listed:?}");
    assert_eq!(
        listed_keys(&listed.stdout),
        ["lock:split", "lock:stuck", "lock:long"]
    );
    let starts: Vec<Option<usize>> = listed
        .stdout
        .lines()
        .map(|line| {
            line.find("VERDICT")
                .or(line.find("held"))
                .or(line.find(" split ").map(|at| at + 1))
        })
        .collect();
    assert!(
        starts.windows(2).all(|pair| pair[0] == pair[1]),
        "{listed:?}"
    );
    assert!(
        !listed.stdout.contains('\x1b'),
        "no colors without a terminal"
    );
    assert_eq!(
        listed.stderr,
        "3 locks\ndefault: 3 of 3 nodes scanned, 9 of 12 keys can be locks\n"
    );
}

#[tokio::test]
async fn the_list_is_filtered_sorted_and_limited_like_the_api() {
    let nodes = RedisNodes::start(3).await;
    create_three_locks(&nodes).await;
    let shell = Shell::new(&nodes);
    for (arguments, expected) in [
        (&["--verdict", "split"][..], &["lock:split"][..]),
        (&["--flag", "no-expiry"], &["lock:stuck"]),
        (&["--owner", "web-1"], &["lock:split", "lock:long"]),
        (&["--owner", "web-2", "--verdict", "held"], &["lock:stuck"]),
        (&["--q", "LONG"], &["lock:long"]),
        (&["--format", "redisson"], &[]),
        (
            &["--group", "default", "--sort", "key"],
            &["lock:long", "lock:split", "lock:stuck"],
        ),
        (
            &["--sort", "lease", "--order", "desc", "--limit", "2"],
            &["lock:stuck", "lock:long"],
        ),
    ] {
        let listed = shell.run("list", arguments).await;
        assert_eq!(
            listed_keys(&listed.stdout),
            expected,
            "{arguments:?}: {listed:?}"
        );
        assert_eq!(listed.status, 0, "{listed:?}");
    }
    let limited = shell.run_line("list --limit 1").await;
    assert!(limited.stderr.starts_with("1 of 3 locks\n"), "{limited:?}");
    let unknown = shell.run_line("list --group orders").await;
    assert_eq!((unknown.status, unknown.stdout.as_str()), (2, ""));
}

#[tokio::test]
async fn an_outage_never_looks_like_an_empty_list() {
    let mut nodes = RedisNodes::start(3).await;
    create_three_locks(&nodes).await;
    let shell = Shell::new(&nodes);
    nodes.0[1].kill().await;
    let listed = shell.run("list", &NO_ARGUMENTS).await;
    assert_eq!(
        listed.status, 0,
        "every quorum includes at least one of two nodes: {listed:?}"
    );
    assert_eq!(listed_keys(&listed.stdout).len(), 3);
    assert!(listed.stderr.contains("2 of 3 nodes scanned"), "{listed:?}");
    assert!(
        listed.stderr.contains("b (127.0.0.1:") && listed.stderr.contains("connection refused"),
        "{listed:?}"
    );

    nodes.0[2].kill().await;
    let listed = shell.run("list", &NO_ARGUMENTS).await;
    assert_eq!(listed.status, 1, "{listed:?}");
    assert!(listed.stderr.contains("may be missing"), "{listed:?}");
    let json = shell.run_line("list --json").await;
    assert_eq!((json.status, &json.json()["complete"]), (1, &false.into()));

    nodes.0[0].kill().await;
    let listed = shell.run("list", &NO_ARGUMENTS).await;
    assert_eq!(
        (listed.status, listed.stdout.as_str()),
        (1, ""),
        "{listed:?}"
    );
    assert!(listed.stderr.contains("0 of 3 nodes scanned"), "{listed:?}");
    let json = shell.run_line("list --json").await;
    assert_eq!((json.status, &json.json()["nodes_reached"]), (1, &0.into()));
}

#[tokio::test]
async fn a_node_that_hangs_or_rejects_scan_is_reported_and_waited_for_no_longer_than_the_timeout() {
    let nodes = RedisNodes(vec![
        RedisNode::start().await,
        RedisNode::start().await,
        RedisNode::start_with(&["--rename-command", "SCAN", ""]).await,
    ]);
    create_three_locks(&nodes).await;
    let shell = Shell::new(&nodes);
    let listed = shell.run_line("list --timeout 2s").await;
    assert_eq!(listed.status, 0, "{listed:?}");
    assert_eq!(listed_keys(&listed.stdout).len(), 3);
    assert!(
        listed.stderr.contains("2 of 3 nodes scanned") && listed.stderr.contains("c (127.0.0.1:"),
        "{listed:?}"
    );
    nodes.0[0].pause().await;
    let listed = shell.run_line("list --timeout 3s").await;
    nodes.0[0].resume().await;
    assert_eq!(listed.status, 1, "{listed:?}");
    assert!(listed.stderr.contains("no reply within"), "{listed:?}");
}

#[tokio::test]
async fn tens_of_thousands_of_locks_are_listed_completely() {
    let nodes = RedisNodes::start(1).await;
    create_locks(&nodes, 20_000).await;
    let shell = Shell::new(&nodes);
    let listed = shell.run_line("list --sort key").await;
    assert_eq!(
        (listed.status, listed.stdout.lines().count()),
        (0, 20_001),
        "{}",
        listed.stderr
    );
}

#[tokio::test]
async fn a_closed_output_pipe_is_not_an_error() {
    let nodes = RedisNodes::start(1).await;
    create_locks(&nodes, 5_000).await;
    let shell = Shell::new(&nodes);
    let mut list = shell.command("list", &NO_ARGUMENTS).spawn().unwrap();
    drop(list.stdout.take());
    let output = super::wait_for_output(list).await;
    assert_eq!(output.status, 0, "{output:?}");
    assert!(!output.stderr.contains("panic"), "{output:?}");
}

#[tokio::test]
async fn locks_are_grouped_by_prefix_owner_or_group() {
    let nodes = RedisNodes::start(1).await;
    let hostile = "lock:\u{1b}[2J\n\u{202e}evil:";
    for (key, owner, lease) in [
        ("lock:invoice:1", "web-1", Some(600_000)),
        ("lock:invoice:2", "web-2", Some(600_000)),
        ("lock:payout:1", "web-2", None),
        (&format!("{hostile}7"), "web-3", Some(600_000)),
    ] {
        let token = token(owner);
        nodes.set(0, key.as_bytes(), token.as_bytes(), lease).await;
    }
    let shell = Shell::new(&nodes);
    let rows = async |by: &str| {
        let listed = shell.run("list", &["--by", by, "--sort", "key"]).await;
        assert_eq!(listed.status, 0, "{listed:?}");
        assert!(is_harmless(&listed.stdout), "{:?}", listed.stdout);
        let row = |line: &str| {
            let cells = line.split("  ").map(str::trim);
            let arguments: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
            (
                arguments[0].to_owned(),
                arguments[1].to_owned(),
                arguments[2].to_owned(),
            )
        };
        let rows: Vec<_> = listed.stdout.lines().map(row).collect();
        assert_eq!(rows[0].0, by.to_uppercase());
        rows[1..].to_vec()
    };
    let row = |name: &str, locks: &str, attention: &str| {
        (name.to_owned(), locks.to_owned(), attention.to_owned())
    };
    assert_eq!(
        rows("prefix").await,
        [
            row("lock:\\u{1b}[2J\\n\\u{202e}evil:", "1", "-"),
            row("lock:invoice:", "2", "-"),
            row("lock:payout:", "1", "1"),
        ]
    );
    assert_eq!(
        rows("owner").await,
        [
            row("web-3", "1", "-"),
            row("web-1", "1", "-"),
            row("web-2", "2", "1")
        ]
    );
    assert_eq!(rows("group").await, [row("default", "4", "1")]);
    let json = shell.run_line("list --by prefix --json").await;
    let buckets = &json.json()["buckets"];
    assert_eq!(
        (&buckets["group_by"], &buckets["total"]),
        (&"prefix".into(), &3.into())
    );

    let long = "prefix".repeat(2_000);
    for word in [
        "colour",
        "",
        "prefix\n{\"code\":\"forged\"}",
        "\u{1b}[2Jprefix\u{7}",
        &long,
    ] {
        let rejected = shell.run("list", &["--by", word]).await;
        assert_eq!(
            (rejected.status, rejected.stdout.as_str()),
            (2, ""),
            "{rejected:?}"
        );
        assert!(
            rejected.stderr.contains("prefix, owner, group"),
            "{rejected:?}"
        );
        assert!(is_harmless(&rejected.stderr), "{rejected:?}");
    }
}

#[tokio::test]
async fn a_bucket_is_as_old_as_its_oldest_lock_with_a_known_age() {
    let nodes = RedisNodes::start(1).await;
    nodes
        .set(0, b"lock:invoice:1", token("web-1").as_bytes(), None)
        .await;
    let claim = b"ADDED:2026-01-01T00:00:00.000Z@web-2:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05";
    nodes.set(0, b"lock:report:1", claim, None).await;
    let arguments = ["--by", "prefix", "--sort", "key"];
    let listed = Shell::new(&nodes).run("list", &arguments).await;
    let oldest = |name: &str| {
        let line = listed.stdout.lines().find(|line| line.starts_with(name));
        let mut cells = line.unwrap().split("  ").filter(|cell| !cell.is_empty());
        cells.nth(3).unwrap().trim().to_owned()
    };
    assert_eq!(oldest("lock:invoice:"), "-", "{}", listed.stdout);
    let output = oldest("lock:report:");
    assert!(output.starts_with(|c: char| c.is_ascii_digit()), "{output}");
}
