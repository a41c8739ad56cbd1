//! Counters in the database that several instances share.

use std::time::Duration;

use sqlx::{AnyConnection, Row as _};

use super::CounterNames;
use super::failures::{AttemptCounters, FAILURE_TTL, Failures};
use crate::domain::{OperationError, Timestamp};
use crate::server::storage::Storage;

/// How long a network stays known for an account after a sign-in.
const KNOWN_NETWORK_TTL: Duration = Duration::from_hours(30 * 24);

/// Updates the counters with these names in one transaction, which locks their rows.
pub async fn update<T: Send + 'static>(
    storage: &Storage,
    names: &CounterNames,
    now: Timestamp,
    change: impl Fn(&mut AttemptCounters) -> T + Clone + Send + 'static,
) -> Result<T, OperationError> {
    let names = names.clone();
    let updated = storage.write(move |db| {
        let (names, change) = (names.clone(), change.clone());
        Box::pin(async move {
            let mut counters = AttemptCounters {
                pair: lock_counter(db, &names.pair, now).await?,
                shared: None,
                known_network_since: known_network_since(db, &names.known_network).await?,
            };
            if let Some([network, account]) = &names.shared {
                let network = lock_counter(db, network, now).await?;
                counters.shared = Some([network, lock_counter(db, account, now).await?]);
            }
            let before = counters;
            let result = change(&mut counters);
            write_counter(db, &names.pair, counters.pair).await?;
            for (names, failures) in names.shared.iter().zip(counters.shared) {
                for (name, failures) in names.iter().zip(failures) {
                    write_counter(db, name, failures).await?;
                }
            }
            // Written only if it changed: most attempts fail.
            if let Some(since) = counters.known_network_since
                && counters.known_network_since != before.known_network_since
            {
                write_known_network(db, &names.known_network, since).await?;
            }
            Ok(result)
        })
    });
    updated.await.map_err(|error| {
        let url = storage.url();
        tracing::warn!("cannot count sign-in attempts in {url}: {error}");
        error.into()
    })
}

/// Reads a counter and locks its row until the transaction ends.
async fn lock_counter(
    db: &mut AnyConnection,
    name: &str,
    now: Timestamp,
) -> sqlx::Result<Failures> {
    let row = sqlx::query(
        "INSERT INTO sign_in_attempt (name, failures, last_at, expires_at) VALUES ($1, 0, 0, $2) \
         ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING failures, last_at",
    )
    .bind(name.to_owned())
    .bind(now.plus(FAILURE_TTL).millis())
    .fetch_one(db)
    .await?;
    let (count, last): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(Failures {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        last: (last != 0).then(|| Timestamp::from_millis(last)),
    })
}

async fn write_counter(db: &mut AnyConnection, name: &str, failures: Failures) -> sqlx::Result<()> {
    // A reset counter needs no row.
    let Some(last) = failures.last else {
        let delete = sqlx::query("DELETE FROM sign_in_attempt WHERE name = $1");
        return delete.bind(name.to_owned()).execute(db).await.map(drop);
    };
    sqlx::query(
        "UPDATE sign_in_attempt SET failures = $2, last_at = $3, expires_at = $4 WHERE name = $1",
    )
    .bind(name.to_owned())
    .bind(i64::from(failures.count))
    .bind(last.millis())
    .bind(last.plus(FAILURE_TTL).millis())
    .execute(db)
    .await
    .map(drop)
}

async fn known_network_since(
    db: &mut AnyConnection,
    name: &str,
) -> sqlx::Result<Option<Timestamp>> {
    let select = sqlx::query("SELECT last_at FROM sign_in_attempt WHERE name = $1");
    let found = select.bind(name.to_owned()).fetch_optional(db).await?;
    let since: Option<i64> = found.map(|row| row.try_get(0)).transpose()?;
    Ok(since.map(Timestamp::from_millis))
}

async fn write_known_network(
    db: &mut AnyConnection,
    name: &str,
    since: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO sign_in_attempt (name, failures, last_at, expires_at) VALUES ($1, 0, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET last_at = excluded.last_at, expires_at = excluded.expires_at",
    )
    .bind(name.to_owned())
    .bind(since.millis())
    .bind(since.plus(KNOWN_NETWORK_TTL).millis())
    .execute(db)
    .await
    .map(drop)
}
