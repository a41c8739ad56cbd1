//! Valid configuration files, and the error of each mistake.

use std::time::Duration;

use super::super::{Config, LockingConfig, parse};
use crate::domain::{Environment, GroupKind};

fn read(text: &str) -> Result<Config, String> {
    let environment = |name: &str| (name == "REDIS_PASSWORD").then(|| "s3cret".to_owned());
    parse("lockkeeper.toml", text, &environment).map_err(|why| why.to_string())
}

#[test]
fn the_whole_file_is_read() {
    let config = read(
        r#"
listen = "127.0.0.1:9000"
[[group]]
name = "orders"
kind = "redlock"
environment = "production"
keys = ["lock:*", "redlock:*"]
command_timeout = "200ms"
node = [
  { name = "a", url = "redis://10.0.0.1:6379" },
  { name = "b", url = "rediss://user:${REDIS_PASSWORD}@10.0.0.2:6380/0" },
  { url = "redis://10.0.0.3:6379" },
]
"#,
    )
    .unwrap();
    let group = &config.groups[0];
    assert_eq!(config.listen.port(), 9000);
    assert_eq!(
        (group.kind, group.environment),
        (GroupKind::Redlock, Environment::Production)
    );
    assert_eq!(group.command_timeout, Duration::from_millis(200));
    assert_eq!(group.nodes[1].url.address(), "10.0.0.2:6380");
    assert_eq!(group.nodes[2].name, "c");
    assert!(group.keys_are_explicit);
}

#[test]
fn every_error_has_its_line_and_column() {
    let group = |rest: &str| format!("[[group]]\nname = \"g\"\n{rest}");
    let one = "node = [{ url = \"redis://h:1\" }]";
    for (text, expected) in [
        (
            "listen = 5".to_owned(),
            "lockkeeper.toml:1:10: invalid type",
        ),
        (
            "listen = \"here\"".to_owned(),
            "lockkeeper.toml:1:10: `listen` must be an address",
        ),
        (
            "colour = 1".to_owned(),
            "lockkeeper.toml:1:1: unknown field `colour`",
        ),
        ("listen = ".to_owned(), "lockkeeper.toml:1:"),
        (String::new(), "lockkeeper.toml:1:1: there is no [[group]]"),
        (
            group("nodes = []"),
            "lockkeeper.toml:3:1: unknown field `nodes`",
        ),
        (
            group("kind = \"ring\"\nnode = []"),
            "lockkeeper.toml:3:8: unknown variant `ring`",
        ),
        (
            group("node = []"),
            "lockkeeper.toml:3:8: the group has no node",
        ),
        (
            group("node = [{ url = \"http://h:1\" }]"),
            "lockkeeper.toml:3:17: \"http://\" is not a Redis scheme",
        ),
        (
            group("node = [{ url = \"redis://${NOPE}@h\" }]"),
            "lockkeeper.toml:3:17: the environment variable NOPE is not set",
        ),
        (
            group("node = [{ url = \"redis://${NOPE\" }]"),
            "lockkeeper.toml:3:17: `${` is not closed",
        ),
        (
            group("node = [{ url = \"redis://h\", password_file = \"/nope\" }]"),
            "lockkeeper.toml:3:9: the password file",
        ),
        (
            group(
                "node = [\n { name = \"a\", url = \"redis://h:1\" },\n { name = \"a\", url = \"redis://h:2\" }]",
            ),
            "lockkeeper.toml:5:2: duplicate node \"a\"",
        ),
        (
            group("node = [\n { url = \"redis://h:1\" },\n { url = \"redis://h:1\" }]"),
            "lockkeeper.toml:5:2: duplicate address h:1",
        ),
        (
            format!("{}\n{}", group(one), group(one)),
            "lockkeeper.toml:4:1: duplicate group \"g\"",
        ),
        (
            group(&format!(
                "kind = \"standalone\"\n{}",
                one.replace(']', ", { url = \"redis://h:2\" }]")
            )),
            "lockkeeper.toml:3:8: a standalone group",
        ),
        (
            group(&format!("keys = []\n{one}")),
            "lockkeeper.toml:3:8: the list is empty",
        ),
        (
            group(&format!("keys = [\"\"]\n{one}")),
            "lockkeeper.toml:3:9: an empty pattern",
        ),
        (
            group(&format!("command_timeout = \"soon\"\n{one}")),
            "lockkeeper.toml:3:19: invalid duration",
        ),
        (
            group(&format!("command_timeout = \"-1s\"\n{one}")),
            "lockkeeper.toml:3:19: invalid duration",
        ),
        (
            format!("[[group]]\nname = \"a/b\"\n{one}"),
            "lockkeeper.toml:2:8: invalid name",
        ),
    ] {
        let why = read(&text).unwrap_err();
        assert!(
            why.starts_with(expected),
            "{text}\n  gave  {why}\n  not   {expected}"
        );
    }
}

