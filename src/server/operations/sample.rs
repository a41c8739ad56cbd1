//! Records for a few seconds what everybody asks of one node: who tries in vain to take which lock.

use std::time::Duration;

use super::Operations;
use super::audited::by;
use crate::domain::{ActKind, Fault, MonitorSample, Place, Verb};
use crate::server::access::Actor;
use crate::server::audit::{Asked, End};
use crate::server::nodes::monitor::{NoSample, sample};

/// The longest sample.
pub const LONGEST_SAMPLE: Duration = Duration::from_secs(10);

impl Operations {
    /// Takes a sample of one node. It changes nothing, so it is not refused where acts are; it costs the node a quarter up to
    /// twice as much for each command meanwhile, so there is one at a time.
    pub async fn monitor_sample(
        &self,
        actor: &Actor,
        group: &str,
        node: &str,
        how_long: Duration,
    ) -> Result<MonitorSample, Fault> {
        let mut asked = Asked::new(ActKind::Sample, by(actor));
        asked.group = Some(group);
        asked.detail = Some(format!("node {node:?}, for {} s", how_long.as_secs()));
        let taken = self.sample(actor, group, node, how_long).await;
        match &taken {
            Ok(_) => self.audit.tell(&asked, &End::done(&[])),
            Err(fault) => self.audit.refused(&asked, fault),
        }
        taken
    }

    async fn sample(
        &self,
        actor: &Actor,
        group: &str,
        node: &str,
        how_long: Duration,
    ) -> Result<MonitorSample, Fault> {
        let name = group;
        let group = self.group_to_see(actor, name)?;
        actor.may(Verb::Sample, Place::group(name))?;
        let nodes = group.each();
        let named = nodes.iter().find(|one| one.name() == node);
        let node = named.ok_or_else(|| Fault::Impossible {
            field: "node".to_owned(),
            detail: format!("the group has no node {node:?}"),
            min_ttl_ms: None,
        })?;
        if how_long.is_zero() || how_long > LONGEST_SAMPLE {
            return Err(Fault::Impossible {
                field: "seconds".to_owned(),
                detail: format!("from 1 to {}", LONGEST_SAMPLE.as_secs()),
                min_ttl_ms: None,
            });
        }
        let _only_one = self.sampling.try_lock().map_err(|_| Fault::TooMany {
            detail: "a sample is being taken already; there is one at a time".to_owned(),
            retry_after_ms: 1_000,
        })?;
        let taken = sample(node, &group.config.keys, how_long).await;
        let taken = taken.map_err(|why| match why {
            NoSample::Refused(why) => Fault::Forbidden {
                why: format!(
                    "the node takes no sample: {why} (the user needs +monitor, and +client|tracking to tell failures)"
                ),
            },
            NoSample::Unreachable(why) => Fault::Unreachable {
                reached: 0,
                asked: 1,
                quorum: 1,
                nodes: vec![crate::domain::NodeAnswer {
                    node: node.name().to_owned(),
                    answer: crate::domain::Answer::Unreachable { reason: why },
                }],
            },
        })?;
        self.index.sampled(&group.config.name, &taken).await;
        Ok(taken)
    }
}
