//! Keeps a node's connections up: connects, checks, and connects again, for ever.

use std::sync::Arc;
use std::time::Duration;

use redis::{ConnectionInfo, RedisResult};
use tokio::time::timeout;

use super::health::Vitals;
use super::line::{Line, Purpose, within};
use super::node::{Access, Node};
use super::trouble::Trouble;
use crate::domain::Role;

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
        // Where that is never known, the next line says why.
        let _in_vain = timeout(self.connect_timeout, self.reach.is_known()).await;
        let info = self.reach.info().await?;
        let observing = Line::open(&info, Purpose::Observing, Arc::clone(&self.kick));
        let both = async { tokio::try_join!(observing, self.open_acting(info.clone())) };
        let (mut observing, acting) = within(self.connect_timeout, both)
            .await?
            .map_err(|error| Trouble::of(&error))?;
        let vitals = self.check(&mut observing, true).await?;
        self.heard(vitals);
        let reading = self.open_reading().await;
        self.memory().forget_everything();
        self.access.send_replace(Access::Open {
            observing,
            acting: Some(acting),
            reading: reading.map(Box::new),
        });
        Ok(())
    }

    /// Asks how the node is, and whether it is what its group takes it for.
    async fn check(&self, line: &mut Line, thoroughly: bool) -> Result<Vitals, Trouble> {
        let checking = line.check(&self.clock, thoroughly);
        let vitals = within(self.command_timeout, checking).await??;
        let Some(facts) = &vitals.facts else {
            return Ok(vitals);
        };
        match self.cluster.is_some() {
            false if facts.is_cluster_node => Err(Trouble::cluster_node()),
            true if !facts.is_cluster_node => Err(Trouble::no_cluster_node()),
            _ if self.reach.follows_sentinels() && facts.role == Some(Role::Replica) => {
                Err(Trouble::down(
                    "the sentinels name it as the primary, and it is a replica: the failover has not ended",
                ))
            }
            _ => Ok(vitals),
        }
    }

    /// Checks the health again and again until something is wrong.
    async fn watch_over(&self) -> Trouble {
        let mut round = 0u32;
        loop {
            round = round.wrapping_add(1);
            let _either_way_look = timeout(CHECK_EVERY, self.kick.notified()).await;
            let (mut observing, acting) = match &*self.access.borrow() {
                Access::Open {
                    observing, acting, ..
                } => (observing.clone(), acting.clone()),
                Access::Shut(trouble) => return trouble.clone(),
                Access::Starting => continue,
            };
            let thoroughly = round.is_multiple_of(CHECKS_PER_INFO);
            let checking = self.check(&mut observing, thoroughly);
            let (checked, acting_works) = tokio::join!(checking, self.acting_works(acting));
            match checked {
                Ok(vitals) => self.hear(vitals),
                Err(trouble) => return trouble,
            }
            if !acting_works && let Err(trouble) = self.reopen_acting().await {
                return trouble;
            }
            self.keep_reading().await;
        }
    }

    /// Whether there is an acting connection, and something still comes over it where a reply was missed. One over which
    /// nothing comes is dropped: it never gets over that.
    async fn acting_works(&self, acting: Option<Line>) -> bool {
        let Some(mut line) = acting else {
            return false;
        };
        let works = !line.is_suspected() || line.ping(self.command_timeout).await;
        if !works {
            self.drop_acting(line.number);
        }
        works
    }

    fn hear(&self, vitals: Vitals) {
        let is_another = self.health().is_another(&vitals);
        self.heard(vitals);
        if is_another {
            self.feed().has_a_gap(self.clock.steady());
        }
    }

    async fn open_acting(&self, info: ConnectionInfo) -> RedisResult<Line> {
        Line::open(&info, Purpose::Acting, Arc::clone(&self.kick)).await
    }

    async fn reopen_acting(&self) -> Result<(), Trouble> {
        let info = self.reach.info().await?;
        let mut line = within(self.connect_timeout, self.open_acting(info))
            .await?
            .map_err(|error| Trouble::of(&error))?;
        // The server may have restarted since the last check: that has to be known before it is asked for a lock.
        let vitals = self.check(&mut line, true).await?;
        self.heard(vitals);
        self.put_in(|acting, _| *acting = Some(line));
        Ok(())
    }

    /// Puts a connection back into its place, if the node can be called still.
    pub(super) fn put_in(&self, put: impl FnOnce(&mut Option<Line>, &mut Option<Box<Line>>)) {
        self.access.send_if_modified(|access| match access {
            Access::Open {
                acting, reading, ..
            } => {
                put(acting, reading);
                true
            }
            Access::Starting | Access::Shut(_) => false,
        });
    }
}
