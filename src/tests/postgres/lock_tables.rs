//! The lock tables of libraries, with rows as the libraries write them.

use lockkeeper::domain::{Format, Lease};
use lockkeeper::server::config::LockTable;

use super::{TestGroup, connect, group_config, outcome_of, run, run_in_background, with_table};
use crate::support::postgres::Postgres;
use lockkeeper::domain::NodeOutcome;
use sqlx::PgConnection;

/// The table as the documentation of ShedLock creates it for PostgreSQL, and its statement for a new
/// lock with the database's time.
pub const SHEDLOCK: &str = "
    CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL,
        locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name));
    INSERT INTO shedlock(name, lock_until, locked_at, locked_by) VALUES
        ('nightly', timezone('utc', CURRENT_TIMESTAMP) + interval '10 minutes',
            timezone('utc', CURRENT_TIMESTAMP), 'web-1'),
        ('expired', timezone('utc', CURRENT_TIMESTAMP) - interval '1 minute',
            timezone('utc', CURRENT_TIMESTAMP) - interval '2 minutes', 'web-1');";

/// The table and rows of Liquibase 4.
const LIQUIBASE: &str = "
    CREATE TABLE public.databasechangeloglock (ID INTEGER NOT NULL, LOCKED BOOLEAN NOT NULL,
        LOCKGRANTED TIMESTAMP WITHOUT TIME ZONE, LOCKEDBY VARCHAR(255),
        CONSTRAINT databasechangeloglock_pkey PRIMARY KEY (ID));
    INSERT INTO public.databasechangeloglock (ID, LOCKED) VALUES (1, FALSE);
    UPDATE public.databasechangeloglock SET LOCKED = TRUE, LOCKEDBY = 'web-1 (10.0.0.1)',
        LOCKGRANTED = NOW() WHERE ID = 1 AND LOCKED = FALSE;";

/// The table and a row of Spring Integration's `JdbcLockRegistry`.
const SPRING: &str = "
    CREATE TABLE INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL,
        CLIENT_ID CHAR(36), CREATED_DATE TIMESTAMP NOT NULL,
        constraint INT_LOCK_PK primary key (LOCK_KEY, REGION));
    INSERT INTO INT_LOCK VALUES ('a1b2c3d4-0000-3000-8000-000000000001', 'DEFAULT',
        'c1b2c3d4-0000-4000-8000-000000000002', now());";

/// The table of Spring Integration 7, which stores the expiry.
const SPRING_7: &str = "
    CREATE TABLE INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL,
        CLIENT_ID CHAR(36), EXPIRED_AFTER TIMESTAMP NOT NULL,
        constraint INT_LOCK_PK primary key (LOCK_KEY, REGION));
    INSERT INTO INT_LOCK VALUES ('a1b2c3d4-0000-3000-8000-000000000001', 'DEFAULT',
        'c1b2c3d4-0000-4000-8000-000000000002', timezone('utc', now()) + interval '1 minute');";

/// The table and row of knex 3.
const KNEX: &str = "
    create table \"knex_migrations_lock\" (\"index\" serial primary key, \"is_locked\" integer);
    insert into \"knex_migrations_lock\" (\"is_locked\") values (0);
    update \"knex_migrations_lock\" set \"is_locked\" = 1 where \"is_locked\" = 0;";

/// The table of db-scheduler 15 and a picked execution.
const DB_SCHEDULER: &str = "
    create table scheduled_tasks (task_name text not null, task_instance text not null,
        task_data bytea, execution_time timestamp with time zone not null, picked BOOLEAN not null,
        picked_by text, last_success timestamp with time zone, last_failure timestamp with time zone,
        consecutive_failures INT, last_heartbeat timestamp with time zone, version BIGINT not null,
        priority SMALLINT, PRIMARY KEY (task_name, task_instance));
    insert into scheduled_tasks(task_name, task_instance, execution_time, picked, version)
        values ('mail', 'once', now(), false, 1), ('report', 'daily', now(), false, 1);
    update scheduled_tasks set picked = true, picked_by = 'worker-1', last_heartbeat = now(),
        version = version + 1 where picked = false and task_name = 'mail' and version = 1;";

