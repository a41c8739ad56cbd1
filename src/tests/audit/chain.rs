//! The chain: whatever is done to the file afterwards is found, and a full file makes room without breaking it.

use std::path::{Path, PathBuf};

use lockkeeper::server::audit::{Verified, verify};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AuditConfig, Config};

use super::{acquire, acts, lines};
use crate::api::group;
use crate::cli::{Shell, end_of};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// An audit of a few acts that is no longer written, in a folder of its own.
async fn written() -> (tempfile::TempDir, PathBuf, Vec<String>) {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let config = Config {
        audit: AuditConfig::to(file.clone()),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    for n in 0..4 {
        acquire(&console.person(), format!("lock:{n}").as_bytes()).await;
    }
    console.stop().await;
    let text = std::fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(str::to_owned).collect();
    (folder, file, lines)
}

fn verified(file: &Path, lines: &[String]) -> Verified {
    std::fs::write(file, lines.join("\n") + "\n").unwrap();
    verify(file.to_owned(), None).unwrap()
}

fn findings(verified: &Verified) -> Vec<(u64, &str)> {
    let short = |what: &'_ str| what.len().min(20);
    let findings = verified.findings.iter();
    findings
        .map(|finding| (finding.line, &finding.what[..short(&finding.what)]))
        .collect()
}

#[tokio::test]
async fn a_line_that_was_changed_removed_swapped_or_put_in_is_found() {
    let (_folder, file, lines) = written().await;
    assert_eq!(lines.len(), 8);
    let whole = verified(&file, &lines);
    assert!(whole.is_whole(), "{whole:?}");
    assert_eq!(
        (whole.lines, whole.first, whole.last),
        (8, Some(1), Some(8))
    );

    let mut changed = lines.clone();
    changed[3] = changed[3].replace("local operator", "somebody else ");
    assert_eq!(
        findings(&verified(&file, &changed)),
        [(4, "its text was changed")]
    );

    let mut removed = lines.clone();
    removed.remove(3);
    assert_eq!(
        findings(&verified(&file, &removed)),
        [(4, "number 5 follows num")]
    );

    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    assert_eq!(findings(&verified(&file, &swapped)).len(), 3);

    let mut twice = lines.clone();
    twice.insert(5, lines[4].clone());
    assert_eq!(findings(&verified(&file, &twice)).len(), 1);

    let mut foreign = lines.clone();
    foreign.insert(5, "{\"act\":\"nothing\"}".to_owned());
    assert_eq!(findings(&verified(&file, &foreign)).len(), 1);

    // The first ones may have been thrown away with their file: that is not hidden, and no break of the chain.
    let younger = verified(&file, &lines[2..]);
    assert!(younger.is_whole() && younger.first == Some(3));
}

#[tokio::test]
async fn lines_that_were_cut_off_are_missed_by_who_noted_the_head() {
    let (_folder, file, lines) = written().await;
    let head = verified(&file, &lines).head.unwrap();
    assert!(verify(file.clone(), Some(&head)).unwrap().is_whole());
    let cut = verified(&file, &lines[..6]);
    assert!(cut.is_whole(), "nothing in it says that more was there");
    let cut = verify(file, Some(&head)).unwrap();
    assert_eq!((cut.is_whole(), cut.has_noted_head), (false, Some(false)));
}

#[tokio::test]
async fn the_page_says_which_lines_were_verified_and_when_they_are_not_as_they_were_written() {
    let (_folder, file, mut lines) = written().await;
    let page = async |file: &Path| {
        let nodes = RedisNodes::start(1).await;
        let config = Config {
            audit: AuditConfig::to(file.to_owned()),
            ..Config::of(vec![group("orders", &nodes)])
        };
        let console = TestConsole::start_as(config, Clock::real()).await;
        let person = console.person();
        let mut text = String::new();
        eventually_is("the chain was gone through", async || {
            text = person.get("/audit").await.text;
            !text.contains("is verifying")
        })
        .await;
        console.stop().await;
        text
    };
    let whole = page(&file).await;
    assert!(whole.contains("verified lines 1 to 8 at"), "{whole}");
    lines[2] = lines[2].replace("acquire", "release");
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let changed = page(&file).await;
    assert!(
        changed.contains("not as it was written: flaws found at"),
        "{changed}"
    );
}

#[tokio::test]
async fn the_command_says_it_to_people_scripts_and_shells() {
    let (_folder, file, mut lines) = written().await;
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let path = file.to_str().unwrap();
    let good = end_of(shell.bare(&["audit", "verify", path])).await;
    assert_eq!(good.status, 0, "{good:?}");
    assert_eq!(good.fact("audit"), "as it was written");
    lines[2] = lines[2].replace("acquire", "release");
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let bad = end_of(shell.bare(&["audit", "verify", path])).await;
    assert_eq!(bad.status, 1, "{bad:?}");
    assert!(
        bad.out.contains("audit.jsonl:3: its text was changed"),
        "{bad:?}"
    );
    let told = end_of(shell.bare(&["audit", "verify", path, "--json"])).await;
    assert_eq!(told.json()["findings"][0]["line"], 3);
    let nothing = end_of(shell.bare(&["audit", "verify", "no-such-file"])).await;
    assert_eq!(nothing.status, 2, "{nothing:?}");
}

#[tokio::test]
async fn a_full_file_makes_room_the_chain_goes_on_and_old_ones_are_thrown_away() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let config = Config {
        audit: AuditConfig {
            largest: 8_000,
            keep: 3,
            ..AuditConfig::to(file.clone())
        },
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let script = console.person();
    for n in 0..100 {
        acquire(&script, format!("lock:{n}").as_bytes()).await;
    }
    eventually_is("old files are thrown away", async || {
        verify(file.clone(), None).unwrap().files.len() == 4
    })
    .await;
    let verified = verify(file.clone(), None).unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    assert!(
        verified.first > Some(1) && verified.last == Some(200),
        "{verified:?}"
    );
    assert!(lines(&file).len() < 20);
    // A search goes through all of them, also from a place in the middle.
    let told = acts(&script, "?limit=1000").await;
    let older = acts(
        &script,
        &format!("?limit=1000&cursor={}", told[10]["number"]),
    )
    .await;
    assert_eq!(told[11..], older);
    assert!(told.len() > 20, "{}", told.len());
}
