//! The hash chain: tampering is detected, old entries are removed without breaking it, and files of
//! earlier versions are imported.

use std::path::Path;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};
use serde_json::json;

use super::{acquire, search_audit, write_config};
use crate::api::group_config;
use crate::cli::{Shell, output_of};
use crate::support::audit::{entries, tamper, verify_chain};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// Writes an audit log of four operations with a console that is then stopped.
async fn write_audit_log(nodes: &RedisNodes, file: &Path) {
    let config = Config {
        storage: StorageConfig::sqlite(file),
        ..Config::with_groups(vec![group_config("orders", nodes)])
    };
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    for n in 0..4 {
        acquire(&console.api(), format!("lock:{n}").as_bytes()).await;
    }
    console.stop().await;
    assert_eq!(entries(file).await.len(), 8);
}

#[tokio::test]
async fn a_modified_removed_moved_or_hidden_entry_is_detected() {
    for (problem, statement, seq) in [
        (
            "the text was modified",
            "UPDATE audit_entry SET line = replace(line, 'local operator', 'another person') WHERE seq = 4",
            4,
        ),
        (
            "number 5 follows number 3",
            "DELETE FROM audit_entry WHERE seq = 4",
            5,
        ),
        (
            "the search columns do not match the entry",
            "UPDATE audit_entry SET action = 'release' WHERE seq = 4",
            4,
        ),
        (
            "the search columns do not match the entry",
            "UPDATE audit_entry SET seq = 9 WHERE seq = 8",
            9,
        ),
    ] {
        let nodes = RedisNodes::start(1).await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lockkeeper.db");
        write_audit_log(&nodes, &file).await;
        let config = StorageConfig::sqlite(&file);
        let report = verify_chain(&config).await;
        assert!(report.is_intact(), "{report:?}");
        assert_eq!(
            (report.entries, report.first_seq, report.last_seq),
            (8, Some(1), Some(8))
        );
        tamper(&file, statement).await;
        let report = verify_chain(&config).await;
        let finding = &report.findings[0];
        assert!(
            finding.problem.to_string().contains(problem) && finding.line == seq,
            "{report:?}"
        );
    }
}

#[tokio::test]
async fn the_cli_verifies_searches_and_exports_and_the_page_reports_tampering() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    write_config(&shell.path("."), &nodes, "sqlite:lockkeeper.db");
    let file = shell.path("lockkeeper.db");
    let without_file = output_of(shell.bare_command(&["audit", "verify"])).await;
    assert_eq!(without_file.status, 2, "{without_file:?}");
    assert!(!file.exists(), "verify creates no file");
    write_audit_log(&nodes, &file).await;

    let verified = output_of(shell.bare_command(&["audit", "verify"])).await;
    assert_eq!(verified.status, 0, "{verified:?}");
    assert_eq!(verified.field("audit"), "intact");
    let head = verified.field("head").to_owned();
    let search = [
        "audit", "search", "--key", "lock:2", "--result", "done", "--json",
    ];
    let results = output_of(shell.bare_command(&search)).await.json();
    assert_eq!(results["entries"].as_array().unwrap().len(), 1);
    let listed = output_of(shell.bare_command(&["audit", "search", "--action", "acquire"])).await;
    assert!(listed.stdout.contains("4 operations"), "{listed:?}");
    let exported = output_of(shell.bare_command(&["audit", "export"])).await;
    assert_eq!(exported.stdout.lines().count(), 8);
    std::fs::write(shell.path("exported.jsonl"), &exported.stdout).unwrap();
    let verified = output_of(shell.bare_command(&["audit", "verify", "exported.jsonl"])).await;
    assert_eq!((verified.status, verified.field("head")), (0, &*head));

    // A truncated chain is intact by itself. Only a recorded head detects the truncation.
    tamper(&file, "DELETE FROM audit_entry WHERE seq > 6").await;
    assert_eq!(
        output_of(shell.bare_command(&["audit", "verify"]))
            .await
            .status,
        0
    );
    let truncated =
        output_of(shell.bare_command(&["audit", "verify", "--expect-head", &head])).await;
    assert_eq!(truncated.status, 1, "{truncated:?}");
    let statement = "UPDATE audit_entry SET actor = 'mallory' WHERE seq = 3";
    tamper(&file, statement).await;
    let modified = output_of(shell.bare_command(&["audit", "verify", "--json"])).await;
    assert_eq!(
        (modified.status, &modified.json()["findings"][0]["line"]),
        (1, &json!(3))
    );
    let config = Config {
        storage: StorageConfig::sqlite(&file),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let console = TestConsole::start_with_config(config, Clock::system()).await;
    let api = console.api();
    wait_until("the page reports the failed verification", async || {
        let page = api.get("/audit").await.text;
        page.contains("Hash chain verification failed: ")
    })
    .await;
}