/// The table of Solid Queue 1 and the statements of two jobs with `limits_concurrency`: the first
/// creates the semaphore of its key, the second finds no permit. The other key has permits left.
const SOLID_QUEUE: &str = "
    CREATE TABLE solid_queue_semaphores (id bigserial primary key, \"key\" character varying NOT NULL,
        value integer DEFAULT 1 NOT NULL, expires_at timestamp(6) without time zone NOT NULL,
        created_at timestamp(6) without time zone NOT NULL,
        updated_at timestamp(6) without time zone NOT NULL);
    CREATE UNIQUE INDEX index_solid_queue_semaphores_on_key ON solid_queue_semaphores (\"key\");
    INSERT INTO solid_queue_semaphores (\"key\", value, expires_at, created_at, updated_at) VALUES
        ('InvoiceJob/eu', 0, timezone('utc', now()) + interval '3 minutes',
            timezone('utc', now()), timezone('utc', now())),
        ('MailJob/eu', 2, timezone('utc', now()) + interval '3 minutes',
            timezone('utc', now()), timezone('utc', now()))
        ON CONFLICT (\"key\") DO NOTHING;
    UPDATE solid_queue_semaphores SET value = value - 1,
        expires_at = timezone('utc', now()) + interval '3 minutes'
        WHERE value > 0 AND \"key\" = 'InvoiceJob/eu';";
/// The statement at the end of a job, with its limit.
const SOLID_QUEUE_SIGNAL: &str = "UPDATE solid_queue_semaphores SET value = value + 1,
    expires_at = timezone('utc', now()) + interval '3 minutes'
    WHERE \"key\" = 'InvoiceJob/eu' AND value < 1";
const SOLID_QUEUE_WAIT: &str = "UPDATE solid_queue_semaphores SET value = value - 1,
    expires_at = timezone('utc', now()) + interval '3 minutes'
    WHERE value > 0 AND \"key\" = 'InvoiceJob/eu'";

/// The table of Quartz with the rows of one scheduler.
pub const QUARTZ: &str = "
    CREATE TABLE QRTZ_LOCKS (SCHED_NAME VARCHAR(120) NOT NULL, LOCK_NAME VARCHAR(40) NOT NULL,
        PRIMARY KEY (SCHED_NAME, LOCK_NAME));
    INSERT INTO QRTZ_LOCKS VALUES ('s', 'TRIGGER_ACCESS'), ('s', 'STATE_ACCESS');";
/// Locks one of its rows.
pub const QUARTZ_LOCK: &str = "BEGIN; SELECT * FROM QRTZ_LOCKS WHERE SCHED_NAME = 's' \
    AND LOCK_NAME = 'TRIGGER_ACCESS' FOR UPDATE";

async fn count(client: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(client).await.unwrap()
}

async fn start(sql: &str) -> (Postgres, PgConnection, TestGroup) {
    let server = Postgres::start().await;
    let mut client = connect(&server, "app").await;
    run(&mut client, sql).await;
    let group = TestGroup::start(group_config(&server.url()));
    (server, client, group)
}

/// Releases the lock of this owner, then once more.
async fn release_twice(group: &TestGroup, key: &str, label: &str) {
    let owner = group.wait_for_owner(key, label).await;
    let outcome = group.force_release(key, &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released, "{key}");
    let outcome = group.force_release(key, &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::NotHeld, "{key}");
}

#[tokio::test]
async fn a_shedlock_row_expires_and_is_released_without_being_deleted() {
    let (_server, mut client, group) = start(SHEDLOCK).await;
    let key = "public.shedlock:nightly";
    let lock = group.wait_for_lock(key).await;
    assert_eq!(lock.format, Format::ShedLock);
    assert!(
        matches!(
            lock.lease,
            Lease::Expires {
                left_ms: 500_000..=600_000,
                ..
            }
        ),
        "{lock:?}"
    );
    assert!(lock.claimed_at.is_some());
    assert_eq!(group.read("public.shedlock:expired").await, Ok(None));
    release_twice(&group, key, "web-1").await;
    let rows = count(&mut client, "SELECT count(*) FROM shedlock").await;
    assert_eq!(rows, 2, "the library remembers that the row exists");
}

#[tokio::test]
async fn a_liquibase_lock_never_expires_and_is_released() {
    let (_server, mut client, group) = start(LIQUIBASE).await;
    let key = "public.databasechangeloglock:1";
    let lock = group.wait_for_lock(key).await;
    assert_eq!((lock.format, lock.lease), (Format::Liquibase, Lease::Never));
    release_twice(&group, key, "web-1 (10.0.0.1)").await;
    let sql = "SELECT count(*) FROM databasechangeloglock WHERE NOT locked AND lockedby IS NULL \
        AND lockgranted IS NULL";
    assert_eq!(count(&mut client, sql).await, 1);
}

#[tokio::test]
async fn a_row_of_spring_integration_is_deleted() {
    let client_id = "c1b2c3d4-0000-4000-8000-000000000002";
    let key = "public.int_lock:DEFAULT/a1b2c3d4-0000-3000-8000-000000000001";
    let (_server, mut client, group) = start(SPRING).await;
    let lock = group.wait_for_lock(key).await;
    assert_eq!(
        (lock.format, lock.lease),
        (Format::SpringJdbc, Lease::Session)
    );
    release_twice(&group, key, client_id).await;
    assert_eq!(count(&mut client, "SELECT count(*) FROM int_lock").await, 0);

    let (_server, mut client, group) = start(SPRING_7).await;
    let lock = group.wait_for_lock(key).await;
    assert!(matches!(lock.lease, Lease::Expires { .. }), "{lock:?}");
    release_twice(&group, key, client_id).await;
    assert_eq!(count(&mut client, "SELECT count(*) FROM int_lock").await, 0);
}

#[tokio::test]
async fn a_knex_lock_has_no_owner_but_its_holds_differ() {
    let (_server, mut client, group) = start(KNEX).await;
    let key = "public.knex_migrations_lock:1";
    let first = group.wait_for_lock(key).await;
    assert_eq!((first.format, first.lease), (Format::Knex, Lease::Never));
    run(&mut client, "UPDATE knex_migrations_lock SET is_locked = 0").await;
    run(&mut client, "UPDATE knex_migrations_lock SET is_locked = 1").await;
    let outcome = group.force_release(key, &first.owners[0].owner).await;
    assert!(
        matches!(outcome_of(&outcome), NodeOutcome::OtherOwner { .. }),
        "{outcome:?}"
    );
    release_twice(&group, key, "").await;
    let sql = "SELECT count(*) FROM knex_migrations_lock WHERE is_locked = 0";
    assert_eq!(count(&mut client, sql).await, 1);
}

#[tokio::test]
async fn a_picked_execution_of_db_scheduler_survives_its_heartbeats() {
    let (_server, mut client, group) = start(DB_SCHEDULER).await;
    let key = "public.scheduled_tasks:mail/once";
    let lock = group.wait_for_lock(key).await;
    assert_eq!(
        (lock.format, lock.lease),
        (Format::DbScheduler, Lease::Session)
    );
    assert_eq!(
        group.read("public.scheduled_tasks:report/daily").await,
        Ok(None)
    );
    run(
        &mut client,
        "update scheduled_tasks set last_heartbeat = now() where version = 2",
    )
    .await;
    let outcome = group.force_release(key, &lock.owners[0].owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    let sql = "SELECT count(*) FROM scheduled_tasks WHERE NOT picked AND version = 3";
    assert_eq!(count(&mut client, sql).await, 1);
}

#[tokio::test]
async fn a_concurrency_limit_of_solid_queue_is_released_as_at_the_end_of_a_job() {
    let (_server, mut client, group) = start(SOLID_QUEUE).await;
    let key = "public.solid_queue_semaphores:InvoiceJob/eu";
    let first = group.wait_for_lock(key).await;
    assert_eq!(first.format, Format::SolidQueue);
    assert!(
        matches!(
            first.lease,
            Lease::Expires {
                left_ms: 100_000..=180_000,
                ..
            }
        ),
        "{first:?}"
    );
    assert_eq!(
        group.read("public.solid_queue_semaphores:MailJob/eu").await,
        Ok(None),
        "it has permits left"
    );
    // The next job is another hold.
    run(&mut client, SOLID_QUEUE_SIGNAL).await;
    run(&mut client, SOLID_QUEUE_WAIT).await;
    let outcome = group.force_release(key, &first.owners[0].owner).await;
    assert!(
        matches!(outcome_of(&outcome), NodeOutcome::OtherOwner { .. }),
        "{outcome:?}"
    );
    // Until a dispatcher deletes the row, no job starts even if the time has passed.
    let expire = "UPDATE solid_queue_semaphores \
        SET expires_at = timezone('utc', now()) - interval '1 minute' WHERE value = 0";
    run(&mut client, expire).await;
    crate::support::wait_until("the time has passed, and the lock is held", async || {
        let lock = group.read(key).await.ok().flatten();
        lock.is_some_and(|lock| matches!(lock.lease, Lease::Expires { left_ms: 0, .. }))
    })
    .await;
    release_twice(&group, key, "").await;
    let sql =
        "SELECT count(*) FROM solid_queue_semaphores WHERE value = 1 AND \"key\" LIKE 'Invoice%'";
    assert_eq!(count(&mut client, sql).await, 1);
}

#[tokio::test]
async fn a_row_lock_of_quartz_shows_the_scheduler_and_its_waiters() {
    let (server, mut client, group) = start(QUARTZ).await;
    run(&mut client, QUARTZ_LOCK).await;
    let key = "public.qrtz_locks:s/TRIGGER_ACCESS";
    let owner = group.wait_for_owner(key, "app@127.0.0.1/").await;
    let lock = group.read(key).await.unwrap().unwrap();
    assert_eq!(
        (lock.format, lock.lease),
        (Format::QuartzJdbc, Lease::Session)
    );
    assert_eq!(
        group.read("public.qrtz_locks:s/STATE_ACCESS").await,
        Ok(None)
    );
    let mut waiting = Vec::new();
    for (n, name) in ["node-2", "node-3"].into_iter().enumerate() {
        waiting.push(run_in_background(connect(&server, name).await, QUARTZ_LOCK));
        group.wait_for_waiters(key, n + 1).await;
    }
    let waiters = group.wait_for_waiters(key, 2).await;
    let labels: Vec<&str> = waiters
        .iter()
        .filter_map(|waiter| waiter.label.as_deref())
        .collect();
    assert!(
        labels[0].starts_with("node-2@") && labels[1].starts_with("node-3@"),
        "{labels:?}"
    );
    // The release ends the connection of this scheduler only.
    let outcome = group.force_release(key, &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    group.wait_for_owner(key, "node-2@").await;
    let outcome = group.force_release(key, &owner).await;
    assert!(
        matches!(outcome_of(&outcome), NodeOutcome::OtherOwner { .. }),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_configured_table_and_one_that_is_created_later_are_read() {
    let server = Postgres::start().await;
    let mut client = connect(&server, "app").await;
    let table = LockTable {
        table: "jobs.my locks".to_owned(),
        format: Format::ShedLock,
    };
    let group = TestGroup::start(with_table(group_config(&server.url()), table));
    crate::support::wait_until("the missing table is reported", async || {
        let reason = group.server().feed_reason;
        reason.is_some_and(|reason| reason.to_string().contains("jobs.my locks"))
    })
    .await;
    let sql = SHEDLOCK.replace("shedlock(", "jobs.\"my locks\"(");
    run(&mut client, &format!("CREATE SCHEMA jobs; {sql}")).await;
    run(&mut client, LIQUIBASE).await;
    release_twice(&group, "jobs.my locks:nightly", "web-1").await;
    group.wait_for_lock("public.databasechangeloglock:1").await;
    assert_eq!(group.server().feed_reason, None);
    run(&mut client, "DROP TABLE databasechangeloglock").await;
    group
        .wait_until_absent("public.databasechangeloglock:1")
        .await;
}
