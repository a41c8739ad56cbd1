//! Failed attempts as several consoles count them together, in the database that they share.

use std::time::Duration;

use sqlx::{AnyConnection, Row as _};

use super::Names;
use super::failures::{Counters, FORGOTTEN, Failures};
use crate::domain::{Fault, Timestamp};
use crate::server::storage::Storage;

/// So long a network is known for an account that was signed in to from there.
const KNOWN: Duration = Duration::from_hours(30 * 24);

/// Changes the counters with these names in one step: their rows are locked until that is committed.
pub async fn update<T: Send + 'static>(
    storage: &Storage,
    names: &Names,
    now: Timestamp,
    change: impl Fn(&mut Counters) -> T + Clone + Send + 'static,
) -> Result<T, Fault> {
    let names = names.clone();
    let updated = storage.write(move |db| {
        let (names, change) = (names.clone(), change.clone());
        Box::pin(async move {
            let mut counters = Counters {
                pair: lock(db, &names.pair, now).await?,
                beside: None,
                known: known_since(db, &names.known).await?,
            };
            if let Some([network, account]) = &names.beside {
                let network = lock(db, network, now).await?;
                counters.beside = Some([network, lock(db, account, now).await?]);
            }
            let before = counters;
            let changed = change(&mut counters);
            write(db, &names.pair, counters.pair).await?;
            for (names, failures) in names.beside.iter().zip(counters.beside) {
                for (name, failures) in names.iter().zip(failures) {
                    write(db, name, failures).await?;
                }
            }
            if let Some(since) = counters.known
                && counters.known != before.known
            {
                note_known(db, &names.known, since).await?;
            }
            Ok(changed)
        })
    });
    updated.await.map_err(|why| {
        let url = storage.url();
        tracing::warn!("attempts to sign in cannot be counted in {url}: {why}");
        why.into()
    })
}

/// The counter of this name, which nobody else changes before this transaction ends.
async fn lock(db: &mut AnyConnection, name: &str, now: Timestamp) -> sqlx::Result<Failures> {
    let locked = sqlx::query(
        "INSERT INTO sign_in_attempt (name, failures, last_at, expires_at) VALUES ($1, 0, 0, $2) \
         ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING failures, last_at",
    )
    .bind(name.to_owned())
    .bind(now.plus(FORGOTTEN).millis())
    .fetch_one(db)
    .await?;
    let (count, last): (i64, i64) = (locked.try_get(0)?, locked.try_get(1)?);
    Ok(Failures {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        last: (last != 0).then(|| Timestamp::from_millis(last)),
    })
}

async fn write(db: &mut AnyConnection, name: &str, failures: Failures) -> sqlx::Result<()> {
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
    .bind(last.plus(FORGOTTEN).millis())
    .execute(db)
    .await
    .map(drop)
}

async fn known_since(db: &mut AnyConnection, name: &str) -> sqlx::Result<Option<Timestamp>> {
    let select = sqlx::query("SELECT last_at FROM sign_in_attempt WHERE name = $1");
    let found = select.bind(name.to_owned()).fetch_optional(db).await?;
    let since: Option<i64> = found.map(|row| row.try_get(0)).transpose()?;
    Ok(since.map(Timestamp::from_millis))
}

async fn note_known(db: &mut AnyConnection, name: &str, since: Timestamp) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO sign_in_attempt (name, failures, last_at, expires_at) VALUES ($1, 0, $2, $3) \
         ON CONFLICT (name) DO UPDATE SET last_at = excluded.last_at, expires_at = excluded.expires_at",
    )
    .bind(name.to_owned())
    .bind(since.millis())
    .bind(since.plus(KNOWN).millis())
    .execute(db)
    .await
    .map(drop)
}
