//! GoodJob: its locks have the names of the rows whose hashes are their numbers.

use sqlx::PgConnection;

use super::{TestGroup, connect, group_config, outcome_of, run};
use crate::support::postgres::Postgres;
use lockkeeper::domain::{Format, NodeOutcome};

/// The tables as the migration of GoodJob 4 creates them, without columns that no lock depends on.
const TABLES: &str = "
    CREATE TABLE good_jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), queue_name text,
        priority integer, serialized_params jsonb, scheduled_at timestamp(6),
        performed_at timestamp(6), finished_at timestamp(6), error text,
        created_at timestamp(6) NOT NULL DEFAULT now(), active_job_id uuid, concurrency_key text,
        job_class text, locked_by_id uuid, locked_at timestamp(6), lock_type smallint);
    CREATE INDEX index_good_jobs_on_scheduled_at ON good_jobs (scheduled_at)
        WHERE finished_at IS NULL;
    CREATE INDEX index_good_jobs_on_locked_by_id ON good_jobs (locked_by_id)
        WHERE locked_by_id IS NOT NULL;
    CREATE TABLE good_job_processes (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        created_at timestamp(6), updated_at timestamp(6), state jsonb, lock_type smallint);";

const JOB: &str = "3d2a9a52-6f0e-4c7a-9f0b-0c5f1e0a7a11";
const OTHER_JOB: &str = "8b1f4c1d-2d0a-4b7e-8a55-5f7f5d0f9c22";
const PROCESS: &str = "f0c9a3a1-4b59-4c1b-8a1c-6a0d9a3f1b33";

/// How `Job.advisory_lock` locks the first waiting job.
const PERFORM: &str = r#"SELECT "good_jobs".* FROM "good_jobs" WHERE "good_jobs"."id" IN (
    WITH "rows" AS MATERIALIZED (SELECT "good_jobs"."id" FROM "good_jobs"
        WHERE "good_jobs"."finished_at" IS NULL ORDER BY priority ASC NULLS LAST, "good_jobs"."created_at" ASC)
    SELECT "rows"."id" FROM "rows" WHERE pg_try_advisory_lock(
        ('x' || substr(md5('good_jobs' || '-' || "rows"."id"::text), 1, 16))::bit(64)::bigint) LIMIT 1)"#;

/// How `advisory_lock_key` locks a key.
fn lock_key(key: &str) -> String {
    format!("SELECT pg_advisory_lock(('x' || substr(md5('{key}'::text), 1, 16))::bit(64)::bigint)")
}

async fn number_of(client: &mut PgConnection, key: &str) -> i64 {
    let sql = "SELECT ('x' || substr(md5($1::text), 1, 16))::bit(64)::bigint";
    let number = sqlx::query_scalar(sql).bind(key);
    number.fetch_one(client).await.unwrap()
}

async fn create(client: &mut PgConnection) {
    run(client, TABLES).await;
    let rows = format!(
        "INSERT INTO good_jobs (id, active_job_id, priority, concurrency_key, job_class) VALUES
            ('{JOB}', '{JOB}', 1, 'invoices-eu', 'InvoiceJob'),
            ('{OTHER_JOB}', '{OTHER_JOB}', 2, NULL, 'MailJob');
        INSERT INTO good_job_processes (id, state) VALUES ('{PROCESS}', '{{\"hostname\": \"web-1\"}}')"
    );
    run(client, &rows).await;
}

#[tokio::test]
async fn locks_of_jobs_processes_and_concurrency_limits_have_their_names() {
    let server = Postgres::start().await;
    let mut worker = connect(&server, "worker").await;
    create(&mut worker).await;
    let group = TestGroup::start(group_config(&server.url()));
    run(&mut worker, PERFORM).await;
    run(
        &mut worker,
        &lock_key(&format!("good_job_processes-{PROCESS}")),
    )
    .await;
    run(&mut worker, &lock_key("invoices-eu")).await;
    run(&mut worker, "SELECT pg_advisory_lock(4711)").await;
    for (hashed, shown) in [
        (format!("good_jobs-{JOB}"), format!("good_jobs-{JOB}")),
        (
            format!("good_job_processes-{PROCESS}"),
            format!("good_job_processes-{PROCESS}"),
        ),
        ("invoices-eu".to_owned(), "invoices-eu".to_owned()),
    ] {
        let number = number_of(&mut worker, &hashed).await;
        let lock = group
            .wait_for_lock(&format!("advisory:{number}:{shown}"))
            .await;
        assert_eq!(lock.format, Format::AdvisoryLock);
    }
    group.wait_for_lock("advisory:4711").await;

    // The name stays while the lock is held, even if the row is gone.
    let number = number_of(&mut worker, &format!("good_jobs-{JOB}")).await;
    let key = format!("advisory:{number}:good_jobs-{JOB}");
    run(
        &mut worker,
        &format!("DELETE FROM good_jobs WHERE id = '{JOB}'"),
    )
    .await;
    let owner = group.wait_for_owner(&key, "worker@").await;
    // The release ends the connection of the worker, with all of its locks.
    let outcome = group.force_release(&key, &owner).await;
    assert_eq!(*outcome_of(&outcome), NodeOutcome::Released);
    group.wait_until_absent(&key).await;
    group.wait_until_absent("advisory:4711").await;
}

#[tokio::test]
async fn a_job_of_an_earlier_version_is_found_by_its_active_job_id() {
    let server = Postgres::start().await;
    let mut worker = connect(&server, "worker").await;
    // One row per attempt; there is no column for the process that runs a job.
    let table =
        "CREATE SCHEMA jobs; CREATE TABLE jobs.good_jobs (id uuid PRIMARY KEY, active_job_id uuid,
        concurrency_key text, performed_at timestamp(6), finished_at timestamp(6))";
    run(&mut worker, table).await;
    let row = format!("INSERT INTO jobs.good_jobs VALUES (gen_random_uuid(), '{JOB}')");
    run(&mut worker, &row).await;
    let group = TestGroup::start(group_config(&server.url()));
    run(&mut worker, &lock_key(&format!("good_jobs-{JOB}"))).await;
    let number = number_of(&mut worker, &format!("good_jobs-{JOB}")).await;
    group
        .wait_for_lock(&format!("advisory:{number}:good_jobs-{JOB}"))
        .await;
}

#[tokio::test]
async fn a_lock_without_a_readable_row_is_shown_by_its_number() {
    let server = Postgres::start().await;
    let mut worker = connect(&server, "worker").await;
    create(&mut worker).await;
    let role = "CREATE ROLE console LOGIN PASSWORD 'secret'; GRANT pg_read_all_stats TO console";
    run(&mut worker, role).await;
    run(&mut worker, &lock_key(&format!("good_jobs-{JOB}"))).await;
    let url = server.url().replace("//lockkeeper@", "//console:secret@");
    assert_ne!(url, server.url());
    let group = TestGroup::start(group_config(&url));
    let number = number_of(&mut worker, &format!("good_jobs-{JOB}")).await;
    group.wait_for_lock(&format!("advisory:{number}")).await;
    // The tables are found again when they can be read.
    let grant = "GRANT SELECT ON good_jobs, good_job_processes TO console";
    run(&mut worker, grant).await;
    group
        .wait_for_lock(&format!("advisory:{number}:good_jobs-{JOB}"))
        .await;
}
