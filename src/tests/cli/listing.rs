//! The list: what is there, what was asked for, and what could not be seen.

use super::Shell;
use super::hostile::is_harmless;
use crate::support::redis_nodes::{RedisNode, RedisNodes};

const NOTHING: [&str; 0] = [];

/// A token that names its owner, as lockkeeper makes them.
fn token(label: &str) -> String {
    format!("lockkeeper:{label}:9f86d081884c7d659a2feaa0c55ad015")
}

async fn three_locks(nodes: &RedisNodes) {
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

async fn many_locks(nodes: &RedisNodes, count: usize) {
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

fn names(out: &str) -> Vec<&str> {
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
async fn the_worst_comes_first_and_every_column_lines_up() {
    let nodes = RedisNodes::start(3).await;
    three_locks(&nodes).await;
    let shell = Shell::on(&nodes);
    let listed = shell.type_in("list", &NOTHING).await;
    assert_eq!(listed.status, 0, "{listed:?}");
    assert_eq!(
        names(&listed.out),
        ["lock:split", "lock:stuck", "lock:long"]
    );
    let starts: Vec<Option<usize>> = listed
        .out
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
    assert!(!listed.out.contains('\x1b'), "no colours but on a terminal");
    assert!(
        listed
            .err
            .starts_with("3 locks\ndefault: 3 of 3 nodes gone over, 9 of 12 keys match"),
        "{listed:?}"
    );
    assert!(listed.err.ends_with(" more patterns\n"), "{listed:?}");
    let missed = shell.type_in("list", &["--q", "none of them"]).await;
    assert!(!missed.err.contains("more patterns"), "{missed:?}");
}

#[tokio::test]
async fn it_is_narrowed_sorted_and_cut_like_the_api() {
    let nodes = RedisNodes::start(3).await;
    three_locks(&nodes).await;
    let shell = Shell::on(&nodes);
    for (words, expected) in [
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
        let listed = shell.type_in("list", words).await;
        assert_eq!(names(&listed.out), expected, "{words:?}: {listed:?}");
        assert_eq!(listed.status, 0, "{listed:?}");
    }
    let one = shell.types("list --limit 1").await;
    assert!(one.err.starts_with("1 of 3 locks\n"), "{one:?}");
    let unknown = shell.types("list --group orders").await;
    assert_eq!((unknown.status, unknown.out.as_str()), (2, ""));
}

#[tokio::test]
async fn an_outage_is_never_an_empty_list() {
    let mut nodes = RedisNodes::start(3).await;
    three_locks(&nodes).await;
    let shell = Shell::on(&nodes);
    nodes.0[1].kill().await;
    let listed = shell.type_in("list", &NOTHING).await;
    assert_eq!(
        listed.status, 0,
        "two of three nodes have a part in every quorum: {listed:?}"
    );
    assert_eq!(names(&listed.out).len(), 3);
    assert!(listed.err.contains("2 of 3 nodes gone over"), "{listed:?}");
    assert!(
        listed.err.contains("b (127.0.0.1:") && listed.err.contains("connection refused"),
        "{listed:?}"
    );

    nodes.0[2].kill().await;
    let listed = shell.type_in("list", &NOTHING).await;
    assert_eq!(listed.status, 1, "{listed:?}");
    assert!(listed.err.contains("may be missing"), "{listed:?}");
    let json = shell.types("list --json").await;
    assert_eq!((json.status, &json.json()["complete"]), (1, &false.into()));

    nodes.0[0].kill().await;
    let listed = shell.type_in("list", &NOTHING).await;
    assert_eq!((listed.status, listed.out.as_str()), (1, ""), "{listed:?}");
    assert!(listed.err.contains("0 of 3 nodes gone over"), "{listed:?}");
    let json = shell.types("list --json").await;
    assert_eq!((json.status, &json.json()["nodes_reached"]), (1, &0.into()));
}

#[tokio::test]
async fn a_node_that_hangs_or_may_not_be_scanned_is_named_and_not_waited_for_beyond_the_limit() {
    let nodes = RedisNodes(vec![
        RedisNode::start().await,
        RedisNode::start().await,
        RedisNode::start_with(&["--rename-command", "SCAN", ""]).await,
    ]);
    three_locks(&nodes).await;
    let shell = Shell::on(&nodes);
    let listed = shell.types("list --timeout 2s").await;
    assert_eq!(listed.status, 0, "{listed:?}");
    assert_eq!(names(&listed.out).len(), 3);
    assert!(
        listed.err.contains("2 of 3 nodes gone over") && listed.err.contains("c (127.0.0.1:"),
        "{listed:?}"
    );
    nodes.0[0].stop().await;
    let listed = shell.types("list --timeout 3s").await;
    nodes.0[0].go_on().await;
    assert_eq!(listed.status, 1, "{listed:?}");
    assert!(listed.err.contains("no answer within"), "{listed:?}");
}

#[tokio::test]
async fn tens_of_thousands_of_locks_are_listed_whole() {
    let nodes = RedisNodes::start(1).await;
    many_locks(&nodes, 20_000).await;
    let shell = Shell::on(&nodes);
    let listed = shell.types("list --sort key").await;
    assert_eq!(
        (listed.status, listed.out.lines().count()),
        (0, 20_001),
        "{}",
        listed.err
    );
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    let nodes = RedisNodes::start(1).await;
    many_locks(&nodes, 5_000).await;
    let shell = Shell::on(&nodes);
    let mut list = shell.command("list", &NOTHING).spawn().unwrap();
    drop(list.stdout.take());
    let ended = super::ended(list).await;
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(!ended.err.contains("panic"), "{ended:?}");
}

#[tokio::test]
async fn many_locks_are_one_line_for_each_prefix_owner_or_group() {
    let nodes = RedisNodes::start(1).await;
    let evil = "lock:\u{1b}[2J\n\u{202e}evil:";
    for (key, owner, lease) in [
        ("lock:invoice:1", "web-1", Some(600_000)),
        ("lock:invoice:2", "web-2", Some(600_000)),
        ("lock:payout:1", "web-2", None),
        (&format!("{evil}7"), "web-3", Some(600_000)),
    ] {
        let token = token(owner);
        nodes.set(0, key.as_bytes(), token.as_bytes(), lease).await;
    }
    let shell = Shell::on(&nodes);
    let rows = async |by: &str| {
        let listed = shell.type_in("list", &["--by", by, "--sort", "key"]).await;
        assert_eq!(listed.status, 0, "{listed:?}");
        assert!(is_harmless(&listed.out), "{:?}", listed.out);
        let row = |line: &str| {
            let cells = line.split("  ").map(str::trim);
            let words: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
            (
                words[0].to_owned(),
                words[1].to_owned(),
                words[2].to_owned(),
            )
        };
        let rows: Vec<_> = listed.out.lines().map(row).collect();
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
            row("web-3 (console)", "1", "-"),
            row("web-1 (console)", "1", "-"),
            row("web-2 (console)", "2", "1")
        ]
    );
    assert_eq!(rows("group").await, [row("default", "4", "1")]);
    let json = shell.types("list --by prefix --json").await;
    let bundles = &json.json()["bundles"];
    assert_eq!(
        (&bundles["by"], &bundles["total"]),
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
        let refused = shell.type_in("list", &["--by", word]).await;
        assert_eq!(
            (refused.status, refused.out.as_str()),
            (2, ""),
            "{refused:?}"
        );
        assert!(refused.err.contains("prefix, owner, group"), "{refused:?}");
        assert!(is_harmless(&refused.err), "{refused:?}");
    }
}

#[tokio::test]
async fn a_bundle_is_as_old_as_a_lock_of_it_says_and_its_age_is_unknown_where_none_does() {
    let nodes = RedisNodes::start(1).await;
    nodes
        .set(0, b"lock:invoice:1", token("web-1").as_bytes(), None)
        .await;
    let claim = b"ADDED:2026-01-01T00:00:00.000Z@web-2:3f0c51c0-6a37-4ae6-9d0e-0f5c4a3cfe05";
    nodes.set(0, b"lock:report:1", claim, None).await;
    let words = ["--by", "prefix", "--sort", "key"];
    let listed = Shell::on(&nodes).type_in("list", &words).await;
    let oldest = |name: &str| {
        let line = listed.out.lines().find(|line| line.starts_with(name));
        let mut cells = line.unwrap().split("  ").filter(|cell| !cell.is_empty());
        cells.nth(3).unwrap().trim().to_owned()
    };
    assert_eq!(oldest("lock:invoice:"), "-", "{}", listed.out);
    let told = oldest("lock:report:");
    assert!(told.starts_with(|c: char| c.is_ascii_digit()), "{told}");
}
