//! Several programs write to one audit: the chain is one.

use serde_json::json;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};
use lockkeeper::server::storage::Storage;

use super::{acquire, acts, configure};
use crate::api::{group, lock_path};
use crate::cli::{Shell, end_of};
use crate::support::audit::{entries, verified};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn two_consoles_and_the_command_line_write_one_chain() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    configure(&shell.path("."), &nodes, "sqlite:lockkeeper.db");
    let storage = StorageConfig::file(shell.path("lockkeeper.db"));
    let config = || Config {
        storage: storage.clone(),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let one = TestConsole::start_as(config(), Clock::real()).await;
    let other = TestConsole::start_as(config(), Clock::real()).await;
    let many = async |person, name: &str| {
        for n in 0..100 {
            acquire(&person, format!("lock:{name}:{n}").as_bytes()).await;
        }
    };
    let typed = async {
        for n in 0..10 {
            let key = format!("lock:typed:{n}");
            let words = ["acquire", "orders", &key, "--ttl", "1m"];
            let ended = end_of(shell.bare(&words)).await;
            assert_eq!(ended.status, 0, "{ended:?}");
        }
    };
    tokio::join!(
        many(one.person(), "one"),
        many(other.person(), "other"),
        typed
    );
    // An end that met another writer is written a moment later.
    eventually_is("every line is there", async || {
        verified(&storage).await.lines == 2 * 210
    })
    .await;
    let whole = verified(&storage).await;
    assert!(whole.is_whole(), "{whole:?}");
    let told = acts(&one.person(), "?limit=1000").await;
    assert_eq!(told.len(), 210);
    let typed = acts(&other.person(), "?q=lock:typed:&limit=1000").await;
    assert_eq!(typed.len(), 10);
    assert_eq!(typed[0]["via"], "command-line");
    assert!(typed[0]["who"].as_str().unwrap().starts_with("somebody@"));
}

#[tokio::test]
async fn a_program_that_keeps_the_file_locked_holds_operations_up_and_then_refuses_them() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    acquire(&script, b"lock:a").await;
    let other = Storage::new(&StorageConfig::file(console.storage_file()), false);
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (mut told, mut begun) = (Some(told), Some(begun));
    let keeps = other.write(move |_| {
        let (told, begun) = (told.take().unwrap(), begun.take().unwrap());
        Box::pin(async move {
            begun.send(()).unwrap();
            drop(told.await);
            Ok(())
        })
    });
    let refused = async {
        begins.await.unwrap();
        let path = lock_path("orders", b"lock:b", "/acquire");
        let refused = script.post(&path, json!({"ttl_ms": 1000})).await;
        drop(tell);
        refused
    };
    let (_, refused) = tokio::join!(keeps, refused);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "audit-unavailable")
    );
    acquire(&script, b"lock:b").await;
}

#[tokio::test]
async fn the_command_line_needs_an_audit_only_where_one_is_configured_or_a_lock_is_forced() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    // Nothing can be written where the state would be.
    std::fs::write(shell.state("lockkeeper"), "a file").unwrap();
    let taken = shell
        .type_in("acquire", &["default", "lock:a", "--ttl", "1m"])
        .await;
    assert_eq!(taken.status, 0, "{taken:?}");
    let fingerprint = taken.fact("fingerprint").to_owned();
    let words = [
        "default",
        "lock:a",
        "--fingerprint",
        &fingerprint,
        "--reason",
        "r",
    ];
    let refused = shell.type_in("force-release", &words).await;
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(
        refused.err.contains("nothing is done without an audit"),
        "{refused:?}"
    );
    assert!(!nodes.dump(0).await.is_empty(), "the lock is still there");

    std::fs::write(shell.path("kept"), "a file").unwrap();
    configure(&shell.path("."), &nodes, "sqlite:kept/lockkeeper.db");
    let refused = end_of(shell.bare(&["acquire", "orders", "lock:b", "--ttl", "1m"])).await;
    assert_eq!(refused.status, 1, "{refused:?}");
    std::fs::remove_file(shell.path("kept")).unwrap();
    let words = [
        "force-release",
        "orders",
        "lock:a",
        "--fingerprint",
        &fingerprint,
        "--reason",
        "r",
    ];
    let forced = end_of(shell.bare(&words)).await;
    assert_eq!(forced.status, 0, "{forced:?}");
    let told = entries(&shell.path("kept/lockkeeper.db")).await;
    assert_eq!((told.len(), &told[1]["end"]), (2, &json!("done")));
}
