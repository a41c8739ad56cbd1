//! The log of the real program: JSON where that is asked for, the name of each request, and nothing that a name of a lock could forge.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::console::Person;
use crate::support::process::Process;
use crate::support::redis_nodes::RedisNodes;

/// A console as a process of its own, and where its configuration is.
struct Console {
    process: Process,
    _folder: TempDir,
}

impl Console {
    /// On these nodes; `log` is its `[log]` table.
    async fn start(nodes: &RedisNodes, log: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lockkeeper.toml");
        let port = nodes.0[0].port();
        let group = format!(
            "[[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]"
        );
        std::fs::write(&file, format!("{log}\n{group}\n")).unwrap();
        let usual = ["--log", "debug", "--config", file.to_str().unwrap()];
        Self {
            process: Process::serve(&[&usual, arguments].concat()).await,
            _folder: folder,
        }
    }

    /// Everything it said until it was stopped.
    async fn stop(self) -> String {
        self.process.stop().await
    }
}

const FORGED: &str =
    "\n2026-01-01T00:00:00Z  INFO lockkeeper: everything is fine\n\u{1b}[2J{\"level\":\"INFO\"}";

/// Acts on a lock with a name that would like to be more than that.
async fn provoke(person: &Person) {
    let key = lockkeeper::domain::LockKey::from(format!("lock:{FORGED}").as_str()).encoded();
    let lock = format!("/api/v1/groups/orders/locks/{key}");
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.7"),
    ];
    let send = async |path: &str, body: Value| {
        let path = format!("{lock}/{path}");
        person.send("POST", &path, &headers, body.to_string()).await
    };
    assert_eq!(
        send("acquire", json!({ "ttl_ms": 60_000, "label": "x" }))
            .await
            .status,
        201
    );
    assert_eq!(
        send("acquire", json!({ "ttl_ms": 60_000 })).await.status,
        409
    );
    let owner = person.get(&lock).await.json()["owner"]["fingerprint"].clone();
    let reason = format!("gone{FORGED}");
    let force = json!({ "fingerprint": owner, "reason": reason });
    let answer = send("force-release", force).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["x-request-id"], "night-shift.7");
    let group = format!("/api/v1/groups/{}/locks/a/acquire", "no%0Asuch%0Agroup");
    assert_eq!(
        person.post(&group, json!({ "ttl_ms": 1000 })).await.code(),
        "unknown-group"
    );
}

#[tokio::test]
async fn json_lines_are_json_and_carry_the_name_of_the_request() {
    let nodes = RedisNodes::start(1).await;
    for (table, arguments) in [
        ("[log]\nformat = \"json\"", &[][..]),
        ("", &["--log-format", "json"][..]),
    ] {
        let console = Console::start(&nodes, table, arguments).await;
        provoke(&console.process.person).await;
        let log = console.stop().await;
        let lines: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
            .collect();
        let said = |message: &'static str| {
            let lines = lines.iter();
            lines.filter(move |line| line["message"] == message)
        };
        let forced = said("begins").next().unwrap();
        assert_eq!(forced["act"], "force-release");
        assert_eq!(forced["request.id"], "night-shift.7");
        assert_eq!(forced["level"], "INFO");
        let answered: Vec<_> = said("answered")
            .filter(|line| line["request.id"] == "night-shift.7")
            .collect();
        assert_eq!(answered.len(), 3);
        assert!(
            answered
                .iter()
                .all(|line| line["method"] == "POST" && line["status"].is_u64())
        );
        assert!(
            lines
                .iter()
                .all(|line| line["message"] != "everything is fine")
        );
    }
}

#[tokio::test]
async fn no_name_forges_a_line_of_the_log_for_people() {
    let nodes = RedisNodes::start(1).await;
    let console = Console::start(&nodes, "", &[]).await;
    provoke(&console.process.person).await;
    let log = console.stop().await;
    assert!(log.contains("night-shift.7"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
    for line in log.lines() {
        assert!(
            line.contains("lockkeeper::") || line.contains(" hyper"),
            "forged: {line}"
        );
    }
}

#[tokio::test]
async fn every_answer_names_its_request_and_only_a_plain_name_is_taken_over() {
    let nodes = RedisNodes::start(1).await;
    let console = crate::support::console::TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    let id_of = async |given: Option<&str>, path: &str| {
        let headers: Vec<_> = given.map(|id| ("x-request-id", id)).into_iter().collect();
        let answer = person.send("GET", path, &headers, String::new()).await;
        answer.headers["x-request-id"].to_str().unwrap().to_owned()
    };
    for path in [
        "/",
        "/api/v1/locks",
        "/api/v1/no-such-route",
        "/no-such-page",
        "/healthz",
        "/metrics",
    ] {
        assert_eq!(id_of(Some("mine-1"), path).await, "mine-1", "{path}");
        let made = id_of(None, path).await;
        assert_ne!(made, id_of(None, path).await, "{path}");
        let odd = id_of(Some("a b\"c"), path).await;
        assert!(!odd.contains(' ') && !odd.is_empty(), "{path}");
    }
    // Those that get no further than the door have a name, too.
    let from_elsewhere = [("sec-fetch-site", "cross-site"), ("x-request-id", "mine-2")];
    let refused = person
        .send(
            "POST",
            "/api/v1/groups/orders/locks/a/acquire",
            &from_elsewhere,
            "{}",
        )
        .await;
    assert_eq!(
        (refused.status, &refused.headers["x-request-id"]),
        (403, &"mine-2".parse().unwrap())
    );
}
