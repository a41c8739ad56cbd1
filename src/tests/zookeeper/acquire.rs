//! Locks that are acquired here exclude, and are excluded by, Curator's mutex.

use std::time::Instant;

use serde_json::json;

use super::{lock_url, start_console, wait_for_owner, wait_until_gone};
use crate::support::lock_client::LockClient;
use crate::support::zookeeper::ZookeeperServers;
use crate::support::{fault_duration, wait_for};

#[tokio::test]
async fn a_lock_acquired_here_excludes_curator_and_the_reverse() {
    let servers = ZookeeperServers::start(1).await;
    let (_console, api) = start_console(&servers).await;
    let mut curator = LockClient::curator(&servers).await;
    let url = lock_url("/locks/orders");
    let acquire = json!({ "ttl_ms": 5_000, "format": "curator", "label": "operator" });
    let acquired = api.post(&format!("{url}/acquire"), acquire.clone()).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let acquired = acquired.json();
    assert!(
        acquired["validity_ms"].as_u64().unwrap() <= 5_000,
        "{acquired}"
    );
    let lock = wait_for_owner(&api, "/locks/orders", "operator").await;
    assert_eq!(lock["format"], "curator");
    assert_eq!(lock["owner"]["fingerprint"], acquired["fingerprint"]);
    let first_fence = acquired["fencing_token"].as_u64().unwrap();

    curator.send("mutex /locks/orders b").await;
    let extend = json!({ "token": acquired["token"], "ttl_ms": 5_000 });
    let extended = api.post(&format!("{url}/extend"), extend.clone()).await;
    assert_eq!(extended.status, 200, "{}", extended.text);
    assert!(!curator.has_printed("held b"));
    let release = json!({ "token": acquired["token"] });
    let released = api.post(&format!("{url}/release"), release.clone()).await;
    assert_eq!(released.status, 200, "{}", released.text);
    curator.wait_for("held b").await;
    let extended = api.post(&format!("{url}/extend"), extend).await;
    extended.assert_problem(409, "not-owner");
    let released = api.post(&format!("{url}/release"), release).await;
    released.assert_problem(409, "not-owner");

    // Curator holds it: an attempt fails, and leaves nothing behind.
    let refused = api.post(&format!("{url}/acquire"), acquire.clone()).await;
    refused.assert_problem(409, "held");
    let mut waiting = acquire;
    waiting["wait_ms"] = 20_000.into();
    let waiting = tokio::spawn({
        let (api, url) = (api.clone(), format!("{url}/acquire"));
        async move { api.post(&url, waiting).await }
    });
    wait_for("the console waits in the queue", async || {
        let waits = api.get("/api/v1/waits?group=zk").await.json();
        (waits["locks"].as_array()?.len() == 1).then_some(())
    })
    .await;
    curator.send("release b").await;
    let acquired = waiting.await.unwrap();
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let acquired = acquired.json();
    assert!(acquired["fencing_token"].as_u64().unwrap() > first_fence);
    // Without a renewal, the lock ends with its session.
    wait_until_gone(&api, "/locks/orders").await;
    let extend = json!({ "token": acquired["token"], "ttl_ms": 5_000 });
    let extended = api.post(&format!("{url}/extend"), extend).await;
    extended.assert_problem(404, "not-held");
}

#[tokio::test]
async fn a_renewed_lock_is_held_beyond_its_session_timeout_and_noticed_when_it_is_deleted() {
    let servers = ZookeeperServers::start(3).await;
    let (_console, api) = start_console(&servers).await;
    let url = lock_url("/locks/renewed");
    let acquire =
        json!({ "ttl_ms": 1_500, "format": "curator", "label": "job", "auto_renew": true });
    let acquired = api.post(&format!("{url}/acquire"), acquire).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let fingerprint = acquired.json()["fingerprint"].clone();
    wait_for("it was renewed several times", async || {
        let lock = api.get(&url).await;
        assert!(lock.status == 200 || lock.status == 404, "{}", lock.text);
        let lock = (lock.status == 200).then(|| lock.json())?;
        assert_eq!(lock["owner"]["fingerprint"], fingerprint);
        (lock["renewals"]["count"].as_u64()? >= 5).then_some(())
    })
    .await;
    let body = json!({ "fingerprint": fingerprint, "reason": "test" });
    let released = api.post(&format!("{url}/force-release"), body).await;
    assert_eq!(released.status, 200, "{}", released.text);
    wait_until_gone(&api, "/locks/renewed").await;
}

