//! Whoever comes is counted, by way and by what came of it, and by nothing else.

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use lockkeeper::server::config::access::ProxyConfig;

use super::{console_with, sign_in, token, try_to_sign_in, user};
use crate::api::group;
use crate::support::prometheus::lint;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn whoever_comes_is_counted_by_way_and_outcome_and_not_by_name() {
    let nodes = RedisNodes::start(1).await;
    let (secret, config) = token("prometheus", Rights::everywhere(Role::Viewer));
    let access = AccessConfig {
        users: vec![user("alice", Rights::everywhere(Role::Operator))],
        tokens: vec![config],
        proxy: Some(ProxyConfig {
            header: "x-forwarded-user".parse().unwrap(),
            from: vec!["127.0.0.2/32".parse().unwrap()],
            others: Some(Role::Viewer),
        }),
        ..AccessConfig::default()
    };
    // Time stands still: what is free is free once.
    let clock = Clock::by_hand(Clock::real().now());
    let console = console_with(vec![group("jobs", &nodes)], access, clock).await;
    let person = console.person();
    let cookie = sign_in(&person, "alice").await;
    for n in 0..20 {
        try_to_sign_in(&person, "alice", &format!("S3CRET {n}")).await;
    }
    let long = "x".repeat(2_000);
    try_to_sign_in(&person, "bob", &long).await;
    let from_proxy = console.person().calling_from([127, 0, 0, 2]);
    let headers = [("x-forwarded-user", "S3CRET-carol")];
    from_proxy.send("GET", "/api/v1/groups", &headers, "").await;
    for authorization in ["Bearer lk_S3CRET_00", "Basic S3CRET"] {
        let headers = [("authorization", authorization)];
        person.send("GET", "/api/v1/groups", &headers, "").await;
    }
    let authorization = format!("Bearer {secret}");
    let headers = [("authorization", authorization.as_str())];
    let page = person.send("GET", "/metrics", &headers, "").await.text;
    for (way, outcome, n) in [
        ("password", "done", 1),
        ("token", "done", 1),
        ("token", "refused", 2),
        ("proxy", "done", 1),
        ("provider", "done", 0),
        ("provider", "refused", 0),
    ] {
        let line =
            format!("lockkeeper_sign_ins_total{{outcome=\"{outcome}\",way=\"{way}\"}} {n}\n");
        assert!(page.contains(&line), "{line}{page}");
    }
    let of = |outcome: &str| -> u32 {
        let name = format!("lockkeeper_sign_ins_total{{outcome=\"{outcome}\",way=\"password\"}} ");
        let n = page.lines().find_map(|line| line.strip_prefix(&name));
        n.unwrap().parse().unwrap()
    };
    // Some are looked at; then nobody looks at them for a while. One is too long to be looked at at all.
    assert!(of("refused") > 1 && of("too-often") > 1, "{page}");
    assert_eq!(of("refused") + of("too-often"), 21);
    for name in ["S3CRET", "alice", "bob", "prometheus\"", "127.0.0.2"] {
        assert!(!page.contains(name), "{name}: {page}");
    }
    lint(&page).await;
    // A session that goes on is nobody who comes.
    let before = page;
    person
        .send("GET", "/api/v1/groups", &[("cookie", &cookie)], "")
        .await;
    let page = person.send("GET", "/metrics", &headers, "").await.text;
    let done = |page: &str| {
        page.matches("outcome=\"done\",way=\"password\"} 1\n")
            .count()
    };
    assert_eq!((done(&before), done(&page)), (1, 1));
}
