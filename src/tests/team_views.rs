//! Views of the lock list that all users share: the store on both databases, and the API with its
//! permissions and its audit entries.

use lockkeeper::domain::role::Role;
use lockkeeper::domain::{LockKey, TeamView, Timestamp};
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{AccessConfig, Config, GroupConfig, StorageConfig};
use lockkeeper::server::storage::Storage;
use lockkeeper::server::team_views::{TeamViewStore, TeamViewsFull};
use serde_json::{Value, json};

use crate::access::{api_token, role_grant, start_console_with_access};
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;

/// Names that could break a URL, a page, a terminal or a statement.
const HOSTILE_NAMES: [&str; 5] = [
    "../../etc/passwd?a=b#c",
    "<script>alert(1)</script>",
    "'; DROP TABLE team_view; --",
    "\u{202e}evil %00 %2F",
    "支付锁 🔒",
];

fn view(name: &str, path: &str) -> TeamView {
    TeamView {
        name: name.to_owned(),
        path: path.to_owned(),
        saved_by: "ada".to_owned(),
        saved_at: Timestamp::from_millis(1_795_200_000_123),
    }
}

async fn assert_views_are_stored(config: &StorageConfig) {
    let store = TeamViewStore::new(Storage::new(config, true));
    let other = TeamViewStore::new(Storage::new(config, true));
    assert_eq!(store.list().await.unwrap(), []);
    let mut names = HOSTILE_NAMES;
    for name in names {
        let saved = store.save(view(name, "/?q=a")).await.unwrap();
        assert_eq!(saved, Ok(None), "{name}");
    }
    names.sort_unstable();
    let expected = names.map(|name| view(name, "/?q=a"));
    assert_eq!(other.list().await.unwrap(), expected);

    let renewed = TeamView {
        saved_by: "bob".to_owned(),
        saved_at: Timestamp::from_millis(2),
        ..view(names[0], "/")
    };
    let before = Ok(Some("/?q=a".to_owned()));
    assert_eq!(other.save(renewed.clone()).await.unwrap(), before);
    assert_eq!(store.list().await.unwrap()[0], renewed);
    let deleted = store.delete(names[0]).await.unwrap();
    assert_eq!(deleted.as_deref(), Some("/"));
    assert_eq!(other.delete(names[0]).await.unwrap(), None);
    assert_eq!(other.list().await.unwrap(), expected[1..]);

    for n in names.len() - 1..TeamView::MAX_VIEWS {
        let saved = store.save(view(&format!("view {n}"), "/")).await.unwrap();
        assert_eq!(saved, Ok(None), "{n}");
    }
    let full = store.save(view("one more", "/")).await.unwrap();
    assert_eq!(full, Err(TeamViewsFull));
    let replaced = store.save(view("view 100", "/?q=b")).await.unwrap();
    assert_eq!(replaced, Ok(Some("/".to_owned())));
    assert_eq!(other.list().await.unwrap().len(), TeamView::MAX_VIEWS);
}

#[tokio::test]
async fn views_are_stored_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let config = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
    assert_views_are_stored(&config).await;
}

#[tokio::test]
async fn views_are_stored_on_postgresql() {
    let server = Postgres::start().await;
    assert_views_are_stored(&StorageConfig::postgres(server.url())).await;
}

async fn start(nodes: &RedisNodes, storage: StorageConfig) -> TestConsole {
    let config = Config {
        storage,
        ..Config::with_groups(vec![GroupConfig::new("default", nodes.urls())])
    };
    TestConsole::start_with_config(config, Clock::system()).await
}

