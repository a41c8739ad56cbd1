//! The audit: who did what to which lock, why, and how it ended. On real servers, with the real program where it is killed.

mod chain;
mod disks;
mod kills;
mod pages;
mod people;
mod planted;
mod shared;
mod sharing;

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::api::{group, lock_path};
use crate::support::audit::entries;
use crate::support::console::{Person, TestConsole};
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// The acts that the API tells.
async fn acts(person: &Person, query: &str) -> Vec<Value> {
    let answer = person.get(&format!("/api/v1/audit{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["acts"].as_array().unwrap().clone()
}

async fn acquire(person: &Person, key: &[u8]) -> Value {
    let answer = person
        .post(
            &lock_path("orders", key, "/acquire"),
            json!({"ttl_ms": 60_000, "label": "deploy 7"}),
        )
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()
}

/// The real program, serving.
pub struct Served {
    pub child: Child,
    pub person: Person,
}

impl Served {
    /// With this configuration in the folder; `how` is what starts it, the program itself or a shell around it.
    pub async fn start(mut how: Command, folder: &Path) -> Self {
        let mut child = how
            .current_dir(folder)
            .env("HOME", folder)
            .env("XDG_STATE_HOME", folder)
            .env_remove("STATE_DIRECTORY")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = said
            .next_line()
            .await
            .unwrap()
            .expect("it says where it is");
        let address = line.rsplit("http://").next().unwrap().parse().unwrap();
        Self {
            child,
            person: Person::of(address),
        }
    }
}

/// `lockkeeper serve` as it is configured in the folder.
pub fn serve() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
    command.args(["serve", "--config", "lockkeeper.toml"]);
    command
}

/// A configuration with these nodes and this storage.
fn configure(folder: &Path, nodes: &RedisNodes, url: &str) {
    let nodes: Vec<String> = nodes
        .0
        .iter()
        .map(|node| format!("{{ url = \"redis://127.0.0.1:{}\" }}", node.port()))
        .collect();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[storage]\nurl = \"{url}\"\n[[group]]\nname = \"orders\"\nkeys = [\"*\"]\nnode = [{}]\n",
        nodes.join(", ")
    );
    std::fs::write(folder.join("lockkeeper.toml"), text).unwrap();
}

#[tokio::test]
async fn every_act_is_told_with_who_what_why_and_what_each_node_did() {
    let nodes = RedisNodes::start(3).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    let key = b"lock:payout/\xff<b>";
    let ours = acquire(&script, key).await;
    let token = ours["token"].as_str().unwrap();
    let path = |verb| lock_path("orders", key, verb);
    let extend = json!({"token": token, "ttl_ms": 50_000});
    assert_eq!(script.post(&path("/extend"), extend).await.status, 200);
    let held = script
        .post(&path("/acquire"), json!({"ttl_ms": 1000}))
        .await;
    assert_eq!(held.code(), "held");
    let blank = json!({"fingerprint": ours["fingerprint"], "reason": " "});
    assert_eq!(
        script.post(&path("/force-release"), blank).await.status,
        422
    );
    let reason = json!({"fingerprint": ours["fingerprint"], "reason": "web-2 is dead\n\"really\""});
    assert_eq!(
        script.post(&path("/force-release"), reason).await.status,
        200
    );
    let gone = script
        .post(&path("/release"), json!({"token": token}))
        .await;
    assert_eq!(gone.code(), "not-held");
    let unknown = lock_path("nowhere", b"x", "/acquire");
    assert_eq!(
        script.post(&unknown, json!({"ttl_ms": 1000})).await.status,
        404
    );

    let told = acts(&script, "").await;
    let short: Vec<_> = told
        .iter()
        .map(|act| {
            let word = |name: &str| act[name].as_str().unwrap_or("").to_owned();
            [word("act"), word("end"), word("code")]
        })
        .collect();
    let expected = [
        ["acquire", "refused", "unknown-group"],
        ["release", "refused", "not-held"],
        ["force-release", "done", ""],
        ["force-release", "refused", "impossible"],
        ["acquire", "refused", "held"],
        ["extend", "done", ""],
        ["acquire", "done", ""],
    ];
    assert_eq!(short, expected.map(|act| act.map(str::to_owned)));
    let forced = &told[2];
    assert_eq!(forced["who"], "local operator");
    assert_eq!(forced["via"], "local");
    assert_eq!(forced["address"], "127.0.0.1");
    assert_eq!(forced["group"], "orders");
    assert_eq!(forced["key_encoded"], "lock%3Apayout%2F%FF%3Cb%3E");
    assert_eq!(forced["fingerprint"], ours["fingerprint"]);
    assert_eq!(forced["reason"], "web-2 is dead\n\"really\"");
    assert_eq!(forced["nodes"].as_array().unwrap().len(), 3);
    assert!(forced["ended_at"].as_str() >= forced["began_at"].as_str());
    assert_eq!(told[6]["label"], "deploy 7");
    assert_eq!(told[6]["ttl_ms"], 60_000);
    assert_eq!(told[6]["fingerprint"], ours["fingerprint"]);

    let begun = entries(&console.storage_file()).await;
    let secret = token.rsplit(':').next().unwrap();
    assert!(!json!(begun).to_string().contains(secret));
    let begun = begun.iter().filter(|line| line["line"] == "begin");
    assert_eq!(begun.count(), 5, "what was refused before was never begun");
}

