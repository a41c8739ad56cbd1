//! Acts of consoles that were killed: begun, and never ended. A console that lives looks what the nodes show of them and writes
//! that down as their end.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::sleep;

use super::Ledger;
use super::writer::ALIVE;
use crate::domain::{Audited, LockId, NodeAnswer};
use crate::server::audit::{Asked, End, chain, line, runs};
use crate::server::shared::Gone;
use crate::server::shared::lines::Run;

/// How often it is looked who is no more. Whoever is missed twice in a row is.
const EVERY: Duration = Duration::from_secs(3);
/// For so long nobody else takes care of the same.
const CARE: Duration = Duration::from_secs(60);

impl Ledger {
    /// Gives the acts of programs that are no more their ends, again and again.
    pub async fn close_what_is_left<F>(&self, look: impl Fn(LockId) -> F)
    where
        F: Future<Output = Vec<NodeAnswer>>,
    {
        let mut missed = HashSet::new();
        loop {
            match self.shared.runs().await {
                Ok(all) => {
                    let dead: Vec<Run> = all
                        .into_iter()
                        .filter(|run| !run.is_alive && run.name != self.run)
                        .collect();
                    for run in dead.iter().filter(|run| missed.contains(&run.name)) {
                        if let Err(why) = self.close(run, &look).await {
                            tracing::warn!(
                                "the audit cannot be searched for acts without an end: {why}"
                            );
                        }
                    }
                    missed = dead.into_iter().map(|run| run.name).collect();
                }
                // A state that was gone for a while tells nothing of who is.
                Err(_) => missed.clear(),
            }
            sleep(EVERY).await;
        }
    }

    async fn close<F>(&self, run: &Run, look: &impl Fn(LockId) -> F) -> Result<(), Gone>
    where
        F: Future<Output = Vec<NodeAnswer>>,
    {
        if !self.shared.takes_care_of(&run.name, CARE).await? {
            return Ok(());
        }
        for act in self.left_open_by(run).await? {
            let seen = match act.lock() {
                Some(lock) => look(lock).await,
                None => Vec::new(),
            };
            tracing::warn!(
                act = act.act.slug(), who = act.who, lock.group = act.group, lock.key = ?act.key,
                "the console was killed before this act had ended; what the nodes show now is in the audit"
            );
            let why = "the program was killed before it ended; `seen` is what was found afterwards";
            let end = End::unknown(why.to_owned(), seen);
            let body = line::end(
                &act.id,
                &Asked::again(&act),
                act.began_at,
                &end,
                self.clock.now(),
            );
            self.add(super::Waiting {
                body,
                waits: None,
                is_refusal: false,
            });
        }
        while !self.is_settled() {
            sleep(Duration::from_millis(20)).await;
        }
        self.shared.forget_run(&run.name).await
    }

    /// The acts that a program began and did not end.
    async fn left_open_by(&self, run: &Run) -> Result<Vec<Audited>, Gone> {
        let (mut open, mut next) = (HashMap::new(), run.since + 1);
        loop {
            let lines = self.shared.lines_from(next).await?;
            let Some((last, _)) = lines.last() else {
                break;
            };
            next = last + 1;
            for (_, line) in lines {
                let Some((is_end, id)) = chain::front(&line) else {
                    continue;
                };
                if runs::parts(id).is_none_or(|(name, _)| name != run.name) {
                    continue;
                }
                if is_end {
                    open.remove(id);
                } else {
                    open.insert(id.to_owned(), line.clone());
                }
            }
        }
        let read = |line: Vec<u8>| serde_json::from_slice::<Audited>(&line).ok();
        let mut acts: Vec<Audited> = open.into_values().filter_map(read).collect();
        acts.sort_by_key(|act| act.number);
        Ok(acts)
    }

    /// The programs that are known to live.
    pub(super) async fn living(&self) -> Result<HashSet<String>, Gone> {
        let runs = self.shared.runs().await?.into_iter();
        Ok(runs
            .filter(|run| run.is_alive)
            .map(|run| run.name)
            .collect())
    }
}

// Whoever missed a beat is looked for twice before that counts.
const _: () = assert!(ALIVE.as_secs() > EVERY.as_secs());
