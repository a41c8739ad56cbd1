//! What a browser asks for because a page of another site has it ask.

use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn another_site_can_lead_somebody_to_a_page_and_ask_for_nothing_else() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![group("jobs", &nodes)]).await;
    let person = console.person();
    let fetched = |site: &'static str, mode: &'static str, dest: &'static str| {
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
                let answer = person
                    .send("GET", path, &fetched(site, mode, dest), "")
                    .await;
                assert_eq!(answer.status, 403, "{path} {site} {mode} {dest}");
                assert_eq!(answer.code(), "forbidden");
            }
        }
    }
    for (site, mode, dest) in [
        ("cross-site", "navigate", "document"),
        ("same-site", "navigate", "document"),
        ("same-origin", "cors", "empty"),
        ("none", "navigate", "document"),
    ] {
        let answer = person
            .send("GET", "/", &fetched(site, mode, dest), "")
            .await;
        assert_eq!(answer.status, 200, "{site} {mode} {dest}");
    }
    let answer = person.get("/api/v1/groups").await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.headers["cross-origin-resource-policy"],
        "same-origin"
    );
    let policy = answer.headers["permissions-policy"].to_str().unwrap();
    assert!(policy.contains("camera=()"), "{policy}");
}
