//! Valid `[limits]` tables, and the error of each mistake.

use super::*;
use crate::server::config::{Config, parse};

fn read(text: &str) -> Result<Config, String> {
    parse("lockkeeper.toml", text, &|_| None).map_err(|why| why.to_string())
}

#[test]
fn limits_are_read_and_absent_ones_keep_their_defaults() {
    let group = "[[group]]\nname = \"g\"\nnode = [{ url = \"redis://h:1\" }]";
    assert_eq!(read(group).unwrap().limits, LimitsConfig::default());
    let limits = "max_requests = 100\nmax_queued_acquires = 99\nmax_requests_per_second = 5\nread_timeout = \"5s\"";
    let config = read(&format!("[limits]\n{limits}\n{group}")).unwrap();
    let expected = LimitsConfig {
        max_requests: 100,
        max_queued_acquires: 99,
        max_requests_per_second: Some(5),
        read_timeout: Duration::from_secs(5),
        ..LimitsConfig::default()
    };
    assert_eq!(config.limits, expected);
}

#[test]
fn every_error_in_the_limits_has_its_position() {
    for field in [
        "max_connections",
        "max_requests",
        "max_requests_per_second",
        "max_queued_acquires",
        "max_queued_acquires_per_client",
        "max_streams",
        "max_streams_per_client",
        "idempotency_cache_size",
        "max_body_bytes",
        "max_header_bytes",
        "max_headers",
    ] {
        let column = field.len() + 4;
        for (value, expected) in [
            ("0", "the value must be ".to_owned()),
            ("-1", "invalid value: integer `-1`".to_owned()),
            ("1.5", "invalid type: floating point".to_owned()),
            ("\"many\"", "invalid type: string".to_owned()),
            ("4294967296", "invalid value: integer".to_owned()),
        ] {
            let why = read(&format!("[limits]\n{field} = {value}\n")).unwrap_err();
            let expected = format!("lockkeeper.toml:2:{column}: {expected}");
            let no_group = "lockkeeper.toml:1:1: there is no [[group]]";
            assert!(
                why.starts_with(&expected) && why != no_group,
                "{field} = {value}: {why}"
            );
        }
    }
    for (limits, expected) in [
        ("max_headers = 101", "2:15: the value must be from 1 to 100"),
        (
            "max_header_bytes = 65537",
            "2:20: the value must be from 1 to 65536",
        ),
        (
            "max_body_bytes = 16777217",
            "2:18: the value must be from 1 to 16777216",
        ),
        (
            "read_timeout = \"0s\"",
            "2:16: the duration must be greater than zero",
        ),
        ("read_timeout = 30", "2:16: invalid type: integer"),
        (
            "max_queued_acquires = 4096",
            "1:1: `max_queued_acquires` (4096) must be below `max_requests` (4096)",
        ),
        (
            "max_requests = 10",
            "1:1: `max_queued_acquires` (2048) must be below `max_requests` (10)",
        ),
        ("colour = 1", "2:1: unknown field `colour`"),
        ("[limits.more]", "2:9: unknown field `more`"),
    ] {
        let why = read(&format!("[limits]\n{limits}\n")).unwrap_err();
        let expected = format!("lockkeeper.toml:{expected}");
        assert!(
            why.starts_with(&expected),
            "{limits}\n  gave  {why}\n  not   {expected}"
        );
    }
}
