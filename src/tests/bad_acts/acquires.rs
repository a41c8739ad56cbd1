//! Acquires that cannot be understood or done.

use serde_json::json;

use super::{post, untouched};
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn an_acquire_that_cannot_be_understood_or_done_touches_no_node() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let bodies: &[(u16, &[&str])] = &[
        (
            400,
            &[
                r#"{"ttl_ms": -1}"#,
                r#"{"ttl_ms": -0}"#,
                r#"{"ttl_ms": -0.0}"#,
                r#"{"ttl_ms": 1000.0}"#,
                r#"{"ttl_ms": 1e3}"#,
                r#"{"ttl_ms": 1e400}"#,
                r#"{"ttl_ms": 18446744073709551616}"#,
                r#"{"ttl_ms": 99999999999999999999999999999999999999999999}"#,
                r#"{"ttl_ms": "1000"}"#,
                r#"{"ttl_ms": "1s"}"#,
                r#"{"ttl_ms": null}"#,
                r#"{"ttl_ms": true}"#,
                r#"{"ttl_ms": [1000]}"#,
                r#"{"ttl_ms": {"ms": 1000}}"#,
                r#"{"ttl_ms": 01000}"#,
                r#"{"ttl_ms": +1000}"#,
                r#"{"ttl_ms": 0x10}"#,
                r#"{"ttl_ms": NaN}"#,
                r#"{"ttl_ms": Infinity}"#,
                r#"{"ttl-ms": 1000}"#,
                r#"{"TTL_MS": 1000}"#,
                r#"{"ttl_ms": 1000, "ttl_ms": 2000}"#,
                r#"{"ttl_ms": 1000, "label": "a", "label": "a"}"#,
                r#"{"ttl_ms": 1000, "wait_ms": -1}"#,
                r#"{"ttl_ms": 1000, "wait_ms": 1.5}"#,
                r#"{"ttl_ms": 1000, "wait_ms": "5"}"#,
                r#"{"ttl_ms": 1000, "label": 5}"#,
                r#"{"ttl_ms": 1000, "label": ["a"]}"#,
                r#"{"ttl_ms": 1000, "label": "\ud800"}"#,
                r#"{"ttl_ms": 1000, "format": "ring"}"#,
                r#"{"ttl_ms": 1000, "format": ""}"#,
                r#"{"ttl_ms": 1000, "format": "PLAIN"}"#,
                r#"{"ttl_ms": 1000, "format": " plain"}"#,
                r#"{"ttl_ms": 1000, "format": 0}"#,
                r#"{"ttl_ms": 1000, "token": 5}"#,
                r#"{"ttl_ms": 1000, "auto_renew": null}"#,
                r#"{"ttl_ms": 1000, "auto_renew": 1}"#,
                r#"{"ttl_ms": 1000, "auto_renew": "true"}"#,
                r#"{"ttl_ms": 1000} {"ttl_ms": 1000}"#,
                r#"{"ttl_ms": 1000}]"#,
                r#"{"ttl_ms": 1000,}"#,
                r#"{"ttl_ms": 1000"#,
                r#"{'ttl_ms': 1000}"#,
                "{ttl_ms: 1000}",
                "{\"ttl_ms\": 1000} // a lease",
                "\u{feff}{\"ttl_ms\": 1000}",
                "ttl_ms=1000",
                "null",
                "1000",
                "[1000, null, null, null, null]",
            ],
        ),
        (
            422,
            &[
                r#"{"ttl_ms": 0}"#,
                r#"{"ttl_ms": 9}"#,
                r#"{"ttl_ms": 3600001}"#,
                r#"{"ttl_ms": 9223372036854775808}"#,
                r#"{"ttl_ms": 18446744073709551615}"#,
                r#"{"ttl_ms": 1000, "wait_ms": 300001}"#,
                r#"{"ttl_ms": 1000, "wait_ms": 18446744073709551615}"#,
                r#"{"ttl_ms": 1000, "format": "shedlock"}"#,
                r#"{"ttl_ms": 1000, "format": "redis-py"}"#,
                r#"{"ttl_ms": 1000, "format": "node-redlock"}"#,
            ],
        ),
    ];
    for (status, bodies) in bodies {
        for body in *bodies {
            let answer = post(&person, b"lock:a", "/acquire", *body).await;
            assert_eq!(answer.status, *status, "{body}: {}", answer.text);
            let code = if *status == 400 {
                "bad-request"
            } else {
                "impossible"
            };
            assert_eq!(answer.code(), code);
        }
    }
    let nested = |depth: usize, before: &str, after: &str| {
        format!("{before}{}{}{after}", "[".repeat(depth), "]".repeat(depth))
    };
    let long = |field: &str, n: usize| json!({"ttl_ms": 1_000, field: "x".repeat(n)}).to_string();
    let utf16: Vec<u8> = "{\"ttl_ms\":1000}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let made: Vec<(Vec<u8>, u16)> = vec![
        (nested(60_000, "", "").into(), 400),
        (
            nested(60_000, "{\"ttl_ms\":1000,\"label\":", "}").into(),
            400,
        ),
        (
            nested(60_000, "{\"ttl_ms\":1000,\"more\":", "}").into(),
            400,
        ),
        ("{\"ttl_ms\":".repeat(10_000).into(), 400),
        (utf16, 400),
        (b"{\"ttl_ms\":1000,\"label\":\"\xff\"}".to_vec(), 400),
        (b"{\"ttl_ms\":1000,\"label\":\"\x01\"}".to_vec(), 400),
        (vec![0; 1_000], 400),
        (long("label", 65).into(), 422),
        (long("token", 513).into(), 422),
        (long("token", 100_000).into(), 422),
        (long("label", 200_000).into(), 413),
    ];
    for (body, status) in made {
        let answer = post(&person, b"lock:a", "/acquire", body.clone()).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        assert_eq!(answer.status, status, "{shown}: {}", answer.text);
        assert!(!answer.code().is_empty());
    }
    assert!(untouched(&nodes).await, "a refused request left something");
}

#[tokio::test]
async fn nulls_are_absences_and_an_odd_label_is_made_readable() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let person = console.person();
    let nulls =
        r#"{"ttl_ms": 60000, "wait_ms": null, "label": null, "format": null, "token": null}"#;
    let answer = post(&person, b"lock:a", "/acquire", nulls).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let odd = r#"{"ttl_ms": 60000, "label": "a\u0000b\r\nc:d \u202e\u00fc"}"#;
    let answer = post(&person, b"lock:b", "/acquire", odd).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let value = nodes.get(0, b"lock:b").await.unwrap();
    assert!(value.iter().all(u8::is_ascii_graphic), "{value:?}");
}
