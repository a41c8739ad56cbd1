//! Sentinels that decide too easily, too soon or too late: found as they say it themselves, and gone after the doctor's own fix.

use std::time::Duration;

use lockkeeper::domain::Environment;
use lockkeeper::server::config::GroupConfig;
use serde_json::Value;

use super::Visit;
use crate::support::sentinels::Watched;

const CODES: [&str; 3] = [
    "one-sentinel-decides",
    "hasty-failover",
    "failover-outlasts-leases",
];

/// Gives every sentinel the lines of a finding.
async fn mend(watched: &Watched, finding: &Value) {
    let lines = finding["commands"].as_array().unwrap();
    assert!(!lines.is_empty(), "{finding}");
    for sentinel in &watched.sentinels {
        for line in lines {
            sentinel.type_in(line.as_str().unwrap()).await;
        }
    }
}

#[tokio::test]
async fn how_sentinels_watch_is_found_until_they_watch_as_advised() {
    let watched = Watched::start().await;
    let group = GroupConfig {
        environment: Environment::Production,
        ..watched.config()
    };
    let visit = Visit::to(vec![group]).await;
    // Those of the tests are quick on purpose.
    let found = visit.finds_all("orders", &["hasty-failover"]).await;
    let hasty = &found["hasty-failover"];
    assert_eq!(hasty["severity"], "warning");
    assert_eq!(hasty["evidence"].as_array().unwrap().len(), 3);
    let evidence = hasty["evidence"][0].as_str().unwrap();
    assert!(
        evidence.contains("down-after-milliseconds 1500"),
        "{evidence}"
    );
    mend(&watched, hasty).await;
    visit.finds_none("orders", &CODES).await;

    watched.sentinels[1]
        .type_in("SENTINEL SET mymaster quorum 1")
        .await;
    let found = visit.finds_all("orders", &["one-sentinel-decides"]).await;
    let alone = &found["one-sentinel-decides"];
    assert_eq!(alone["evidence"].as_array().unwrap().len(), 1);
    assert_eq!(alone["commands"][0], "SENTINEL SET mymaster quorum 2");
    mend(&watched, alone).await;
    visit.finds_none("orders", &CODES).await;

    for sentinel in &watched.sentinels {
        let line = "SENTINEL SET mymaster down-after-milliseconds 30000";
        sentinel.type_in(line).await;
    }
    let mut client = watched.servers[0].client().await;
    let renewing = tokio::spawn(async move {
        let mut beat = tokio::time::interval(Duration::from_millis(500));
        loop {
            beat.tick().await;
            let mut set = redis::cmd("SET");
            set.arg("lock:short").arg([b'a'; 32].as_slice());
            set.arg("PX").arg(8_000);
            let () = set.query_async(&mut client).await.unwrap();
        }
    });
    let found = visit
        .finds_all("orders", &["failover-outlasts-leases"])
        .await;
    let outlasts = &found["failover-outlasts-leases"];
    let evidence = outlasts["evidence"].to_string();
    assert!(evidence.contains("lock:short: "), "{evidence}");
    mend(&watched, outlasts).await;
    visit.finds_none("orders", &CODES).await;
    renewing.abort();
}
