//! The log of the console process: JSON format, request ids, and no log line that a lock's name can
//! forge.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::console::ApiClient;
use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::RedisNodes;

/// A console process and the directory of its configuration file.
struct ProcessWithConfigFile {
    process: ConsoleProcess,
    _directory: TempDir,
}

impl ProcessWithConfigFile {
    /// Starts a console on these nodes; `log` is the `[log]` table of its configuration.
    async fn start(nodes: &RedisNodes, log: &str, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lockkeeper.toml");
        let port = nodes.0[0].port();
        let group = format!(
            "[[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]"
        );
        std::fs::write(&file, format!("{log}\n{group}\n")).unwrap();
        let common = ["--log", "debug", "--config", file.to_str().unwrap()];
        Self {
            process: ConsoleProcess::start(&[&common, arguments].concat()).await,
            _directory: directory,
        }
    }

    /// Stops the process and returns its output.
    async fn stop(self) -> String {
        self.process.stop().await
    }
}

const FORGED_LOG_LINE: &str =
    "\n2026-01-01T00:00:00Z  INFO lockkeeper: everything is fine\n\u{1b}[2J{\"level\":\"INFO\"}";

/// Sends requests whose lock name, reason and group name contain line breaks and a forged log line.
async fn send_forging_requests(api: &ApiClient) {
    let key =
        lockkeeper::domain::LockKey::from(format!("lock:{FORGED_LOG_LINE}").as_str()).encoded();
    let lock = format!("/api/v1/groups/orders/locks/{key}");
    let headers = [
        ("content-type", "application/json"),
        ("x-request-id", "night-shift.7"),
    ];
    let send = async |path: &str, body: Value| {
        let path = format!("{lock}/{path}");
        api.send("POST", &path, &headers, body.to_string()).await
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
    let owner = api.get(&lock).await.json()["owner"]["fingerprint"].clone();
    let reason = format!("gone{FORGED_LOG_LINE}");
    let force = json!({ "fingerprint": owner, "reason": reason });
    let response = send("force-release", force).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.headers["x-request-id"], "night-shift.7");
    let group = format!("/api/v1/groups/{}/locks/a/acquire", "no%0Asuch%0Agroup");
    assert_eq!(
        api.post(&group, json!({ "ttl_ms": 1000 }))
            .await
            .problem_code(),
        "unknown-group"
    );
}

#[tokio::test]
async fn every_json_log_line_is_valid_and_requests_carry_their_id() {
    let nodes = RedisNodes::start(1).await;
    for (table, arguments) in [
        ("[log]\nformat = \"json\"", &[][..]),
        ("", &["--log-format", "json"][..]),
    ] {
        let console = ProcessWithConfigFile::start(&nodes, table, arguments).await;
        send_forging_requests(&console.process.api).await;
        let log = console.stop().await;
        let lines: Vec<Value> = log
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect();
        let with_message = |message: &'static str| {
            let lines = lines.iter();
            lines.filter(move |line| line["message"] == message)
        };
        let forced = with_message("started").next().unwrap();
        assert_eq!(forced["action"], "force-release");
        assert_eq!(forced["request.id"], "night-shift.7");
        assert_eq!(forced["level"], "INFO");
        let completed: Vec<_> = with_message("request completed")
            .filter(|line| line["request.id"] == "night-shift.7")
            .collect();
        assert_eq!(completed.len(), 3);
        assert!(
            completed
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
async fn a_lock_name_cannot_forge_a_line_of_the_text_log() {
    let nodes = RedisNodes::start(1).await;
    let console = ProcessWithConfigFile::start(&nodes, "", &[]).await;
    send_forging_requests(&console.process.api).await;
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
async fn every_response_has_a_request_id_and_only_a_plain_id_is_taken_from_the_request() {
    let nodes = RedisNodes::start(1).await;
    let console = crate::support::console::TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    let id_of = async |given: Option<&str>, path: &str| {
        let headers: Vec<_> = given.map(|id| ("x-request-id", id)).into_iter().collect();
        let response = api.send("GET", path, &headers, String::new()).await;
        response.headers["x-request-id"]
            .to_str()
            .unwrap()
            .to_owned()
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
        let generated = id_of(None, path).await;
        assert_ne!(generated, id_of(None, path).await, "{path}");
        let invalid = id_of(Some("a b\"c"), path).await;
        assert!(!invalid.contains(' ') && !invalid.is_empty(), "{path}");
    }
    // Requests that a middleware rejects have an id as well.
    let cross_site_headers = [("sec-fetch-site", "cross-site"), ("x-request-id", "mine-2")];
    let rejected = api
        .send(
            "POST",
            "/api/v1/groups/orders/locks/a/acquire",
            &cross_site_headers,
            "{}",
        )
        .await;
    assert_eq!(
        (rejected.status, &rejected.headers["x-request-id"]),
        (403, &"mine-2".parse().unwrap())
    );
}
