//! Files of the audit that something else wrote into.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AuditConfig, Config};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::api::{group, lock_path};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

const HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A line that looks like one, more or less.
pub fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0_u64..9, any::<u64>()];
    let body = prop_oneof![
        r#""line":"(begin|end)","id":"[a-f0-9]{12}-[0-9]{1,3}","act":"(acquire|release|dance)","who":"\\PC{0,8}","group":"orders","key":"a","began_at":"(2026-11-22T01:00:00Z|never)""#,
        r#""line":"[a-z]{0,6}","id":"\\PC{0,8}""#,
        "\\PC{0,60}",
    ];
    let link = prop_oneof![Just(HASH.to_owned()), "[0-9a-f]{60,66}"];
    let line = (number, body, link.clone(), link).prop_map(|(number, body, previous, hash)| {
        format!(r#"{{"number":{number},{body},"previous":"{previous}","hash":"{hash}"}}"#)
            .into_bytes()
    });
    let text = prop_oneof![
        4 => line,
        1 => proptest::collection::vec(any::<u8>(), 0..300),
    ];
    (text, proptest::bool::weighted(0.9)).prop_map(|(mut text, ends)| {
        if ends {
            text.push(b'\n');
        }
        text
    })
}

#[tokio::test]
async fn whatever_stands_in_the_audit_a_console_starts_on_it_and_shows_what_it_can() {
    let nodes = RedisNodes::start(1).await;
    let mut runner = TestRunner::deterministic();
    for case in 0..super::cases(12) {
        let lines = proptest::collection::vec(any_line(), 1..20);
        let lines = lines.new_tree(&mut runner).unwrap().current();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        std::fs::write(&file, lines.concat()).unwrap();
        let config = Config {
            audit: AuditConfig::to(file.clone()),
            ..Config::of(vec![group("orders", &nodes)])
        };
        let console = TestConsole::start_as(config, Clock::real()).await;
        let person = console.person();
        let what = || String::from_utf8_lossy(&lines.concat()).into_owned();
        for path in [
            "/api/v1/audit",
            "/api/v1/audit/export",
            "/audit",
            "/metrics",
        ] {
            let answer = person.get(path).await;
            assert_eq!(answer.status, 200, "{path}: {}\n{}", answer.text, what());
        }
        let path = lock_path("orders", format!("lock:{case}").as_bytes(), "/acquire");
        let answer = person.post(&path, json!({"ttl_ms": 1000})).await;
        assert!(
            [201, 503].contains(&answer.status),
            "{}\n{}",
            answer.text,
            what()
        );
        let shown = person.get("/api/v1/audit").await;
        assert_eq!(shown.status, 200, "{}\n{}", shown.text, what());
        console.stop().await;
    }
}
