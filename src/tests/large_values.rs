//! What is far too large to be a lock stands under a lock's name: it is never read, nothing is done to it, and everybody else's
//! locks are seen as ever.

use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::formats::fingerprint;
use redis::aio::MultiplexedConnection;
use serde_json::json;

use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// One of each type, by a name that a format has; the string is as long as Redis lets it be.
const LARGE: [(&str, &str); 6] = [
    (
        "lock:string",
        "redis.call('SETRANGE', KEYS[1], 536870911, 'x')",
    ),
    (
        "lock:hash",
        "for n = 1, 300000 do redis.call('HSET', KEYS[1], '6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:' .. n, 1) end",
    ),
    (
        "lock.readers",
        "for n = 1, 300000 do redis.call('SADD', KEYS[1], 'host_' .. n .. '_9f86d081884c7d659a2feaa0c55ad015') end",
    ),
    (
        "semaphore:gpu",
        "for n = 1, 300000 do redis.call('ZADD', KEYS[1], n, 'member:' .. n) end",
    ),
    (
        "{permits}:timeout",
        "redis.call('SET', 'permits', 3) for n = 1, 300000 do redis.call('ZADD', KEYS[1], 4e12, 'permit' .. (1000000000 + n)) end",
    ),
    (
        "lock:list",
        "for n = 1, 300000 do redis.call('RPUSH', KEYS[1], 'member:' .. n) end",
    ),
];

/// A figure of `INFO`.
async fn figure(client: &mut MultiplexedConnection, section: &str, name: &str) -> u64 {
    let mut info = redis::cmd("INFO");
    let told: String = info.arg(section).query_async(client).await.unwrap();
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn what_is_far_too_large_is_neither_read_nor_released_nor_in_anybodys_way() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    for (key, script) in LARGE {
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(1).arg(key);
        let () = eval.query_async(&mut client).await.unwrap();
    }
    nodes.set(0, b"lock:a", b"somebody", Some(600_000)).await;
    let before = figure(&mut client, "stats", "total_net_output_bytes").await;
    let group = GroupConfig {
        keys: vec!["*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    };
    let console = TestConsole::start(vec![group]).await;
    let person = console.person();
    eventually_is("the lock is seen, and nothing else", async || {
        let listed = person.get("/api/v1/locks").await.json();
        listed["total"] == 1 && listed["locks"][0]["key"] == "lock:a"
    })
    .await;
    for (key, _) in LARGE {
        let key = lockkeeper::domain::LockKey::from(key).encoded();
        let path = format!("/api/v1/groups/orders/locks/{key}");
        let shown = person.get(&path).await;
        assert_eq!(
            (shown.status, shown.code()),
            (404, "not-observed".into()),
            "{key}"
        );
        let owner = fingerprint(b"6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:1");
        let body = json!({"fingerprint": owner, "reason": "to see", "confirm": key});
        let refused = person.post(&format!("{path}/force-release"), body).await;
        assert_eq!(refused.status, 409, "{key}: {}", refused.text);
        for format in ["plain", "redisson", "legacy-timestamp"] {
            let body = json!({"ttl_ms": 60_000, "format": format});
            let refused = person.post(&format!("{path}/acquire"), body).await;
            assert_eq!(refused.status, 409, "{key} as {format}: {}", refused.text);
        }
    }
    // Somebody writes to them, so that they are looked at again.
    for (key, _) in LARGE {
        let mut expire = redis::cmd("PEXPIRE");
        let () = expire
            .arg(key)
            .arg(600_000)
            .query_async(&mut client)
            .await
            .unwrap();
    }
    nodes.set(0, b"lock:b", b"somebody", Some(600_000)).await;
    person.sees(2).await;
    let sent = figure(&mut client, "stats", "total_net_output_bytes").await - before;
    eprintln!("the server sent {sent} bytes");
    assert!(sent < 5_000_000, "{sent} bytes: one of them was read");
    for (key, _) in LARGE {
        let there: bool = redis::cmd("EXISTS")
            .arg(key)
            .query_async(&mut client)
            .await
            .unwrap();
        assert!(there, "{key}");
    }
}