fn view_path(name: &[u8]) -> String {
    format!("/api/v1/views/{}", LockKey::new(name).encoded())
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn save(api: &ApiClient, name: &str, path: &str) -> ApiResponse {
    let body = json!({"path": path}).to_string();
    let address = view_path(name.as_bytes());
    api.send("PUT", &address, &[JSON], body).await
}

async fn delete(api: &ApiClient, name: &str) -> ApiResponse {
    let address = view_path(name.as_bytes());
    api.send("DELETE", &address, &[], "").await
}

/// Names and paths of the views.
async fn listed(api: &ApiClient) -> Vec<[String; 2]> {
    let list = api.get("/api/v1/views").await.json();
    let views = list["views"].as_array().unwrap().iter();
    let text = |view: &Value, field: &str| view[field].as_str().unwrap().to_owned();
    views
        .map(|view| [text(view, "name"), text(view, "path")])
        .collect()
}

#[tokio::test]
async fn a_view_is_saved_replaced_and_deleted_for_all_and_survives_a_restart() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let storage = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
    let console = start(&nodes, storage.clone()).await;
    let api = console.api();
    assert_eq!(listed(&api).await, [[""; 2]; 0]);
    let saved = save(&api, "stuck", "/?q=held%3E10m").await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    for field in ["name", "path", "saved_by", "saved_at"] {
        assert!(saved.json()[field].is_string(), "{}", saved.text);
    }
    for name in HOSTILE_NAMES {
        let saved = save(&api, name, "/").await;
        assert_eq!(saved.status, 200, "{}", saved.text);
        assert_eq!(saved.json()["name"], name);
        assert_eq!(delete(&api, name).await.status, 204, "{name}");
    }
    save(&api, "stuck", "/?q=held%3E1h").await;
    save(&api, "all", "/").await;
    console.stop().await;

    let console = start(&nodes, storage).await;
    let api = console.api();
    let expected = [["all", "/"], ["stuck", "/?q=held%3E1h"]];
    assert_eq!(listed(&api).await, expected);
    for _ in 0..2 {
        let deleted = delete(&api, "stuck").await;
        assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    }
    assert_eq!(listed(&api).await, expected[..1]);

    let changes = audited(&api, &[]).await;
    let change = |entry: &Value| {
        let detail = &entry["detail"];
        assert_eq!(detail["code"], "view", "{entry}");
        detail["message"].as_str().unwrap().to_owned()
    };
    let messages: Vec<String> = changes.iter().map(change).collect();
    assert_eq!(
        messages[..4],
        [
            "view \"stuck\"",
            "view \"stuck\": was /?q=held%3E1h",
            "view \"all\": /",
            "view \"stuck\": /?q=held%3E10m → /?q=held%3E1h",
        ]
    );
}

/// The audit entries of changes of views, the newest first.
async fn audited(api: &ApiClient, headers: &[(&str, &str)]) -> Vec<Value> {
    let log = api.send("GET", "/api/v1/audit?limit=1000", headers, "");
    let log = log.await.json();
    let entries = log["entries"].as_array().unwrap().iter();
    let is_change = |entry: &&Value| {
        let action = entry["action"].as_str();
        action == Some("save-view") || action == Some("delete-view")
    };
    entries.filter(is_change).cloned().collect()
}

#[tokio::test]
async fn names_and_paths_that_are_not_those_of_the_list_are_rejected() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![GroupConfig::new("default", nodes.urls())]).await;
    let api = console.api();
    let (long_name, long_path) = ("é".repeat(81), format!("/?q={}", "a".repeat(2_000)));
    for (name, path) in [
        ("a\u{1b}b", "/"),
        (" ", "/"),
        (&long_name, "/"),
        ("a", "//example.com"),
        ("a", "https://example.com/"),
        ("a", "/sign-in?next=/"),
        ("a", ""),
        ("a", &long_path),
    ] {
        let rejected = save(&api, name, path).await;
        rejected.assert_problem(422, "impossible");
    }
    for body in ["{}", r#"{"path":1}"#, r#"{"path":"/","more":1}"#, "[\"/\"]"] {
        let rejected = api.send("PUT", &view_path(b"a"), &[JSON], body).await;
        rejected.assert_problem(400, "bad-request");
    }
    for method in ["PUT", "DELETE"] {
        let address = view_path(b"\xff");
        let rejected = api.send(method, &address, &[JSON], r#"{"path":"/"}"#);
        rejected.await.assert_problem(400, "bad-request");
    }
    let rejected = delete(&api, &long_name).await;
    rejected.assert_problem(422, "impossible");
    assert_eq!(listed(&api).await, [[""; 2]; 0]);
    for entry in audited(&api, &[]).await {
        assert_eq!(entry["result"], "refused", "{entry}");
        assert!(entry.to_string().len() < 1_500, "{entry}");
    }

    for n in 0..TeamView::MAX_VIEWS {
        assert_eq!(save(&api, &format!("view {n}"), "/").await.status, 200);
    }
    let rejected = save(&api, "one more", "/").await;
    rejected.assert_problem(422, "impossible");
    assert_eq!(rejected.json()["cause"]["code"], "too-many-views");
    assert_eq!(save(&api, "view 7", "/?q=a").await.status, 200);
}

