//! Tracks the primary that sentinels elect. All sentinels are polled every second, and more often
//! while the primary is down.
//!
//! An address is accepted only if a majority of the configured sentinels reports it: a single
//! compromised one could redirect locks and credentials.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{ProtocolVersion, PushInfo, RedisResult};
use tokio::time::sleep;

use super::connection::{self, with_timeout};
use super::node::{GroupContext, Node, NodeList};
use super::node_error::NodeError;
use super::sentinel_view::SentinelView;
use crate::domain::NodeState;
use crate::domain::reason::{Reason, SentinelFailure};
use crate::server::config::NodeConfig;

/// The poll interval while the primary is up, and while it is down.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(200));

/// Starts tasks that update the addresses of a group's nodes from its sentinels.
pub(super) fn follow(common: &GroupContext, nodes: &NodeList) {
    for node in nodes.iter() {
        let sentinels = common.group.sentinels.iter().cloned();
        let follower = SentinelFollower {
            sentinels: sentinels.map(Sentinel::new).collect(),
            // With Sentinel, the host in a node's URL is the name of the primary.
            primary: node.endpoint.host().unwrap_or_default(),
            node: Arc::clone(node),
        };
        let stop = common.stop.clone();
        tokio::spawn(async move {
            stop.run_until_cancelled(follower.run()).await;
        });
    }
}

struct SentinelFollower {
    sentinels: Vec<Sentinel>,
    primary: String,
    node: Arc<Node>,
}

/// A sentinel, and the open connection to it, if any.
struct Sentinel {
    config: NodeConfig,
    connection: Option<MultiplexedConnection>,
}

/// A sentinel's view of the primary.
#[derive(Debug, PartialEq, Eq)]
struct SentinelReply {
    /// The sentinel's address.
    sentinel: String,
    host: String,
    port: u16,
    /// `None` if `SENTINEL MASTER` is not permitted.
    view: Option<SentinelView>,
}

impl SentinelFollower {
    async fn run(mut self) {
        loop {
            self.poll().await;
            let is_up = self.node.state() == NodeState::Up;
            sleep(if is_up {
                POLL_INTERVALS.0
            } else {
                POLL_INTERVALS.1
            })
            .await;
        }
    }

    async fn poll(&mut self) {
        let (primary, node) = (&self.primary, &self.node);
        let polling = self
            .sentinels
            .iter_mut()
            .map(|sentinel| sentinel.poll(primary, node));
        let mut replies = join_all(polling).await;
        let reachable = replies.iter_mut().flatten();
        self.node
            .record_sentinel_views(reachable.filter_map(|reply| reply.view.take()).collect());
        let (total, required) = (self.sentinels.len(), self.sentinels.len() / 2 + 1);
        let addresses: Vec<(&str, u16)> = replies
            .iter()
            .flatten()
            .map(|reply| (&*reply.host, reply.port))
            .collect();
        if let Some((host, port)) = majority_address(&addresses, required) {
            self.node.set_address(host, port);
            return;
        }
        let agreeing = most_frequent_count(&addresses);
        let primary = primary.clone();
        let sentinels = replies.into_iter().map(describe_reply).collect();
        let reason = if agreeing > 0 {
            Reason::SentinelsDisagree {
                primary,
                agreeing,
                total,
                required,
                sentinels,
            }
        } else {
            Reason::SentinelsSilent { primary, sentinels }
        };
        self.node.endpoint.mark_unresolved(reason);
    }
}

fn describe_reply(reply: Result<SentinelReply, SentinelFailure>) -> SentinelFailure {
    reply.map_or_else(
        |failure| failure,
        |SentinelReply {
             sentinel,
             host,
             port,
             ..
         }| SentinelFailure {
            address: sentinel,
            reply: Box::new(Reason::ReportedPrimary {
                primary: format!("{host}:{port}"),
            }),
        },
    )
}

/// The address that at least `needed` sentinels report.
fn majority_address<T: Copy + PartialEq>(addresses: &[T], needed: usize) -> Option<T> {
    let mut all = addresses.iter().copied();
    all.find(|one| count_equal(addresses, one) >= needed)
}

