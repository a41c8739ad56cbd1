//! An installation that has never done anything: every page and everything that the API shows can be asked for, whether there is
//! a Redis or not, and whether anything can be written or not.

use lockkeeper::domain::{LockId, LockKey};
use lockkeeper::ui::paths;
use serde_json::Value;

use crate::support::console::{Answer, Person};
use crate::support::eventually;
use crate::support::process::Process;
use crate::support::redis_nodes::{RedisNodes, free_port};

/// A lock that nobody took.
const KEY: &str = "lock:nothing";

/// The paths of the document that answer to GET, with their parameters filled in.
fn documented() -> Vec<String> {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    let all = document["paths"].as_object().unwrap();
    let readable = all.iter().filter(|(_, item)| item.get("get").is_some());
    let fill = |path: &String| {
        let path = path.replace("{group}", "default").replace("{node}", "a");
        let path = path.replace("{key}", &LockKey::from(KEY).encoded());
        assert!(!path.contains('{'), "this test does not know {path}");
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
    pages
}

/// What answers otherwise than it should, each with its answer.
async fn wrong_answers(person: &Person, has_redis: bool) -> Vec<String> {
    eventually("the console is ready", async || {
        (person.get("/readyz").await.status == 200).then_some(())
    })
    .await;
    let mut wrong = Vec::new();
    let mut note = |path: &str, answer: &Answer, is_right: bool| {
        let shows_a_failure = answer.text.contains("No such file or directory");
        if !is_right || shows_a_failure {
            let text: String = answer.text.chars().take(300).collect();
            wrong.push(format!("{path}: {} {text}", answer.status));
        }
    };
    for path in documented() {
        if path == "/api/v1/events" {
            let first = person.watch("", None).await.next().await;
            assert_eq!(first.expect("a stream begins").event, "snapshot");
            continue;
        }
        let answer = person.get(&path).await;
        let is_right = match path.contains("/locks/lock") && !path.ends_with("/history") {
            // One lock that nobody can be asked about, and one that every node was asked about.
            true if has_redis => answer.status == 404 && answer.code() == "not-observed",
            true => answer.status == 503 && answer.code() == "unreachable",
            false => answer.status == 200,
        };
        note(&path, &answer, is_right);
    }
    for path in pages() {
        let answer = person.get(&path).await;
        note(&path, &answer, answer.status == 200);
    }
    wrong
}

async fn audit(person: &Person) -> Value {
    person.get("/api/v1/audit").await.json()
}

#[tokio::test]
async fn every_page_and_every_get_of_the_api_answers_before_anything_was_done() {
    let nodes = RedisNodes::start(1).await;
    let console = Process::on(&nodes, &[]).await;
    let wrong = wrong_answers(&console.person, true).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(audit(&console.person).await["acts"], serde_json::json!([]));
    let page = console.person.get("/audit").await.text;
    assert!(page.contains("Nothing was done that fits"), "{page}");
    let log = console.stop().await;
    assert!(!log.contains("ERROR"), "{log}");
}

#[tokio::test]
async fn every_page_and_every_get_of_the_api_answers_without_any_redis() {
    let url = format!("redis://127.0.0.1:{}", free_port());
    let console = Process::serve(&["--redis", &url]).await;
    let wrong = wrong_answers(&console.person, false).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn where_nothing_can_be_written_the_console_shows_everything_and_says_why_it_does_nothing() {
    let nodes = RedisNodes::start(1).await;
    // Nobody, not even root, makes a folder below a file.
    let place = tempfile::NamedTempFile::new().unwrap();
    let place = place.path().to_str().unwrap();
    let environment = [("XDG_STATE_HOME", place)];
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let console = Process::serve_in(&environment, &["--redis", &url]).await;
    let mut wrong = wrong_answers(&console.person, true).await;
    // An audit that cannot be read is not shown as an empty one.
    wrong.retain(|line| !line.starts_with("/api/v1/audit"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unread = console.person.get("/api/v1/audit").await;
    unread.is(503, "storage-unavailable");
    let path = "/api/v1/groups/default/locks/lock%3Aa/acquire";
    let refused = console
        .person
        .post(path, serde_json::json!({ "ttl_ms": 1000 }));
    let refused = refused.await;
    refused.is(503, "audit-unavailable");
    let log = console.stop().await;
    let warning = log
        .lines()
        .find(|line| line.contains("operations will be refused"));
    let warning = warning.unwrap_or_else(|| panic!("no word at the start: {log}"));
    for part in [place, "[storage]", "Not a directory"] {
        assert!(warning.contains(part), "{part} in: {warning}");
    }
}

#[tokio::test]
async fn without_a_home_the_audit_is_in_the_folder_of_the_system_or_the_console_says_why_not() {
    if rustix::process::geteuid().is_root() {
        // It would find the state of a real service, and could change it.
        return;
    }
    let nodes = RedisNodes::start(1).await;
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    // An empty variable is none.
    let environment = [
        ("HOME", ""),
        ("XDG_STATE_HOME", ""),
        ("XDG_CONFIG_HOME", ""),
    ];
    let console = Process::serve_in(&environment, &["--redis", &url]).await;
    assert_eq!(console.person.get("/api/v1/locks").await.status, 200);
    let audit = console.person.get("/api/v1/audit").await;
    assert_eq!(audit.status, 200, "{}", audit.text);
    let log = console.stop().await;
    assert!(log.contains("/var/lib/lockkeeper/lockkeeper.db"), "{log}");
}

#[tokio::test]
async fn the_documentation_of_the_api_is_served_where_it_is_said_to_be() {
    let nodes = RedisNodes::start(1).await;
    let console = Process::on(&nodes, &[]).await;
    for path in [paths::API_DOCS, "/api/docs/"] {
        let page = console.person.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        let base = page.text.split_once("<base href=\"");
        let base = base.and_then(|(_, rest)| rest.split_once('"'));
        let base = base.unwrap_or_else(|| panic!("{path}: {}", page.text)).0;
        let named = [
            "src=\"",
            "<link rel=\"stylesheet\" type=\"text/css\" href=\"",
        ];
        let files = named
            .iter()
            .flat_map(|before| page.text.split(before).skip(1));
        let files: Vec<&str> = files.filter_map(|rest| rest.split('"').next()).collect();
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            let file = format!("{base}{}", file.trim_start_matches("./"));
            let answer = console.person.get(&file).await;
            assert_eq!(answer.status, 200, "{file}");
        }
    }
}