#[tokio::test]
async fn every_user_reads_views_and_operators_change_them() {
    let nodes = RedisNodes::start(1).await;
    let (mut access, mut bearers) = (AccessConfig::default(), Vec::new());
    for (id, grant) in [
        ("viewer", role_grant(Role::Viewer, None, None)),
        ("operator", role_grant(Role::Operator, None, None)),
        (
            "scoped",
            role_grant(Role::Operator, Some(&["other"]), Some(&["x*"])),
        ),
        ("admin", role_grant(Role::Admin, None, None)),
    ] {
        let (secret, config) = api_token(id, grant);
        access.tokens.push(config);
        bearers.push(format!("Bearer {secret}"));
    }
    let group = GroupConfig::new("default", nodes.urls());
    let console = start_console_with_access(vec![group], access, Clock::system()).await;
    let api = console.api();
    let address = view_path(b"stuck");
    let body = r#"{"path":"/?q=a"}"#;
    let send = async |caller: usize, method: &str, path: &str| {
        let headers = [("authorization", bearers[caller].as_str()), JSON];
        api.send(method, path, &headers, body).await.status
    };
    for (caller, changed, deleted) in [(0, 403, 403), (1, 200, 204), (2, 200, 204), (3, 200, 204)] {
        assert_eq!(send(caller, "GET", "/api/v1/views").await, 200, "{caller}");
        assert_eq!(send(caller, "PUT", &address).await, changed, "{caller}");
        assert_eq!(send(caller, "DELETE", &address).await, deleted, "{caller}");
    }
    for (method, path) in [
        ("GET", "/api/v1/views"),
        ("PUT", &address),
        ("DELETE", &address),
    ] {
        let rejected = api.send(method, path, &[JSON], body).await;
        rejected.assert_problem(401, "sign-in-required");
    }
    let cross_site = [
        ("authorization", bearers[3].as_str()),
        JSON,
        ("sec-fetch-site", "cross-site"),
    ];
    for method in ["PUT", "DELETE"] {
        let rejected = api.send(method, &address, &cross_site, body).await;
        rejected.assert_problem(403, "forbidden");
    }

    let headers = [("authorization", bearers[3].as_str())];
    let mut entries = audited(&api, &headers).await;
    entries.reverse();
    let word = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let entries: Vec<[String; 3]> = entries
        .iter()
        .map(|entry| ["actor", "action", "result"].map(|field| word(entry, field)))
        .collect();
    assert_eq!(
        entries,
        [
            ["viewer", "save-view", "refused"],
            ["viewer", "delete-view", "refused"],
            ["operator", "save-view", "done"],
            ["operator", "delete-view", "done"],
            ["scoped", "save-view", "done"],
            ["scoped", "delete-view", "done"],
            ["admin", "save-view", "done"],
            ["admin", "delete-view", "done"],
            ["admin", "save-view", "refused"],
            ["admin", "delete-view", "refused"],
        ]
    );
}

#[tokio::test]
async fn without_a_database_views_are_unavailable() {
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let console = start(&nodes, StorageConfig::sqlite(file.join("lockkeeper.db"))).await;
    let api = console.api();
    let list = api.get("/api/v1/views").await;
    list.assert_problem(503, "storage-unavailable");
    let rejected = save(&api, "a", "/").await;
    assert_eq!(rejected.status, 503, "{}", rejected.text);
    assert_eq!(api.get("/api/v1/locks").await.status, 200);
}