#[tokio::test]
async fn files_of_an_earlier_version_are_imported_before_or_after_the_first_start() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    write_config(&shell.path("."), &nodes, "sqlite:lockkeeper.db");
    let file = shell.path("lockkeeper.db");
    write_audit_log(&nodes, &file).await;
    let lines = output_of(shell.bare_command(&["audit", "export"]))
        .await
        .stdout;
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
    let config = StorageConfig::sqlite(&file);

    // Into a storage that has entries already.
    let imported = output_of(shell.bare_command(&import)).await;
    assert_eq!(imported.status, 0, "{imported:?}");
    let report = verify_chain(&config).await;
    assert!(report.is_intact() && report.entries == 16, "{report:?}");
    let second_import = output_of(shell.bare_command(&import)).await;
    assert_eq!(second_import.status, 1, "{second_import:?}");

    // Into an empty storage: new entries continue the imported chain.
    std::fs::remove_file(&file).unwrap();
    let imported = output_of(shell.bare_command(&import)).await;
    assert_eq!(imported.status, 0, "{imported:?}");
    let acquire = ["acquire", "orders", "lock:next", "--ttl", "1m"];
    assert_eq!(output_of(shell.bare_command(&acquire)).await.status, 0);
    let report = verify_chain(&config).await;
    assert!(
        report.is_intact() && report.last_seq == Some(10),
        "{report:?}"
    );

    let modified = lines[..5]
        .join("\n")
        .replace("local operator", "another person");
    std::fs::write(shell.path("audit.jsonl.5"), modified + "\n").unwrap();
    std::fs::remove_file(&file).unwrap();
    let rejected = output_of(shell.bare_command(&import)).await;
    assert_eq!(rejected.status, 1, "{rejected:?}");
    assert_eq!(entries(&file).await.len(), 0);
}

#[tokio::test]
async fn old_entries_are_removed_and_the_remaining_chain_is_intact() {
    let nodes = RedisNodes::start(1).await;
    let directory = tempfile::tempdir().unwrap();
    let storage = StorageConfig {
        max_size: 20_000,
        ..StorageConfig::sqlite(directory.path().join("lockkeeper.db"))
    };
    let config = || Config {
        storage: storage.clone(),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let console = TestConsole::start_with_config(config(), Clock::system()).await;
    for n in 0..50 {
        acquire(&console.api(), format!("lock:{n}").as_bytes()).await;
    }
    console.stop().await;
    let console = TestConsole::start_with_config(config(), Clock::system()).await;
    wait_until("old entries are removed", async || {
        verify_chain(&storage).await.entries < 50
    })
    .await;
    let report = verify_chain(&storage).await;
    assert!(
        report.is_intact() && report.first_seq > Some(1) && report.last_seq == Some(100),
        "{report:?}"
    );
    let operations = search_audit(&console.api(), "?limit=1000").await;
    assert!((1..50).contains(&operations.len()), "{}", operations.len());
    console.stop().await;
    // A month later all but the last entry have expired. The chain continues from the last one.
    let storage = StorageConfig {
        max_size: 1 << 30,
        ..storage
    };
    let config = Config {
        storage: storage.clone(),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let later = Clock::system()
        .now()
        .plus(std::time::Duration::from_hours(31 * 24));
    let _console = TestConsole::start_with_config(config, Clock::manual(later)).await;
    wait_until("all but the last entry are removed", async || {
        verify_chain(&storage).await.entries == 1
    })
    .await;
    assert_eq!(verify_chain(&storage).await.last_seq, Some(100));
}
