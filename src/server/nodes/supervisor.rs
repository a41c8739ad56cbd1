//! Keeps a node's connections up: connects, checks, and connects again, for ever.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::RedisResult;
use tokio_util::task::AbortOnDropHandle;

use super::health::Vitals;
use super::line::{Line, Purpose, within};
use super::node::{Access, Node};
use super::trouble::Trouble;

/// How often a node's health is checked.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// How many checks until it is asked again what it says about itself.
const CHECKS_PER_INFO: u32 = 5;

/// The first and the longest pause before connecting again: what is shown of a node is right within two seconds of its
/// coming back, and an attempt may just have begun before that.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));

impl Node {
    /// Connects, checks, and connects again, for ever.
    pub(super) async fn supervise(&self) {
        let mut pause = PAUSES.0;
        loop {
            let trouble = match self.open().await {
                Ok(()) => {
                    pause = PAUSES.0;
                    self.watch_over().await
                }
                Err(trouble) => trouble,
            };
            tracing::debug!(node.name = %self.name, reason = %trouble.reason, "the node cannot be used");
            self.shut(trouble);
            // Jitter, so that the consoles of a large site do not come back in step.
            tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn open(&self) -> Result<(), Trouble> {
        let observing = Line::open(&self.info, Purpose::Observing, Arc::clone(&self.kick));
        let both = async { tokio::try_join!(observing, self.open_acting()) };
        let (mut observing, acting) = within(self.connect_timeout, both)
            .await?
            .map_err(|error| Trouble::of(&error))?;
        let vitals = within(self.command_timeout, observing.check(&self.clock, true)).await??;
        self.memory().forget_everything();
        self.health().heard(vitals);
        self.access.send_replace(Access::Open {
            observing,
            acting: Some(acting),
        });
        Ok(())
    }

    /// Checks the health again and again until something is wrong.
    async fn watch_over(&self) -> Trouble {
        let mut round = 0u32;
        loop {
            round = round.wrapping_add(1);
            let _either_way_look = tokio::time::timeout(CHECK_EVERY, self.kick.notified()).await;
            let (mut observing, acting_is_away) = match &*self.access.borrow() {
                Access::Open { observing, acting } => (observing.clone(), acting.is_none()),
                Access::Shut(trouble) => return trouble.clone(),
                Access::Starting => continue,
            };
            let thoroughly = round.is_multiple_of(CHECKS_PER_INFO);
            let check = within(
                self.command_timeout,
                observing.check(&self.clock, thoroughly),
            );
            let checked: Result<Vitals, Trouble> = check.await.and_then(|checked| checked);
            match checked {
                Ok(vitals) => self.hear(vitals),
                Err(trouble) => return trouble,
            }
            if acting_is_away && let Err(trouble) = self.reopen_acting().await {
                return trouble;
            }
        }
    }

    fn hear(&self, vitals: Vitals) {
        let mut health = self.health();
        let is_another = health.is_another(&vitals);
        health.heard(vitals);
        drop(health);
        if is_another {
            self.feed().has_a_gap(self.clock.now());
        }
    }

    /// Opened on the runtime that acts: there it is driven.
    async fn open_acting(&self) -> RedisResult<Line> {
        let (info, kick) = (self.info.clone(), Arc::clone(&self.kick));
        let opening = async move { Line::open(&info, Purpose::Acting, kick).await };
        let opening = AbortOnDropHandle::new(self.acts.spawn(opening));
        opening.await.unwrap_or_else(|why| {
            let ended = io::Error::other(why);
            Err(ended.into())
        })
    }

    async fn reopen_acting(&self) -> Result<(), Trouble> {
        let mut line = within(self.connect_timeout, self.open_acting())
            .await?
            .map_err(|error| Trouble::of(&error))?;
        // The server may have restarted since the last check: that has to be known before it is asked for a lock.
        let vitals = within(self.command_timeout, line.check(&self.clock, true)).await??;
        self.health().heard(vitals);
        self.access.send_if_modified(|access| match access {
            Access::Open { acting, .. } => {
                *acting = Some(line);
                true
            }
            Access::Starting | Access::Shut(_) => false,
        });
        Ok(())
    }
}
