//! The chain: whatever is done to entries afterwards is found; old entries go without breaking it; old files are imported.

use std::path::Path;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};
use serde_json::json;

use super::{acquire, acts, configure};
use crate::api::group;
use crate::cli::{Shell, end_of};
use crate::support::audit::{entries, tamper, verified};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// An audit of four operations that is no longer written.
async fn written(nodes: &RedisNodes, file: &Path) {
    let config = Config {
        storage: StorageConfig::file(file),
        ..Config::of(vec![group("orders", nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    for n in 0..4 {
        acquire(&console.person(), format!("lock:{n}").as_bytes()).await;
    }
    console.stop().await;
    assert_eq!(entries(file).await.len(), 8);
}

#[tokio::test]
async fn an_entry_that_was_changed_removed_moved_or_hidden_is_found() {
    for (what, statement, number) in [
        (
            "its text was changed",
            "UPDATE audit_entry SET line = replace(line, 'local operator', 'somebody else ') WHERE number = 4",
            4,
        ),
        (
            "number 5 follows number 3",
            "DELETE FROM audit_entry WHERE number = 4",
            5,
        ),
        (
            "do not say what the entry says",
            "UPDATE audit_entry SET operation = 'release' WHERE number = 4",
            4,
        ),
        (
            "do not say what the entry says",
            "UPDATE audit_entry SET number = 9 WHERE number = 8",
            9,
        ),
    ] {
        let nodes = RedisNodes::start(1).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lockkeeper.db");
        written(&nodes, &file).await;
        let config = StorageConfig::file(&file);
        let whole = verified(&config).await;
        assert!(whole.is_whole(), "{whole:?}");
        assert_eq!(
            (whole.lines, whole.first, whole.last),
            (8, Some(1), Some(8))
        );
        tamper(&file, statement).await;
        let found = verified(&config).await;
        let finding = &found.findings[0];
        assert!(
            finding.what.contains(what) && finding.line == number,
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn the_commands_verify_search_and_export_and_the_page_says_what_is_wrong() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    configure(&shell.path("."), &nodes, "sqlite:lockkeeper.db");
    let file = shell.path("lockkeeper.db");
    let nothing = end_of(shell.bare(&["audit", "verify"])).await;
    assert_eq!(nothing.status, 2, "{nothing:?}");
    assert!(!file.exists(), "looking creates nothing");
    written(&nodes, &file).await;

    let good = end_of(shell.bare(&["audit", "verify"])).await;
    assert_eq!(good.status, 0, "{good:?}");
    assert_eq!(good.fact("audit"), "as it was written");
    let head = good.fact("head").to_owned();
    let search = [
        "audit", "search", "--key", "lock:2", "--end", "done", "--json",
    ];
    let found = end_of(shell.bare(&search)).await.json();
    assert_eq!(found["acts"].as_array().unwrap().len(), 1);
    let listed = end_of(shell.bare(&["audit", "search", "--act", "acquire"])).await;
    assert!(listed.out.contains("4 operations"), "{listed:?}");
    let exported = end_of(shell.bare(&["audit", "export"])).await;
    assert_eq!(exported.out.lines().count(), 8);
    std::fs::write(shell.path("exported.jsonl"), &exported.out).unwrap();
    let good = end_of(shell.bare(&["audit", "verify", "exported.jsonl"])).await;
    assert_eq!((good.status, good.fact("head")), (0, &*head));

    // Cut off at the end: only who noted the head finds it.
    tamper(&file, "DELETE FROM audit_entry WHERE number > 6").await;
    assert_eq!(end_of(shell.bare(&["audit", "verify"])).await.status, 0);
    let cut = end_of(shell.bare(&["audit", "verify", "--head", &head])).await;
    assert_eq!(cut.status, 1, "{cut:?}");
    let hidden = "UPDATE audit_entry SET principal = 'nobody' WHERE number = 3";
    tamper(&file, hidden).await;
    let told = end_of(shell.bare(&["audit", "verify", "--json"])).await;
    assert_eq!(
        (told.status, &told.json()["findings"][0]["line"]),
        (1, &json!(3))
    );
    let config = Config {
        storage: StorageConfig::file(&file),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let person = console.person();
    eventually_is("the page says it", async || {
        let page = person.get("/audit").await.text;
        page.contains("not as it was written: flaws found at")
    })
    .await;
}

#[tokio::test]
async fn files_of_an_earlier_version_are_imported_before_or_after_the_first_start() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    configure(&shell.path("."), &nodes, "sqlite:lockkeeper.db");
    let file = shell.path("lockkeeper.db");
    written(&nodes, &file).await;
    let lines = end_of(shell.bare(&["audit", "export"])).await.out;
    let lines: Vec<&str> = lines.lines().collect();
    std::fs::write(shell.path("audit.jsonl"), lines[5..].join("\n") + "\n").unwrap();
    std::fs::write(shell.path("audit.jsonl.5"), lines[..5].join("\n") + "\n").unwrap();
    std::fs::write(shell.path("audit.jsonl.lock"), "").unwrap();
    let import = [
        "audit",
        "import",
        "audit.jsonl",
        "audit.jsonl.5",
        "audit.jsonl.lock",
    ];
    let config = StorageConfig::file(&file);

    // Beside what was written since.
    let imported = end_of(shell.bare(&import)).await;
    assert_eq!(imported.status, 0, "{imported:?}");
    let both = verified(&config).await;
    assert!(both.is_whole() && both.lines == 16, "{both:?}");
    let again = end_of(shell.bare(&import)).await;
    assert_eq!(again.status, 1, "{again:?}");

    // Into nothing: the chain goes on from there.
    std::fs::remove_file(&file).unwrap();
    let imported = end_of(shell.bare(&import)).await;
    assert_eq!(imported.status, 0, "{imported:?}");
    let words = ["acquire", "orders", "lock:next", "--ttl", "1m"];
    assert_eq!(end_of(shell.bare(&words)).await.status, 0);
    let whole = verified(&config).await;
    assert!(whole.is_whole() && whole.last == Some(10), "{whole:?}");

    let changed = lines[..5]
        .join("\n")
        .replace("local operator", "somebody else ");
    std::fs::write(shell.path("audit.jsonl.5"), changed + "\n").unwrap();
    std::fs::remove_file(&file).unwrap();
    let refused = end_of(shell.bare(&import)).await;
    assert_eq!(refused.status, 1, "{refused:?}");
    assert_eq!(entries(&file).await.len(), 0);
}

#[tokio::test]
async fn old_entries_are_removed_and_what_is_left_verifies() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let storage = StorageConfig {
        max_size: 20_000,
        ..StorageConfig::file(folder.path().join("lockkeeper.db"))
    };
    let config = || Config {
        storage: storage.clone(),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config(), Clock::real()).await;
    for n in 0..50 {
        acquire(&console.person(), format!("lock:{n}").as_bytes()).await;
    }
    console.stop().await;
    let console = TestConsole::start_as(config(), Clock::real()).await;
    eventually_is("old ones are removed", async || {
        verified(&storage).await.lines < 50
    })
    .await;
    let left = verified(&storage).await;
    assert!(
        left.is_whole() && left.first > Some(1) && left.last == Some(100),
        "{left:?}"
    );
    let told = acts(&console.person(), "?limit=1000").await;
    assert!((1..50).contains(&told.len()), "{}", told.len());
    console.stop().await;
    // A month later the last one is left, from which the chain goes on.
    let storage = StorageConfig {
        max_size: 1 << 30,
        ..storage
    };
    let config = Config {
        storage: storage.clone(),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let later = Clock::real()
        .now()
        .plus(std::time::Duration::from_hours(31 * 24));
    let _console = TestConsole::start_as(config, Clock::by_hand(later)).await;
    eventually_is("all are removed", async || {
        verified(&storage).await.lines == 1
    })
    .await;
    assert_eq!(verified(&storage).await.last, Some(100));
}
