//! The recorded history survives the death of the console, and is shared by several consoles.

use lockkeeper::domain::{Activity, GapCause, HistorySource, HoldEndReason, RecordedHold};
use redis::AsyncCommands as _;
use tokio::process::Command;

use crate::audit::{ServeProcess, serve_command, write_config};
use crate::consoles::ConsoleDeployment;
use crate::support::console::ApiClient;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_for;

/// Waits until the recorded history fulfils the condition.
async fn wait_for_history(
    api: &ApiClient,
    headers: &[(&str, &str)],
    condition: impl Fn(&Activity) -> bool,
) -> Activity {
    wait_for("the history is as expected", async || {
        let response = api.send("GET", "/api/v1/history", headers, "").await;
        let history: Activity = serde_json::from_str(&response.text).ok()?;
        (history.source == HistorySource::Storage && condition(&history)).then_some(history)
    })
    .await
}

fn hold<'a>(history: &'a Activity, key: &str) -> Option<&'a RecordedHold> {
    let mut holds = history.holds.iter();
    holds.find(|hold| hold.id.key.text() == key)
}

#[tokio::test]
async fn after_a_kill_the_history_shows_the_gap_and_the_earlier_holds_unchanged() {
    let nodes = RedisNodes::start(1).await;
    let directory = tempfile::tempdir().unwrap();
    write_config(directory.path(), &nodes, "sqlite:lockkeeper.db");
    let mut console = ServeProcess::start(serve_command(), directory.path()).await;
    let mut client = nodes.0[0].client().await;
    let () = client
        .pset_ex("lock:done", "worker-1", 600_000)
        .await
        .unwrap();
    let () = client
        .pset_ex("lock:stays", "worker-2", 600_000)
        .await
        .unwrap();
    let () = client
        .pset_ex("lock:goes", "worker-3", 600_000)
        .await
        .unwrap();
    wait_for_history(&console.api, &[], |history| history.holds.len() == 3).await;
    let () = client.del("lock:done").await.unwrap();
    let is_released = |history: &Activity| {
        hold(history, "lock:done").is_some_and(|one| one.hold.end_reason.is_some())
    };
    let before = wait_for_history(&console.api, &[], is_released).await;
    console.child.kill().await.unwrap();
    let () = client.del("lock:goes").await.unwrap();

    // The command line reads the history while no console runs, and waits for the gap to be one.
    let json = wait_for("the mark of the console is old", async || {
        let output = Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
            .args(["history", "--json"])
            .current_dir(directory.path())
            .output();
        let output = output.await.unwrap();
        let history: Activity = serde_json::from_slice(&output.stdout).unwrap();
        (!history.gaps.is_empty()).then_some(history)
    })
    .await;
    assert_eq!(json.gaps[0].cause, GapCause::ConsoleStopped);
    assert_eq!(json.gaps[0].to, None);
    let goes = hold(&json, "lock:goes").unwrap();
    assert_eq!(goes.hold.ended_at, Some(json.gaps[0].from));

    let console = ServeProcess::start(serve_command(), directory.path()).await;
    let is_continued = |history: &Activity| {
        let stays = hold(history, "lock:stays");
        history.holds.len() == 3 && stays.is_some_and(|one| one.hold.ended_at.is_none())
    };
    let after = wait_for_history(&console.api, &[], is_continued).await;
    assert_eq!(hold(&after, "lock:done"), hold(&before, "lock:done"));
    let (stays, stayed) = (hold(&after, "lock:stays"), hold(&before, "lock:stays"));
    assert_eq!(
        stays.unwrap().hold.started_at,
        stayed.unwrap().hold.started_at
    );
    let goes = &hold(&after, "lock:goes").unwrap().hold;
    assert_eq!(goes.end_reason, Some(HoldEndReason::Unknown));
    assert_eq!(goes.ended_at, Some(json.gaps[0].from));
    let gap = after.gaps[0];
    assert_eq!(
        (gap.from, gap.cause),
        (json.gaps[0].from, GapCause::ConsoleStopped)
    );
    assert!(gap.to.is_some());
    let csv = console.api.get("/api/v1/history?as=csv").await;
    assert!(
        csv.text.contains("\"gap\"") && csv.text.contains("\"lock:stays\""),
        "{}",
        csv.text
    );
}

