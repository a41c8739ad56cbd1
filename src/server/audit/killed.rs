//! The operations of a program that was killed get their end from another one: what the nodes show afterwards.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sqlx::Row as _;
use tokio::time::sleep;

use super::instances::{BEAT, forget};
use super::journal::Journal;
use super::{Asked, Audit, End, line};
use crate::domain::{Audited, LockId, NodeAnswer};
use crate::server::storage::StorageError;

/// After so long without a beat it counts as killed. Measured with the clock of the program that watches: clocks of hosts are not compared.
const DEAD_AFTER: Duration = Duration::from_secs(8);
/// How many operations are looked at in one go.
const AT_ONCE: i64 = 1_000;

impl Audit {
    /// Gives every operation of a program that was killed its end: what the nodes show of its lock now. For as long as this goes
    /// on: others may be killed meanwhile.
    pub async fn close_what_was_left<F>(&self, look: impl Fn(LockId) -> F)
    where
        F: Future<Output = Vec<NodeAnswer>>,
    {
        let Some(journal) = self.journal() else {
            return;
        };
        let mut watched = HashMap::new();
        loop {
            if let Err(why) = close_once(journal, &mut watched, &look).await {
                tracing::debug!("not searched for operations without an end: {why}");
            }
            sleep(BEAT).await;
        }
    }
}

/// The beats of other programs, and since when each is the same.
type Watched = HashMap<String, (i64, Instant)>;

async fn close_once<F>(
    journal: &Journal,
    watched: &mut Watched,
    look: &impl Fn(LockId) -> F,
) -> Result<(), StorageError>
where
    F: Future<Output = Vec<NodeAnswer>>,
{
    let (open, beats) = read(journal).await?;
    watched.retain(|instance, _| beats.contains_key(instance));
    let mut dead = Vec::new();
    for (instance, beat) in &beats {
        let known = watched
            .entry(instance.clone())
            .or_insert((*beat, Instant::now()));
        if known.0 != *beat {
            *known = (*beat, Instant::now());
        } else if known.1.elapsed() >= DEAD_AFTER && *instance != journal.instance {
            dead.push(instance.clone());
        }
    }
    let mut is_left = false;
    for act in open {
        let instance = act.id.rsplit_once('-').map_or("", |(instance, _)| instance);
        // Its beginning was written together with its first beat.
        let is_dead = !beats.contains_key(instance) || dead.iter().any(|dead| dead == instance);
        if !is_dead || instance == journal.instance {
            continue;
        }
        is_left = true;
        let seen = match act.lock() {
            Some(lock) => look(lock).await,
            None => Vec::new(),
        };
        tracing::warn!(
            act = act.act.slug(), who = act.who, lock.group = act.group, lock.key = ?act.key,
            "the program was killed before this operation had ended; what the nodes show now is in the audit"
        );
        let why = "the program was killed before it ended; `seen` is what was found afterwards";
        let end = End::unknown(why.to_owned(), seen);
        let now = journal.clock.now();
        let body = line::end(&act.id, &Asked::again(&act), act.began_at, &end, now);
        journal.close(&act.id, body);
    }
    // They are forgotten when all of their operations have an end.
    for instance in dead.into_iter().filter(|_| !is_left) {
        forget(&journal.storage, instance).await?;
    }
    Ok(())
}

/// Operations without an end, and every program. In this order: who begins afterwards is not taken for dead.
async fn read(journal: &Journal) -> Result<(Vec<Audited>, HashMap<String, i64>), StorageError> {
    let mut db = journal.storage.read().await?;
    let open = "SELECT line FROM audit_entry WHERE state = 1 ORDER BY number LIMIT $1";
    let mut acts = Vec::new();
    for row in sqlx::query(open).bind(AT_ONCE).fetch_all(&mut *db).await? {
        let line: String = row.try_get(0).map_err(StorageError::from)?;
        acts.extend(serde_json::from_str::<Audited>(&line));
    }
    let mut beats = HashMap::new();
    let instances = sqlx::query("SELECT id, beat FROM instance");
    for row in instances.fetch_all(&mut *db).await? {
        beats.insert(row.try_get(0)?, row.try_get(1)?);
    }
    Ok((acts, beats))
}