#[tokio::test]
async fn an_act_whose_client_hangs_up_has_an_end_that_says_so() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    acquire(&script, b"lock:a").await;
    let path = lock_path("orders", b"lock:a", "/acquire");
    let waiting = console.person();
    let waits = tokio::spawn(async move {
        waiting
            .post(&path, json!({"ttl_ms": 1000, "wait_ms": 60_000}))
            .await
    });
    eventually_is("it waits", async || {
        acts(&script, "?end=in-progress").await.len() == 1
    })
    .await;
    waits.abort();
    eventually_is("its end is unknown", async || {
        let told = acts(&script, "?act=acquire").await;
        told.len() == 2 && told[0]["end"] == "unknown" && told[0]["nodes"].is_null()
    })
    .await;
}

#[tokio::test]
async fn the_audit_is_searched_and_paged_from_the_latest_back() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("orders", &nodes)]).await;
    let script = console.person();
    for n in 0..25 {
        acquire(&script, format!("lock:{n}").as_bytes()).await;
    }
    let path = lock_path("orders", b"lock:7", "/acquire");
    script.post(&path, json!({"ttl_ms": 1000})).await;

    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = script
            .get(&format!("/api/v1/audit?limit=10{cursor}"))
            .await
            .json();
        seen.extend(page["acts"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 26);
    let numbers: Vec<u64> = seen
        .iter()
        .map(|act| act["number"].as_u64().unwrap())
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    for (query, count) in [
        ("?key=lock:7", 2),
        ("?key_encoded=lock%253A7", 2),
        ("?key=lock:7&end=refused", 1),
        ("?q=LOCK:2", 6),
        ("?group=orders&act=acquire", 26),
        ("?act=release", 0),
        ("?who=nobody", 0),
        ("?until=2020-01-01T00:00:00Z", 0),
        ("?from=2020-01-01T00:00:00Z", 26),
    ] {
        assert_eq!(acts(&script, query).await.len(), count, "{query}");
    }
    for wrong in ["?act=x", "?limit=0", "?from=yesterday", "?cursor=x", "?x=y"] {
        let answer = script.get(&format!("/api/v1/audit{wrong}")).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "bad-request"),
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn where_the_audit_is_off_acts_need_none_and_nobody_can_read_one() {
    use lockkeeper::server::clock::Clock;
    use lockkeeper::server::config::{AuditConfig, Config};
    let nodes = RedisNodes::start(1).await;
    let config = Config {
        audit: AuditConfig::off(),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let console = TestConsole::start_as(config, Clock::real()).await;
    let script = console.person();
    acquire(&script, b"lock:a").await;
    let answer = script.get("/api/v1/audit").await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"));
}

/// What writing costs an operation, alone and among many. The numbers are for people; they depend on the machine.
#[tokio::test]
#[ignore = "a measurement"]
async fn what_an_operation_costs_to_be_written() {
    use lockkeeper::domain::{ActKind, LockId};
    use lockkeeper::server::audit::{Asked, Audit, By, End};
    use lockkeeper::server::clock::Clock;
    use lockkeeper::server::config::{AuditConfig, StorageConfig};
    use lockkeeper::server::storage::Storage;
    let folder = tempfile::tempdir().unwrap();
    let config = StorageConfig::file(folder.path().join("lockkeeper.db"));
    let storage = Storage::new(&config, true);
    let audit = Audit::new(&AuditConfig::default(), storage, Clock::real());
    let by = By {
        who: "alice",
        subject: None,
        via: "browser",
        address: Some([10, 0, 0, 7].into()),
        request: Some("0d9f7a52-4c1e-4d3f-9d0a-2f3a1b5c7d9e"),
    };
    for at_once in [1, 8, 64] {
        let began = std::time::Instant::now();
        let each = (0..at_once).map(|_| async {
            for _ in 0..4_000 / at_once {
                let lock = LockId {
                    group: "orders".into(),
                    key: "lock:payout:eu:2026-11".into(),
                };
                let asked = Asked::on(ActKind::Release, by, &lock);
                audit.begin(asked).await.unwrap().end(&End::done(&[]));
            }
        });
        futures::future::join_all(each).await;
        println!("{at_once} at once: {:?} for each", began.elapsed() / 4_000);
    }
}
