//! Outages, replicas and missing permissions.

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{
    LagSource, LagUnit, NodeOutcome, NodeState, ReplicationRole, Standby, Verdict,
};

use super::{TestGroup, connect, group_config, outcome_of, run};
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::{wait_for, wait_until};

#[tokio::test]
async fn a_lock_is_unknown_while_the_server_is_down_and_absent_after_its_restart() {
    let mut server = Postgres::start().await;
    let console = TestConsole::start(vec![group_config(&server.url())]).await;
    let api = console.api();
    let mut client = connect(&server, "billing").await;
    run(&mut client, "SELECT pg_advisory_lock(1)").await;
    run(&mut client, super::lock_tables::SHEDLOCK).await;
    api.wait_for_lock_count(2).await;
    server.kill().await;
    let path = "/api/v1/groups/db/locks/advisory%3A1";
    wait_until("the verdict is unknown", async || {
        let list = api.get("/api/v1/locks").await.json();
        let locks = list["locks"].as_array().unwrap();
        let all = locks
            .iter()
            .all(|lock| super::verdict_of(lock) == Verdict::Unknown);
        locks.len() == 2 && all
    })
    .await;
    assert_eq!(api.first_node().await["state"], "down");
    server.restart().await;
    wait_until(
        "the row is held again, and the advisory lock is gone",
        async || {
            let list = api.get("/api/v1/locks").await.json();
            let locks = list["locks"].as_array().unwrap();
            locks.len() == 1 && super::verdict_of(&locks[0]) == Verdict::Held
        },
    )
    .await;
    api.get(path).await.assert_problem(404, "not-observed");
    console.stop().await;
}

#[tokio::test]
async fn nothing_is_reported_absent_or_released_while_the_server_is_down() {
    let mut server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url()));
    let mut client = connect(&server, "billing").await;
    run(&mut client, "SELECT pg_advisory_lock(1)").await;
    let owner = group.wait_for_owner("advisory:1", "billing@").await;
    server.kill().await;
    let outcome = group.force_release("advisory:1", &owner).await;
    assert!(
        matches!(
            outcome_of(&outcome),
            NodeOutcome::Failed {
                reason: Reason::NothingChanged { .. }
            }
        ),
        "{outcome:?}"
    );
    assert!(group.read("advisory:1").await.is_err());
    wait_until("the server is down", async || {
        group.server().state == NodeState::Down
    })
    .await;
    server.restart().await;
    group.wait_until_absent("advisory:1").await;
    assert_eq!(group.server().role, Some(ReplicationRole::Primary));
}

#[tokio::test]
async fn a_replica_is_refused() {
    let primary = Postgres::start().await;
    let mut client = connect(&primary, "app").await;
    run(&mut client, super::lock_tables::SHEDLOCK).await;
    let replica = primary.start_replica().await;
    let group = TestGroup::start(group_config(&replica.url()));
    wait_until("the replica is refused", async || {
        group.server().state == NodeState::Refused
    })
    .await;
    let view = group.server();
    assert_eq!(
        (view.role, view.reason),
        (Some(ReplicationRole::Replica), Some(Reason::Replica))
    );
    let reading = group.read("public.shedlock:nightly").await;
    assert_eq!(reading.unwrap_err().reason(), &Reason::Replica);
    replica.promote().await;
    group.wait_for_lock("public.shedlock:nightly").await;
    assert_eq!(group.server().role, Some(ReplicationRole::Primary));
}

#[tokio::test]
async fn the_primary_shows_how_far_its_standby_is_behind() {
    let primary = Postgres::start().await;
    let group = TestGroup::start(group_config(&primary.url()));
    let standby = primary.start_replica().await;
    let streaming = |standby: &Standby| {
        standby.state == "streaming" && standby.lag.is_some_and(|lag| lag.value == 0)
    };
    wait_until("the standby has replayed everything", async || {
        let standbys = group.server().standbys;
        standbys.len() == 1 && standbys.iter().all(streaming)
    })
    .await;
    // A paused replay receives changes and does not apply them.
    let mut replica = connect(&standby, "admin").await;
    run(&mut replica, "SELECT pg_wal_replay_pause()").await;
    let mut client = connect(&primary, "app").await;
    run(&mut client, super::lock_tables::SHEDLOCK).await;
    let lagging = wait_for("the standby lags", async || {
        let standby = group.server().standbys.into_iter().next()?;
        standby.lag.filter(|lag| lag.value > 0)
    })
    .await;
    assert_eq!(
        (lagging.unit, lagging.source),
        (LagUnit::Bytes, LagSource::ReplayLsn)
    );
    run(&mut replica, "SELECT pg_wal_replay_resume()").await;
    wait_until("the standby has caught up", async || {
        group.server().standbys.iter().all(streaming)
    })
    .await;
}

