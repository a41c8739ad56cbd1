//! Configuration files as people write them, with every mistake they make.

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
fn every_mistake_names_its_line_and_column() {
    let group = |rest: &str| format!("[[group]]\nname = \"g\"\n{rest}");
    let one = "node = [{ url = \"redis://h:1\" }]";
    for (text, says) in [
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
            "lockkeeper.toml:3:17: \"http://\" is not Redis",
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
            "lockkeeper.toml:5:2: the node \"a\" is there twice",
        ),
        (
            group("node = [\n { url = \"redis://h:1\" },\n { url = \"redis://h:1\" }]"),
            "lockkeeper.toml:5:2: h:1 is there twice in this group",
        ),
        (
            format!("{}\n{}", group(one), group(one)),
            "lockkeeper.toml:4:1: the group \"g\" is there twice",
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
            "lockkeeper.toml:3:8: this list is empty",
        ),
        (
            group(&format!("keys = [\"\"]\n{one}")),
            "lockkeeper.toml:3:9: an empty pattern",
        ),
        (
            group(&format!("command_timeout = \"soon\"\n{one}")),
            "lockkeeper.toml:3:19: this is not a span of time",
        ),
        (
            group(&format!("command_timeout = \"-1s\"\n{one}")),
            "lockkeeper.toml:3:19: this is not a span of time",
        ),
        (
            format!("[[group]]\nname = \"a/b\"\n{one}"),
            "lockkeeper.toml:2:8: a name has",
        ),
    ] {
        let why = read(&text).unwrap_err();
        assert!(
            why.starts_with(says),
            "{text}\n  gave  {why}\n  not   {says}"
        );
    }
}

#[test]
fn the_settings_of_locking_are_read_and_what_is_absent_keeps_its_default() {
    let config = read(
        r#"
[[group]]
name = "g"
longest_lease = "2h"
drift_percent = 2
drift_plus = "5ms"
node_share_percent = 10
fencing = false
fence_counter_ttl = "5m"
release_marker_ttl = "20s"
delayed_restart = true
longest_hold = "1 day"
most_extensions = 7
node = [{ url = "redis://h:1" }]
[[group]]
name = "h"
node = [{ url = "redis://h:1" }]
"#,
    )
    .unwrap();
    let locking = &config.groups[0].locking;
    assert_eq!(locking.longest_lease, Duration::from_hours(2));
    assert!((locking.drift.ratio - 0.02).abs() < 1e-9);
    assert_eq!(locking.drift.plus, Duration::from_millis(5));
    assert_eq!(locking.node_share_percent, 10);
    assert_eq!((locking.fencing, locking.delayed_restart), (false, true));
    assert_eq!(locking.fence_counter_ttl, Duration::from_mins(5));
    assert_eq!(locking.release_marker_ttl, Duration::from_secs(20));
    assert_eq!(locking.longest_hold, Duration::from_hours(24));
    assert_eq!(locking.most_extensions, 7);
    let usual = LockingConfig::new(GroupKind::Standalone);
    let other = &config.groups[1].locking;
    assert_eq!(format!("{other:?}"), format!("{usual:?}"));
    assert!(!other.delayed_restart && other.fencing);
}

#[test]
fn every_mistake_in_the_settings_of_locking_names_its_place() {
    for (setting, says) in [
        ("drift_percent = -0.1", "3:17: this must be from 0 to 50"),
        ("drift_percent = nan", "3:17: this must be from 0 to 50"),
        ("drift_plus = 2", "3:14: invalid type: integer"),
        (
            "drift_plus = \"0ms\"",
            "3:14: this span of time must be longer than nothing",
        ),
        ("node_share_percent = 0", "3:22: this must be from 1 to 50"),
        ("fencing = \"yes\"", "3:11: invalid type: string"),
        (
            "longest_lease = \"0s\"",
            "3:17: this span of time must be longer than nothing",
        ),
        ("scan_share_percent = 0", "3:22: this must be from 1 to 100"),
        (
            "fence_counter_ttl = \"1s\"",
            "3:21: this must be from 1m to 30days",
        ),
        (
            "release_marker_ttl = \"2h\"",
            "3:22: this must be from 10s to 1h",
        ),
        (
            "most_extensions = 5000000000",
            "3:19: invalid value: integer",
        ),
        ("drift = 1", "3:1: unknown field `drift`"),
    ] {
        let text =
            format!("[[group]]\nname = \"g\"\n{setting}\nnode = [{{ url = \"redis://h:1\" }}]");
        let why = read(&text).unwrap_err();
        let says = format!("lockkeeper.toml:{says}");
        assert!(
            why.starts_with(&says),
            "{setting}\n  gave  {why}\n  not   {says}"
        );
    }
}

#[test]
fn an_even_number_of_redlock_nodes_is_pointed_out_with_its_place() {
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
fn no_mistake_repeats_a_secret() {
    let why = read(
        "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://:${REDIS_PASSWORD}@h:notaport\" }]",
    )
    .unwrap_err();
    assert!(!why.contains("s3cret"), "{why}");
}
