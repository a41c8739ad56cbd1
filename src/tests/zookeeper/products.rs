//! The trees of well-known products are shown under their names, and never changed.

use lockkeeper::server::config::ServiceConfig;
use serde_json::json;

use super::{lock_url, wait_for_owner};
use crate::support::console::TestConsole;
use crate::support::lock_client::LockClient;
use crate::support::zookeeper::ZookeeperServers;

#[tokio::test]
async fn locks_of_products_are_shown_under_their_name_and_never_changed() {
    let servers = ZookeeperServers::start(1).await;
    let mut config = servers.config();
    if let ServiceConfig::Zookeeper(zookeeper) = &mut config.service {
        zookeeper.roots = vec!["/".to_owned()];
    }
    let console = TestConsole::start(vec![config]).await;
    let api = console.api();
    let mut kazoo = LockClient::kazoo(&servers).await;
    for (path, data, label, confidence) in [
        ("/controller", "broker-1", "Kafka: broker-1", "sure"),
        (
            "/brokers/ids/1",
            "web-1:9092",
            "Kafka: web-1:9092",
            "possible",
        ),
        ("/live_nodes/web-1:8983", "-", "Solr: -", "possible"),
        ("/service/orders/leader", "db-1", "Patroni: db-1", "sure"),
    ] {
        kazoo.send(&format!("ephemeral {path} {data}")).await;
        kazoo.wait_for(&format!("created {path}")).await;
        let lock = wait_for_owner(&api, path, label).await;
        assert_eq!(lock["format"], "ephemeral-node", "{path}");
        assert_eq!(lock["confidence"], confidence, "{path}");
        let fingerprint = &lock["owner"]["fingerprint"];
        let release = json!({ "fingerprint": fingerprint, "reason": "a test", "confirm": path });
        let refused = api
            .post(&format!("{}/force-release", lock_url(path)), release)
            .await;
        refused.assert_problem(422, "not-releasable");
    }
    // A lock in the tree of a product is of the product, whatever its form is.
    let path = "/clickhouse/tables/hits/lock";
    kazoo.hold("lock", path, "replica-1").await;
    let lock = wait_for_owner(&api, path, "ClickHouse: replica-1").await;
    assert_eq!(lock["format"], "ephemeral-node");
    let acquire = json!({ "ttl_ms": 5_000, "format": "curator" });
    let path = "/clickhouse/tables/hits/other";
    let refused = api
        .post(&format!("{}/acquire", lock_url(path)), acquire)
        .await;
    refused.assert_problem(409, "wrong-type");
}
