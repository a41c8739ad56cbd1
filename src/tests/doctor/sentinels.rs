//! Sentinels with a low quorum or a bad failover timeout: each finding is reported from their own
//! configuration and cleared by its own fix.

use std::time::Duration;

use lockkeeper::domain::Environment;
use lockkeeper::server::config::GroupConfig;
use serde_json::Value;

use super::DoctorConsole;
use crate::support::sentinels::SentinelDeployment;

const CODES: [&str; 3] = [
    "sentinel-quorum-one",
    "failover-too-early",
    "failover-slower-than-leases",
];

/// Runs the commands of a finding on every Sentinel.
async fn apply_fix(deployment: &SentinelDeployment, finding: &Value) {
    let commands = finding["commands"].as_array().unwrap();
    assert!(!commands.is_empty(), "{finding}");
    for sentinel in &deployment.sentinels {
        for command in commands {
            sentinel.run_command(command.as_str().unwrap()).await;
        }
    }
}

#[tokio::test]
async fn sentinel_settings_are_found_until_they_are_fixed() {
    let deployment = SentinelDeployment::start().await;
    let group = GroupConfig {
        environment: Environment::Production,
        ..deployment.config()
    };
    let console = DoctorConsole::start(vec![group]).await;
    // The Sentinels of the tests have a short timeout, so that failovers are fast.
    let findings = console
        .wait_until_found("orders", &["failover-too-early"])
        .await;
    let too_early = &findings["failover-too-early"];
    assert_eq!(too_early["severity"], "warning");
    assert_eq!(too_early["evidence"].as_array().unwrap().len(), 3);
    let evidence = too_early["evidence"][0].as_str().unwrap();
    assert!(
        evidence.contains("down-after-milliseconds 1500"),
        "{evidence}"
    );
    apply_fix(&deployment, too_early).await;
    console.wait_until_not_found("orders", &CODES).await;

    deployment.sentinels[1]
        .run_command("SENTINEL SET mymaster quorum 1")
        .await;
    let findings = console
        .wait_until_found("orders", &["sentinel-quorum-one"])
        .await;
    let quorum_one = &findings["sentinel-quorum-one"];
    assert_eq!(quorum_one["evidence"].as_array().unwrap().len(), 1);
    assert_eq!(quorum_one["commands"][0], "SENTINEL SET mymaster quorum 2");
    apply_fix(&deployment, quorum_one).await;
    console.wait_until_not_found("orders", &CODES).await;

    for sentinel in &deployment.sentinels {
        let command = "SENTINEL SET mymaster down-after-milliseconds 30000";
        sentinel.run_command(command).await;
    }
    let mut client = deployment.servers[0].client().await;
    let renewal = tokio::spawn(async move {
        let mut interval = tokio::time::interval(Duration::from_millis(500));
        loop {
            interval.tick().await;
            let mut set = redis::cmd("SET");
            set.arg("lock:short").arg([b'a'; 32].as_slice());
            set.arg("PX").arg(8_000);
            let () = set.query_async(&mut client).await.unwrap();
        }
    });
    let findings = console
        .wait_until_found("orders", &["failover-slower-than-leases"])
        .await;
    let too_slow = &findings["failover-slower-than-leases"];
    let evidence = too_slow["evidence"].to_string();
    assert!(evidence.contains("lock:short: "), "{evidence}");
    apply_fix(&deployment, too_slow).await;
    console.wait_until_not_found("orders", &CODES).await;
    renewal.abort();
}