#[tokio::test]
async fn a_pinned_page_shows_the_owner_of_its_time_and_what_is_not_recorded() {
    let nodes = RedisNodes::start(1).await;
    let directory = tempfile::tempdir().unwrap();
    write_config(directory.path(), &nodes, "sqlite:lockkeeper.db");
    let console = ServeProcess::start(serve_command(), directory.path()).await;
    let mut client = nodes.0[0].client().await;
    let () = client.pset_ex("lock:a", "web-1", 600_000).await.unwrap();
    let is_held = |history: &Activity| hold(history, "lock:a").is_some();
    let first = wait_for_history(&console.api, &[], is_held).await;
    let () = client.del("lock:a").await.unwrap();
    let is_ended =
        |history: &Activity| hold(history, "lock:a").is_some_and(|one| one.hold.ended_at.is_some());
    wait_for_history(&console.api, &[], is_ended).await;
    let () = client.pset_ex("lock:a", "web-2", 600_000).await.unwrap();
    let second = wait_for_history(&console.api, &[], |history| history.holds.len() == 2).await;

    let page = async |at: &str| {
        let path = format!("/groups/orders/locks/lock%3Aa?at={at}");
        let page = console.api.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        page.text
    };
    let owners = |history: &Activity| hold(history, "lock:a").unwrap().hold.clone();
    for shown in [owners(&first), owners(&second)] {
        let page = page(&shown.started_at.to_string()).await;
        let digits = shown.fingerprint.short();
        assert!(
            page.contains(&format!("Held by {digits} for")),
            "{digits}: {page}"
        );
        assert!(page.contains("the page does not change"), "{page}");
        assert!(!page.contains("Force release"), "{page}");
    }
    assert!(
        page("2020-01-01T00:00:00Z")
            .await
            .contains("This time is before the recording")
    );
    assert!(
        page("2100-01-01T00:00:00Z")
            .await
            .contains("This time has not come yet")
    );
    assert!(
        page("yesterday")
            .await
            .contains("The time in this link is not valid")
    );
}

#[tokio::test]
async fn of_two_consoles_with_one_postgresql_database_one_records_and_the_other_continues() {
    let mut deployment = ConsoleDeployment::start().await;
    let authorization = deployment.authorization.clone();
    let headers = [("authorization", authorization.as_str())];
    let acquire = |key: &str| format!("/api/v1/groups/orders/locks/{key}/acquire");
    let body = r#"{"ttl_ms": 600000}"#;
    let acquired = deployment.post(0, &acquire("lock%3Aa"), None, body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let is_recorded = |history: &Activity| hold(history, "lock:a").is_some();
    let first = wait_for_history(&deployment.api(0), &headers, is_recorded).await;
    let second = wait_for_history(&deployment.api(1), &headers, is_recorded).await;
    assert_eq!(first.holds, second.holds, "the hold is recorded once");

    deployment.consoles.remove(0).stop().await;
    let acquired = deployment.post(0, &acquire("lock%3Ab"), None, body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let is_recorded = |history: &Activity| hold(history, "lock:b").is_some();
    let history = wait_for_history(&deployment.api(0), &headers, is_recorded).await;
    assert_eq!(history.holds.len(), 2, "{history:?}");
    let kept = &hold(&history, "lock:a").unwrap().hold;
    assert_eq!(
        (kept.started_at, kept.ended_at),
        (first.holds[0].hold.started_at, None)
    );
}

#[tokio::test]
async fn without_postgresql_watching_goes_on_and_what_was_observed_meanwhile_is_recorded_later() {
    let mut deployment = ConsoleDeployment::start().await;
    let authorization = deployment.authorization.clone();
    let headers = [("authorization", authorization.as_str())];
    // The other console records from now on.
    deployment.consoles.remove(0).stop().await;
    let api = deployment.api(0);
    let body = r#"{"ttl_ms": 600000}"#;
    let path = "/api/v1/groups/orders/locks/lock%3Aa/acquire";
    let acquired = deployment.post(0, path, None, body).await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let is_recorded = |history: &Activity| hold(history, "lock:a").is_some();
    let before = wait_for_history(&api, &headers, is_recorded).await;

    deployment.postgres.kill().await;
    for node in &deployment.nodes.0 {
        let mut client = node.client().await;
        let () = client
            .pset_ex("lock:meanwhile", "worker-1", 600_000)
            .await
            .unwrap();
    }
    let during = wait_for("the lock is observed", async || {
        let response = api.send("GET", "/api/v1/history", &headers, "").await;
        let history: Activity = serde_json::from_str(&response.text).ok()?;
        let is_observed = hold(&history, "lock:meanwhile").is_some();
        (history.source == HistorySource::Memory && is_observed).then_some(history)
    })
    .await;

    deployment.postgres.restart().await;
    let is_recorded = |history: &Activity| hold(history, "lock:meanwhile").is_some();
    let after = wait_for_history(&api, &headers, is_recorded).await;
    let started_at = |history: &Activity, key: &str| hold(history, key).unwrap().hold.started_at;
    assert_eq!(
        started_at(&after, "lock:meanwhile"),
        started_at(&during, "lock:meanwhile")
    );
    assert_eq!(started_at(&after, "lock:a"), started_at(&before, "lock:a"));
    assert_eq!(after.holds.len(), 2, "{after:?}");
}
