//! Requests that a page of another site makes a browser send.

use crate::api::group_config;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn another_site_can_only_navigate_to_a_page() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group_config("jobs", &nodes)]).await;
    let api = console.api();
    let fetch_headers = |site: &'static str, mode: &'static str, dest: &'static str| {
        [
            ("sec-fetch-site", site),
            ("sec-fetch-mode", mode),
            ("sec-fetch-dest", dest),
        ]
    };
    for path in [
        "/api/v1/groups",
        "/api/v1/locks",
        "/api/v1/events",
        "/metrics",
        "/",
        "/healthz",
    ] {
        for (mode, dest) in [
            ("no-cors", "image"),
            ("cors", "empty"),
            ("no-cors", "script"),
            ("navigate", "iframe"),
        ] {
            for site in ["cross-site", "same-site"] {
                let response = api
                    .send("GET", path, &fetch_headers(site, mode, dest), "")
                    .await;
                assert_eq!(response.status, 403, "{path} {site} {mode} {dest}");
                assert_eq!(response.problem_code(), "forbidden");
            }
        }
    }
    for (site, mode, dest) in [
        ("cross-site", "navigate", "document"),
        ("same-site", "navigate", "document"),
        ("same-origin", "cors", "empty"),
        ("none", "navigate", "document"),
    ] {
        let response = api
            .send("GET", "/", &fetch_headers(site, mode, dest), "")
            .await;
        assert_eq!(response.status, 200, "{site} {mode} {dest}");
    }
    let response = api.get("/api/v1/groups").await;
    assert_eq!(response.status, 200);
    assert_eq!(
        response.headers["cross-origin-resource-policy"],
        "same-origin"
    );
    let policy = response.headers["permissions-policy"].to_str().unwrap();
    assert!(policy.contains("camera=()"), "{policy}");
}
