//! A fresh installation: every page and every GET endpoint of the API responds, with and without
//! Redis, and with and without a writable state directory.

use lockkeeper::domain::{LockId, LockKey, OwnerIdentity};
use lockkeeper::ui::paths;
use serde_json::Value;

use crate::support::console::{ApiClient, ApiResponse};
use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::{RedisNodes, free_port};
use crate::support::wait_for;

/// A lock that does not exist.
const KEY: &str = "lock:nothing";

/// The GET paths of the OpenAPI document, with their parameters filled in.
fn documented_get_paths() -> Vec<String> {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    let all = document["paths"].as_object().unwrap();
    let readable = all.iter().filter(|(_, item)| item.get("get").is_some());
    let fill = |path: &String| {
        let path = path.replace("{group}", "default").replace("{node}", "a");
        let path = path.replace("{owner}", "web-2");
        let path = path.replace("{key}", &LockKey::from(KEY).encoded());
        assert!(
            !path.contains('{'),
            "a parameter of {path} is not filled in"
        );
        path
    };
    readable.map(|(path, _)| fill(path)).collect()
}

fn pages() -> Vec<String> {
    let lock = LockId {
        group: "default".to_owned(),
        key: KEY.into(),
    };
    let mut pages: Vec<String> = [
        paths::LOCKS,
        paths::NODES,
        paths::OWNERS,
        paths::WAITS,
        paths::AUDIT,
        paths::MINE,
        paths::WEBHOOKS,
        paths::HELP,
        paths::API_DOCS,
        paths::SIGN_IN,
        "/api/openapi.json",
        "/healthz",
        "/readyz",
        "/metrics",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.push(paths::lock(&lock));
    pages.push(paths::owner(&OwnerIdentity::Host("web-2".to_owned())));
    pages
}

/// The paths with an unexpected response, each with that response.
async fn wrong_responses(api: &ApiClient, has_redis: bool) -> Vec<String> {
    wait_for("the console is ready", async || {
        (api.get("/readyz").await.status == 200).then_some(())
    })
    .await;
    let mut wrong = Vec::new();
    let mut check = |path: &str, response: &ApiResponse, is_expected: bool| {
        let shows_an_error = response.text.contains("No such file or directory");
        if !is_expected || shows_an_error {
            let text: String = response.text.chars().take(300).collect();
            wrong.push(format!("{path}: {} {text}", response.status));
        }
    };
    for path in documented_get_paths() {
        if path == "/api/v1/events" {
            let first = api.subscribe("", None).await.next().await;
            assert_eq!(first.expect("a stream begins").event, "snapshot");
            continue;
        }
        let response = api.get(&path).await;
        // A lock in Redis has no lease with other keys, so no node is queried for them.
        let is_without_nodes = ["/history", "/lease-keys"];
        let is_without_nodes = is_without_nodes.iter().any(|end| path.ends_with(end));
        let is_expected = match path.contains("/locks/lock") && !is_without_nodes {
            // With Redis every node reports that the lock does not exist; without it no node
            // replies.
            true if has_redis => {
                response.status == 404 && response.problem_code() == "not-observed"
            }
            true => response.status == 503 && response.problem_code() == "unreachable",
            false => response.status == 200,
        };
        check(&path, &response, is_expected);
    }
    for path in pages() {
        let response = api.get(&path).await;
        check(&path, &response, response.status == 200);
    }
    wrong
}

async fn fetch_audit(api: &ApiClient) -> Value {
    api.get("/api/v1/audit").await.json()
}

#[tokio::test]
async fn every_page_and_get_endpoint_responds_on_a_fresh_installation() {
    let nodes = RedisNodes::start(1).await;
    let console = ConsoleProcess::start_with_nodes(&nodes, &[]).await;
    let wrong = wrong_responses(&console.api, true).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        fetch_audit(&console.api).await["entries"],
        serde_json::json!([])
    );
    let page = console.api.get("/audit").await.text;
    assert!(page.contains("No operations yet"), "{page}");
    let log = console.stop().await;
    assert!(!log.contains("ERROR"), "{log}");
}