#[tokio::test]
async fn a_path_outside_of_the_roots_is_not_acquired() {
    let servers = ZookeeperServers::start(1).await;
    let (_console, api) = start_console(&servers).await;
    for key in ["/other/a", "/locks", "orders", "/locks/../a"] {
        let url = format!("{}/acquire", lock_url(key));
        let acquire = json!({ "ttl_ms": 5_000, "format": "curator" });
        let response = api.post(&url, acquire).await;
        assert!(response.status >= 400, "{key}: {}", response.text);
    }
    // No operation reaches the servers.
    for operation in ["acquire", "extend", "release", "force-release"] {
        let url = format!("{}/{operation}", lock_url("/other/a"));
        let body = match operation {
            "acquire" => json!({ "ttl_ms": 5_000, "format": "curator" }),
            "extend" => json!({ "token": "x", "ttl_ms": 5_000 }),
            "release" => json!({ "token": "x" }),
            _ => json!({ "fingerprint": "0123456789abcdef", "reason": "its host is gone" }),
        };
        let response = api.post(&url, body).await;
        response.assert_problem(403, "outside-keys");
        assert!(response.text.contains("`roots`"), "{}", response.text);
    }
    let read = api.get(&lock_url("/other/a")).await;
    read.assert_problem(403, "outside-keys");
    let mut kazoo = LockClient::kazoo(&servers).await;
    kazoo.hold("lock", "/locks/kazoo", "web-1").await;
    let url = format!("{}/acquire", lock_url("/locks/kazoo"));
    // Curator's mutex does not see contenders of kazoo.
    let response = api
        .post(&url, json!({ "ttl_ms": 5_000, "format": "curator" }))
        .await;
    assert!(response.status >= 400, "{}", response.text);
}

/// Curator and the console enter the same critical section in turn. A file that must not exist
/// shows that two were in it.
#[tokio::test]
async fn curator_and_the_console_are_never_in_the_critical_section_together() {
    let servers = ZookeeperServers::start(3).await;
    let (_console, api) = start_console(&servers).await;
    let mut curator = LockClient::curator(&servers).await;
    let directory = tempfile::tempdir().unwrap();
    let section = directory.path().join("section");
    curator
        .send(&format!("count /locks/section {} 200", section.display()))
        .await;
    let url = lock_url("/locks/section");
    let acquire = json!({ "ttl_ms": 10_000, "wait_ms": 30_000, "format": "curator" });
    for _ in 0..50 {
        let acquired = api.post(&format!("{url}/acquire"), acquire.clone()).await;
        assert_eq!(acquired.status, 201, "{}", acquired.text);
        let file = std::fs::File::options()
            .write(true)
            .create_new(true)
            .open(&section);
        file.expect("no other holder is in the critical section");
        std::fs::remove_file(&section).unwrap();
        let release = json!({ "token": acquired.json()["token"] });
        let released = api.post(&format!("{url}/release"), release).await;
        assert_eq!(released.status, 200, "{}", released.text);
    }
    curator.wait_for("counted 200").await;
}

/// The same while the leader is killed again and again, for a minute or `LOCKKEEPER_SOAK_SECONDS`. An
/// acquire or release may fail then; no two holders may be in the critical section.
#[tokio::test]
async fn curator_and_the_console_exclude_each_other_while_leaders_are_killed() {
    let mut servers = ZookeeperServers::start(3).await;
    let (_console, api) = start_console(&servers).await;
    let mut curator = LockClient::curator(&servers).await;
    let directory = tempfile::tempdir().unwrap();
    let section = directory.path().join("section");
    let rounds = 1_000_000;
    curator
        .send(&format!(
            "count /locks/section {} {rounds}",
            section.display()
        ))
        .await;
    let url = lock_url("/locks/section");
    // An election delays the response beyond this wait, and the client has a limit of its own.
    let acquire = json!({ "ttl_ms": 4_000, "wait_ms": 3_000, "format": "curator" });
    let mut entered = 0;
    let contending = async {
        loop {
            let acquired = api.post(&format!("{url}/acquire"), acquire.clone()).await;
            if acquired.status != 201 {
                assert!([409, 503].contains(&acquired.status), "{}", acquired.text);
                continue;
            }
            let file = std::fs::File::options()
                .write(true)
                .create_new(true)
                .open(&section);
            file.expect("no other holder is in the critical section");
            std::fs::remove_file(&section).unwrap();
            entered += 1;
            let release = json!({ "token": acquired.json()["token"] });
            let released = api.post(&format!("{url}/release"), release).await;
            assert!(
                [200, 404, 409, 503].contains(&released.status),
                "{}",
                released.text
            );
        }
    };
    let killing = async {
        let started_at = Instant::now();
        while started_at.elapsed() < fault_duration() {
            let leader = servers.leader().await;
            servers.servers[leader].kill().await;
            // The two others elect one of them.
            servers.leader().await;
            servers.servers[leader].restart();
            servers.wait_until_serving().await;
        }
    };
    tokio::select! {
        () = contending => unreachable!("it never ends"),
        () = killing => {}
    }
    assert!(entered > 0);
    println!("the console entered the critical section {entered} times");
    curator.assert_no_failure().await;
}
