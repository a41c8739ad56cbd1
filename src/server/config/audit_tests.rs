//! The `[audit]` table as it is written and read.

use super::*;
use crate::server::config::parse;

fn read_table(table: &str) -> Result<AuditConfig, String> {
    let text = format!(
        "[audit]\n{table}\n[[group]]\nname = \"g\"\nnode = [{{ url = \"redis://h:1\" }}]\n"
    );
    let read = parse("lockkeeper.toml", &text, &|_| None);
    read.map(|config| config.audit)
        .map_err(|why| why.to_string())
}

#[test]
fn what_is_not_written_keeps_its_default() {
    assert_eq!(read_table("").unwrap(), AuditConfig::default());
    let given = read_table("file = \"/x/a.jsonl\"\nlargest_mb = 1\nkeep = 2").unwrap();
    let expected = AuditConfig {
        file: Some("/x/a.jsonl".into()),
        largest: 1024 * 1024,
        keep: 2,
        ..AuditConfig::default()
    };
    assert_eq!(given, expected);
    assert_eq!(given.path(), Some("/x/a.jsonl".into()));
    assert_eq!(read_table("on = false").unwrap().path(), None);
}

#[test]
fn a_mistake_is_told_with_its_place() {
    for (table, error) in [
        ("keep = 0", "lockkeeper.toml:2:8: `keep` must be at least 1"),
        (
            "largest_mb = 0",
            "lockkeeper.toml:2:14: `largest_mb` must be from 1 to 10240",
        ),
        (
            "file = \"/x/\"",
            "lockkeeper.toml:2:8: `file` must name a file",
        ),
        ("path = \"x\"", "unknown field `path`"),
    ] {
        let why = read_table(table).unwrap_err();
        assert!(why.contains(error), "{table}: {why}");
    }
}

#[test]
fn the_command_line_works_without_an_audit_only_where_none_was_named() {
    assert!(AuditConfig::default().for_command_line().is_lenient);
    assert!(!AuditConfig::to("/x".into()).for_command_line().is_lenient);
}