#[tokio::test]
async fn every_page_and_get_endpoint_responds_without_redis() {
    let url = format!("redis://127.0.0.1:{}", free_port());
    let console = ConsoleProcess::start(&["--redis", &url]).await;
    let wrong = wrong_responses(&console.api, false).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn without_a_writable_directory_pages_work_and_operations_are_rejected_with_the_reason() {
    let nodes = RedisNodes::start(1).await;
    // Not even root can create a directory below a file.
    let state_dir = tempfile::NamedTempFile::new().unwrap();
    let state_dir = state_dir.path().to_str().unwrap();
    let environment = [("XDG_STATE_HOME", state_dir)];
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let console = ConsoleProcess::start_with_env(&environment, &["--redis", &url]).await;
    let mut wrong = wrong_responses(&console.api, true).await;
    // An unreadable audit log must not be shown as an empty one, nor must unreadable views.
    let stored = ["/api/v1/audit", "/api/v1/views"];
    wrong.retain(|line| !stored.iter().any(|path| line.starts_with(path)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for path in stored {
        let response = console.api.get(path).await;
        response.assert_problem(503, "storage-unavailable");
    }
    let path = "/api/v1/groups/default/locks/lock%3Aa/acquire";
    let rejected = console
        .api
        .post(path, serde_json::json!({ "ttl_ms": 1000 }));
    let rejected = rejected.await;
    rejected.assert_problem(503, "audit-unavailable");
    let log = console.stop().await;
    let warning = log
        .lines()
        .find(|line| line.contains("audit log not writable"));
    let warning = warning.unwrap_or_else(|| panic!("no warning at startup: {log}"));
    for part in [state_dir, "[storage]", "Not a directory"] {
        assert!(warning.contains(part), "{part} in: {warning}");
    }
}

#[tokio::test]
async fn without_a_home_directory_the_state_is_in_var_lib_or_the_log_names_it() {
    if rustix::process::geteuid().is_root() {
        // As root the console could open the state of an installed service and change it.
        return;
    }
    let nodes = RedisNodes::start(1).await;
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    // An empty variable counts as unset.
    let environment = [
        ("HOME", ""),
        ("XDG_STATE_HOME", ""),
        ("XDG_CONFIG_HOME", ""),
    ];
    let console = ConsoleProcess::start_with_env(&environment, &["--redis", &url]).await;
    assert_eq!(console.api.get("/api/v1/locks").await.status, 200);
    let audit = console.api.get("/api/v1/audit").await;
    assert_eq!(audit.status, 200, "{}", audit.text);
    let log = console.stop().await;
    assert!(log.contains("/var/lib/lockkeeper/lockkeeper.db"), "{log}");
}

#[tokio::test]
async fn the_api_documentation_and_its_files_are_served() {
    let nodes = RedisNodes::start(1).await;
    let console = ConsoleProcess::start_with_nodes(&nodes, &[]).await;
    for path in [paths::API_DOCS, "/api/docs/"] {
        let page = console.api.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        let base = page.text.split_once("<base href=\"");
        let base = base.and_then(|(_, rest)| rest.split_once('"'));
        let base = base.unwrap_or_else(|| panic!("{path}: {}", page.text)).0;
        let markers = [
            "src=\"",
            "<link rel=\"stylesheet\" type=\"text/css\" href=\"",
        ];
        let files = markers
            .iter()
            .flat_map(|before| page.text.split(before).skip(1));
        let files: Vec<&str> = files.filter_map(|rest| rest.split('"').next()).collect();
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            let file = format!("{base}{}", file.trim_start_matches("./"));
            let response = console.api.get(&file).await;
            assert_eq!(response.status, 200, "{file}");
        }
    }
}