#[tokio::test]
async fn missing_permissions_are_reported_and_the_documented_role_suffices() {
    let server = Postgres::start().await;
    let mut admin = connect(&server, "admin").await;
    run(&mut admin, super::lock_tables::SHEDLOCK).await;
    run(
        &mut admin,
        "CREATE ROLE watcher LOGIN; CREATE ROLE app LOGIN",
    )
    .await;
    let url = server.url().replace("lockkeeper@", "app@");
    let mut app = <sqlx::PgConnection as sqlx::Connection>::connect(&url)
        .await
        .unwrap();
    run(&mut app, "SELECT pg_advisory_lock(1)").await;
    let url = server.url().replace("lockkeeper@", "watcher@");
    let group = TestGroup::start(group_config(&url));
    let owner = group.wait_for_owner("advisory:1", "").await;
    let permissions = || {
        let missing = group.server().missing_permissions.into_iter();
        missing
            .map(|missing| missing.permission)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        permissions(),
        [
            "pg_read_all_stats",
            "pg_signal_backend",
            "SELECT ON \"public\".\"shedlock\"",
            "UPDATE ON \"public\".\"shedlock\"",
        ]
    );
    // Without the start of the connection it cannot be told apart from a later one.
    let outcome = group.force_release("advisory:1", &owner).await;
    let NodeOutcome::Failed { reason } = outcome_of(&outcome) else {
        panic!("{outcome:?}");
    };
    assert!(reason.to_string().contains("pg_read_all_stats"), "{reason}");
    // A table that cannot be read is not a table without locks.
    let reading = group.read("public.shedlock:nightly").await;
    assert!(
        reading
            .unwrap_err()
            .reason()
            .to_string()
            .contains("GRANT SELECT")
    );
    run(&mut admin, "GRANT pg_monitor, pg_signal_backend TO watcher").await;
    run(&mut admin, "GRANT SELECT, UPDATE ON shedlock TO watcher").await;
    wait_until("no permission is missing", async || {
        permissions().is_empty()
    })
    .await;
    let owner = wait_for("the owner has its address", async || {
        let lock = group.read("advisory:1").await.ok()??;
        let owner = lock.owners[0].owner.clone();
        owner
            .label
            .as_deref()?
            .contains("127.0.0.1")
            .then_some(owner)
    })
    .await;
    let outcome = group.force_release("advisory:1", &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    let owner = group
        .wait_for_owner("public.shedlock:nightly", "web-1")
        .await;
    let outcome = group.force_release("public.shedlock:nightly", &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
}

#[tokio::test]
async fn a_locked_table_does_not_hide_other_locks() {
    let server = Postgres::start().await;
    let mut client = connect(&server, "app").await;
    run(&mut client, super::lock_tables::SHEDLOCK).await;
    let group = TestGroup::start(group_config(&server.url()));
    group.wait_for_lock("public.shedlock:nightly").await;
    run(&mut client, "SELECT pg_advisory_lock(1); BEGIN").await;
    run(&mut client, "LOCK TABLE shedlock IN ACCESS EXCLUSIVE MODE").await;
    group.wait_for_lock("advisory:1").await;
    wait_until("the row is unknown", async || {
        group.read("public.shedlock:nightly").await.is_err()
    })
    .await;
    assert_eq!(group.server().state, NodeState::Up);
    run(&mut client, "ROLLBACK").await;
    group.wait_for_lock("public.shedlock:nightly").await;
}

#[tokio::test]
async fn a_wrong_database_is_refused() {
    let server = Postgres::start().await;
    let group = TestGroup::start(group_config(&server.url().replace("/postgres", "/nothing")));
    wait_until("the database is refused", async || {
        group.server().state == NodeState::Refused
    })
    .await;
    let reason = group.server().reason.unwrap().to_string();
    assert!(reason.contains("nothing"), "{reason}");
}
