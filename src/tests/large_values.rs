//! Values that are far too large to be a lock, under a lock's name: they are never read or changed,
//! and other locks are listed as usual.

use lockkeeper::server::config::GroupConfig;
use lockkeeper::server::stores::redis::formats::fingerprint;
use redis::aio::MultiplexedConnection;
use serde_json::json;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// One value of each type, under a name that a format uses; the string has the maximum length that
/// Redis allows (512 MB).
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

/// Returns a number from a section of `INFO`.
async fn info_number(client: &mut MultiplexedConnection, section: &str, name: &str) -> u64 {
    let mut info = redis::cmd("INFO");
    let reply: String = info.arg(section).query_async(client).await.unwrap();
    let line = reply
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn values_too_large_for_a_lock_are_not_read_or_released_and_do_not_affect_other_locks() {
    let nodes = RedisNodes::start(1).await;
    let mut client = nodes.0[0].client().await;
    for (key, script) in LARGE {
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(1).arg(key);
        let () = eval.query_async(&mut client).await.unwrap();
    }
    nodes.set(0, b"lock:a", b"owner", Some(600_000)).await;
    let before = info_number(&mut client, "stats", "total_net_output_bytes").await;
    let group = GroupConfig {
        keys: vec!["*".to_owned()],
        keys_are_explicit: true,
        ..nodes.config()
    };
    let console = TestConsole::start(vec![group]).await;
    let api = console.api();
    wait_until("only the lock is listed", async || {
        let listed = api.get("/api/v1/locks").await.json();
        listed["total"] == 1 && listed["locks"][0]["key"] == "lock:a"
    })
    .await;
    for (key, _) in LARGE {
        let key = lockkeeper::domain::LockKey::from(key).encoded();
        let path = format!("/api/v1/groups/orders/locks/{key}");
        let response = api.get(&path).await;
        assert_eq!(
            (response.status, response.problem_code()),
            (404, "not-observed".into()),
            "{key}"
        );
        let owner = fingerprint(b"6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:1");
        let body = json!({"fingerprint": owner, "reason": "test", "confirm": key});
        let rejected = api.post(&format!("{path}/force-release"), body).await;
        assert_eq!(rejected.status, 409, "{key}: {}", rejected.text);
        for format in ["plain", "redisson", "legacy-timestamp"] {
            let body = json!({"ttl_ms": 60_000, "format": format});
            let rejected = api.post(&format!("{path}/acquire"), body).await;
            assert_eq!(rejected.status, 409, "{key} as {format}: {}", rejected.text);
        }
    }
    // A write to each key makes the console inspect it again.
    for (key, _) in LARGE {
        let mut expire = redis::cmd("PEXPIRE");
        let () = expire
            .arg(key)
            .arg(600_000)
            .query_async(&mut client)
            .await
            .unwrap();
    }
    nodes.set(0, b"lock:b", b"owner", Some(600_000)).await;
    api.wait_for_lock_count(2).await;
    let sent = info_number(&mut client, "stats", "total_net_output_bytes").await - before;
    eprintln!("the server sent {sent} bytes");
    assert!(sent < 5_000_000, "{sent} bytes: a large value was read");
    for (key, _) in LARGE {
        let exists: bool = redis::cmd("EXISTS")
            .arg(key)
            .query_async(&mut client)
            .await
            .unwrap();
        assert!(exists, "{key}");
    }
}