/// How many sentinels report the address that most of them report.
fn most_frequent_count<T: PartialEq>(addresses: &[T]) -> usize {
    let counts = addresses.iter().map(|one| count_equal(addresses, one));
    counts.max().unwrap_or(0)
}

fn count_equal<T: PartialEq>(addresses: &[T], one: &T) -> usize {
    addresses.iter().filter(|other| *other == one).count()
}

impl Sentinel {
    fn new(config: NodeConfig) -> Self {
        Self {
            config,
            connection: None,
        }
    }

    async fn poll(&mut self, primary: &str, node: &Node) -> Result<SentinelReply, SentinelFailure> {
        let polling = self.poll_once(primary, node.connect_timeout);
        let reply = polling.await;
        reply.map_err(|error| {
            // After any error, the next poll reconnects.
            self.connection = None;
            SentinelFailure {
                address: self.config.url.address(),
                reply: Box::new(error.reason),
            }
        })
    }

    async fn poll_once(
        &mut self,
        primary: &str,
        limit: Duration,
    ) -> Result<SentinelReply, NodeError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let opening = open(&self.config);
                self.connection.insert(with_timeout(limit, opening).await??)
            }
        };
        // SENTINEL MASTER describes the old primary until all replicas follow the new one, which
        // can take minutes. GET-MASTER-ADDR-BY-NAME returns the new address as soon as that server
        // accepts writes.
        let mut pipeline = redis::pipe();
        pipeline.ignore_errors();
        for subcommand in ["GET-MASTER-ADDR-BY-NAME", "MASTER"] {
            pipeline.cmd("SENTINEL").arg(subcommand).arg(primary);
        }
        let polling = pipeline.query_async(connection);
        let (address, info): (RedisResult<Option<(String, u16)>>, RedisResult<PrimaryInfo>) =
            with_timeout(limit, polling)
                .await?
                .map_err(|error| NodeError::from_redis(&error))?;
        let address = address.map_err(|error| NodeError::from_redis(&error))?;
        let (host, port) = address.ok_or_else(|| NodeError::down(Reason::UnknownPrimary))?;
        let info = info.unwrap_or_default();
        Ok(SentinelReply {
            view: parse_view(&self.config.url.address(), &info),
            sentinel: self.config.url.address(),
            host,
            port,
        })
    }
}

/// The fields of `SENTINEL MASTER`.
type PrimaryInfo = HashMap<String, String>;

async fn open(config: &NodeConfig) -> Result<MultiplexedConnection, NodeError> {
    let config = config.clone();
    let reading = tokio::task::spawn_blocking(move || config.connection_info());
    let info = reading
        .await
        .map_err(|error| NodeError::down(Reason::text(error.to_string())))?
        .map_err(|text| NodeError::down(Reason::UnusableCredentials { text }))?;
    let no_push = None::<fn(PushInfo)>;
    // Sentinels need no push messages, and RESP2 works with every version.
    connection::connect(&info, ProtocolVersion::RESP2, no_push)
        .await
        .map_err(|error| NodeError::from_redis(&error))
}

/// Parses how the sentinel monitors the primary; `None` if that is not permitted.
fn parse_view(sentinel: &str, info: &PrimaryInfo) -> Option<SentinelView> {
    let number = |name| info.get(name)?.parse::<u32>().ok();
    Some(SentinelView {
        sentinel: sentinel.to_owned(),
        quorum: number("quorum")?,
        other_sentinels: number("num-other-sentinels")?,
        down_after: Duration::from_millis(number("down-after-milliseconds")?.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_accepted_if_a_majority_of_sentinels_reports_it() {
        for (addresses, needed, expected) in [
            (&["a", "a", "b"][..], 2, Some("a")),
            (&["b", "a", "a"], 2, Some("a")),
            (&["a", "b"], 2, None),
            (&["b"], 2, None),
            (&["a"], 1, Some("a")),
            (&["a", "a", "b", "b"], 3, None),
            (&[], 1, None),
        ] {
            assert_eq!(
                majority_address(addresses, needed),
                expected,
                "{addresses:?}"
            );
        }
    }
}
