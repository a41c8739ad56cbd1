//! Limits the tracking of servers that write too much to the prefixes of known locks.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::super::node::Node;
use super::super::node_error::NodeError;
use super::key_filter::KeyFilter;
use super::prefixes;
use super::session::FeedSession;
use crate::domain::reason::Reason;
use crate::domain::{FeedLevel, MissingPermission};
use crate::server::stores::FeedCoverage;

/// When a pattern starts with a wildcard, the server reports every write, at a cost of 22 bytes and
/// about 0.4 µs each. Above this rate, only known prefixes are tracked.
const MAX_KEYS_PER_SECOND: u64 = 5_000;

/// For how many consecutive seconds the rate must be exceeded.
const OVERLOADED_SECONDS: u32 = 5;

/// After how long tracking of all writes is tried again.
const RETRY_ALL_KEYS_AFTER: Duration = Duration::from_mins(10);

impl Node {
    /// Receives every write until the rate was too high for several seconds.
    pub(super) async fn run_until_overloaded(
        &self,
        session: &mut FeedSession,
    ) -> Result<(), NodeError> {
        let mut overloaded_for = 0;
        while overloaded_for < OVERLOADED_SECONDS {
            let (before, started) = (session.names_received(), Instant::now());
            self.check_once(session).await?;
            let rate = (session.names_received() - before) as f64 / started.elapsed().as_secs_f64();
            let is_overloaded = rate > MAX_KEYS_PER_SECOND as f64;
            overloaded_for = if is_overloaded { overloaded_for + 1 } else { 0 };
            // By the time tracking is limited, the prefixes are known.
            self.feed().lock_state().needs_prefixes = is_overloaded;
        }
        Ok(())
    }

    /// Tracks the prefixes of known locks for a while. Replaces the connection when they change.
    pub(super) async fn run_with_learned_prefixes(
        &self,
        session: &mut FeedSession,
        filter: &Arc<KeyFilter>,
        missing_permissions: &mut Vec<MissingPermission>,
    ) -> Result<(), NodeError> {
        let until = Instant::now() + RETRY_ALL_KEYS_AFTER;
        let mut learned_prefixes = self.feed().changes.subscribe_learned_prefixes();
        while Instant::now() < until {
            let prefixes: Arc<[Vec<u8>]> = learned_prefixes.borrow_and_update().clone();
            if prefixes.is_empty() {
                session.disable_tracking().await?;
            } else {
                let mut next = FeedSession::open(self, Arc::clone(filter)).await?;
                *missing_permissions = next.probe_permissions(&self.acl_user()).await?;
                next.take_over(session, &prefixes).await?;
                std::mem::replace(session, next).finish().await?;
            }
            let reason = Reason::TooManyWrites {
                keys_per_second: MAX_KEYS_PER_SECOND,
                prefixes: prefixes::to_texts(&prefixes),
            };
            self.set_level(
                FeedLevel::Tracking,
                reason,
                FeedCoverage::Prefixes(prefixes),
                missing_permissions.clone(),
            );
            loop {
                tokio::select! {
                    changed = learned_prefixes.changed() => {
                        changed.map_err(|_| NodeError::down(Reason::GroupRemoved))?;
                        break;
                    }
                    () = sleep_until(until) => break,
                    second = self.check_once(session) => second?,
                }
            }
        }
        Ok(())
    }
}