#[test]
fn locking_settings_are_read_and_absent_ones_keep_their_defaults() {
    let config = read(
        r#"
[[group]]
name = "g"
max_lease = "2h"
clock_drift_percent = 2
clock_drift_constant = "5ms"
node_timeout_percent = 10
fencing = false
fence_counter_ttl = "5m"
release_marker_ttl = "20s"
delayed_restart = true
max_hold = "1 day"
max_renewals = 7
node = [{ url = "redis://h:1" }]
[[group]]
name = "h"
node = [{ url = "redis://h:1" }]
"#,
    )
    .unwrap();
    let locking = &config.groups[0].locking;
    assert_eq!(locking.max_lease, Duration::from_hours(2));
    assert!((locking.drift.factor - 0.02).abs() < 1e-9);
    assert_eq!(locking.drift.constant, Duration::from_millis(5));
    assert_eq!(locking.node_timeout_percent, 10);
    assert_eq!((locking.fencing, locking.delayed_restart), (false, true));
    assert_eq!(locking.fence_counter_ttl, Duration::from_mins(5));
    assert_eq!(locking.release_marker_ttl, Duration::from_secs(20));
    assert_eq!(locking.max_hold, Duration::from_hours(24));
    assert_eq!(locking.max_renewals, 7);
    let defaults = LockingConfig::new(GroupKind::Standalone);
    let other = &config.groups[1].locking;
    assert_eq!(format!("{other:?}"), format!("{defaults:?}"));
    assert!(!other.delayed_restart && other.fencing);
}

#[test]
fn every_error_in_locking_settings_has_its_position() {
    for (setting, expected) in [
        (
            "clock_drift_percent = -0.1",
            "3:23: the value must be from 0 to 50",
        ),
        (
            "clock_drift_percent = nan",
            "3:23: the value must be from 0 to 50",
        ),
        ("clock_drift_constant = 2", "3:24: invalid type: integer"),
        (
            "clock_drift_constant = \"0ms\"",
            "3:24: the duration must be greater than zero",
        ),
        (
            "node_timeout_percent = 0",
            "3:24: the value must be from 1 to 50",
        ),
        ("fencing = \"yes\"", "3:11: invalid type: string"),
        (
            "max_lease = \"0s\"",
            "3:13: the duration must be greater than zero",
        ),
        (
            "scan_budget_percent = 0",
            "3:23: the value must be from 1 to 100",
        ),
        (
            "fence_counter_ttl = \"1s\"",
            "3:21: the value must be from 1m to 30days",
        ),
        (
            "release_marker_ttl = \"2h\"",
            "3:22: the value must be from 10s to 1h",
        ),
        ("max_renewals = 5000000000", "3:16: invalid value: integer"),
        ("drift = 1", "3:1: unknown field `drift`"),
    ] {
        let text =
            format!("[[group]]\nname = \"g\"\n{setting}\nnode = [{{ url = \"redis://h:1\" }}]");
        let why = read(&text).unwrap_err();
        let expected = format!("lockkeeper.toml:{expected}");
        assert!(
            why.starts_with(&expected),
            "{setting}\n  gave  {why}\n  not   {expected}"
        );
    }
}

#[test]
fn an_even_number_of_redlock_nodes_leads_to_a_warning_with_its_position() {
    let config = read(
        "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }, { url = \"redis://h:2\" }]",
    )
    .unwrap();
    assert!(
        config.warnings[0].starts_with("lockkeeper.toml:3:8: group \"g\" has 2 Redlock nodes"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn no_error_contains_a_secret() {
    let why = read(
        "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://:${REDIS_PASSWORD}@h:notaport\" }]",
    )
    .unwrap_err();
    assert!(!why.contains("s3cret"), "{why}");
}
