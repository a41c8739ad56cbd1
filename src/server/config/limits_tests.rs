//! The `[limits]` table as people write it, with every mistake they make.

use super::*;
use crate::server::config::{Config, parse};

fn read(text: &str) -> Result<Config, String> {
    parse("lockkeeper.toml", text, &|_| None).map_err(|why| why.to_string())
}

#[test]
fn limits_are_read_and_what_is_absent_keeps_its_default() {
    let group = "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }]";
    assert_eq!(read(group).unwrap().limits, LimitsConfig::default());
    let limits = "requests = 100\nwaiting = 99\nrequests_per_second = 5\nread_timeout = \"5s\"";
    let config = read(&format!("[limits]\n{limits}\n{group}")).unwrap();
    let expected = LimitsConfig {
        requests: 100,
        waiting: 99,
        requests_per_second: Some(5),
        read_timeout: Duration::from_secs(5),
        ..LimitsConfig::default()
    };
    assert_eq!(config.limits, expected);
}

#[test]
fn every_mistake_in_the_limits_names_its_place() {
    for field in [
        "connections",
        "requests",
        "requests_per_second",
        "waiting",
        "waiting_per_client",
        "streams",
        "streams_per_client",
        "remembered_answers",
        "body_bytes",
        "header_bytes",
        "headers",
    ] {
        let column = field.len() + 4;
        for (value, says) in [
            ("0", "this must be ".to_owned()),
            ("-1", "invalid value: integer `-1`".to_owned()),
            ("1.5", "invalid type: floating point".to_owned()),
            ("\"many\"", "invalid type: string".to_owned()),
            ("4294967296", "invalid value: integer".to_owned()),
        ] {
            let why = read(&format!("[limits]\n{field} = {value}\n")).unwrap_err();
            let says = format!("lockkeeper.toml:2:{column}: {says}");
            let no_group = "lockkeeper.toml:1:1: there is no [[group]]";
            assert!(
                why.starts_with(&says) && why != no_group,
                "{field} = {value}: {why}"
            );
        }
    }
    for (limits, says) in [
        ("headers = 101", "2:11: this must be from 1 to 100"),
        ("header_bytes = 65537", "2:16: this must be from 1 to 65536"),
        (
            "body_bytes = 16777217",
            "2:14: this must be from 1 to 16777216",
        ),
        (
            "read_timeout = \"0s\"",
            "2:16: this span of time must be longer than nothing",
        ),
        ("read_timeout = 30", "2:16: invalid type: integer"),
        (
            "waiting = 4096",
            "1:1: `waiting` (4096) must be below `requests` (4096)",
        ),
        (
            "requests = 10",
            "1:1: `waiting` (2048) must be below `requests` (10)",
        ),
        ("colour = 1", "2:1: unknown field `colour`"),
        ("[limits.more]", "2:9: unknown field `more`"),
    ] {
        let why = read(&format!("[limits]\n{limits}\n")).unwrap_err();
        let says = format!("lockkeeper.toml:{says}");
        assert!(
            why.starts_with(&says),
            "{limits}\n  gave  {why}\n  not   {says}"
        );
    }
}
