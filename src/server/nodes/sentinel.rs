//! Follows a primary that sentinels choose: all of them are asked every second, and more often while it is away.
//!
//! What most of the configured ones say is believed: a single one that lies could have locks and credentials sent anywhere.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{ProtocolVersion, PushInfo, RedisResult};
use tokio::time::sleep;

use super::line::{self, within};
use super::node::{Common, Node, Seats};
use super::trouble::Trouble;
use super::watch::Watch;
use crate::domain::NodeState;
use crate::server::config::NodeConfig;

/// How often sentinels are asked while all is well, and while the primary is away.
const EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(200));

/// Has the nodes of a group follow what its sentinels tell.
pub(super) fn follow(common: &Common, nodes: &Seats) {
    for node in nodes.iter() {
        let sentinels = common.group.sentinels.iter().cloned();
        let following = Following {
            sentinels: sentinels.map(Sentinel::new).collect(),
            // Behind sentinels the host of a node is the name that they have for the primary.
            primary: node.reach.host().unwrap_or_default(),
            node: Arc::clone(node),
        };
        let stop = common.stop.clone();
        tokio::spawn(async move {
            stop.run_until_cancelled(following.go_on()).await;
        });
    }
}

struct Following {
    sentinels: Vec<Sentinel>,
    primary: String,
    node: Arc<Node>,
}

/// One sentinel, and the connection to it while there is one.
struct Sentinel {
    config: NodeConfig,
    connection: Option<MultiplexedConnection>,
}

/// Where a sentinel says that the primary is.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// The sentinel's address.
    sentinel: String,
    host: String,
    port: u16,
    /// Nothing where that may not be asked.
    watch: Option<Watch>,
}

impl Following {
    async fn go_on(mut self) {
        loop {
            self.ask().await;
            let is_up = self.node.state() == NodeState::Up;
            sleep(if is_up { EVERY.0 } else { EVERY.1 }).await;
        }
    }

    async fn ask(&mut self) {
        let (primary, node) = (&self.primary, &self.node);
        let asking = self
            .sentinels
            .iter_mut()
            .map(|sentinel| sentinel.ask(primary, node));
        let mut told = join_all(asking).await;
        let heard = told.iter_mut().flatten();
        self.node
            .is_watched(heard.filter_map(|told| told.watch.take()).collect());
        let needed = self.sentinels.len() / 2 + 1;
        let addresses = told.iter().flatten().map(|told| (&*told.host, told.port));
        if let Some((host, port)) = agreed(addresses, needed) {
            self.node.is_at(host, port);
            return;
        }
        let said = told.iter().map(|told| match told {
            Ok(told) => format!("{} says {}:{}", told.sentinel, told.host, told.port),
            Err(why) => why.clone(),
        });
        let said = said.collect::<Vec<_>>().join("; ");
        let why = if told.iter().any(Result::is_ok) {
            format!(
                "fewer than {needed} of the {} sentinels agree where the primary \"{primary}\" is: {said}",
                self.sentinels.len()
            )
        } else {
            format!("no sentinel tells where the primary \"{primary}\" is: {said}")
        };
        self.node.reach.is_not_known(why);
    }
}

/// The address that so many name.
fn agreed<T: Copy + PartialEq>(named: impl Iterator<Item = T>, needed: usize) -> Option<T> {
    let named: Vec<T> = named.collect();
    let count = |one: &T| named.iter().filter(|other| *other == one).count();
    named.iter().find(|one| count(one) >= needed).copied()
}

impl Sentinel {
    fn new(config: NodeConfig) -> Self {
        Self {
            config,
            connection: None,
        }
    }

    async fn ask(&mut self, primary: &str, node: &Node) -> Result<Told, String> {
        let asking = self.ask_once(primary, node.connect_timeout);
        let told = asking.await;
        told.map_err(|trouble| {
            // Whatever it was, the next time begins anew.
            self.connection = None;
            format!("{} {}", self.config.url.address(), trouble.reason)
        })
    }

    async fn ask_once(&mut self, primary: &str, limit: Duration) -> Result<Told, Trouble> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None => {
                let opening = open(&self.config);
                self.connection.insert(within(limit, opening).await??)
            }
        };
        // What it tells about the primary is the old one's until all replicas follow the new one, which may take minutes; the
        // address is the new one's as soon as that takes writes.
        let mut questions = redis::pipe();
        questions.ignore_errors();
        for what in ["GET-MASTER-ADDR-BY-NAME", "MASTER"] {
            questions.cmd("SENTINEL").arg(what).arg(primary);
        }
        let asking = questions.query_async(connection);
        let (address, about): (RedisResult<Option<(String, u16)>>, RedisResult<About>) =
            within(limit, asking)
                .await?
                .map_err(|error| Trouble::of(&error))?;
        let address = address.map_err(|error| Trouble::of(&error))?;
        let (host, port) = address.ok_or_else(|| Trouble::down("knows no such primary"))?;
        let about = about.unwrap_or_default();
        Ok(Told {
            watch: watch(&self.config.url.address(), &about),
            sentinel: self.config.url.address(),
            host,
            port,
        })
    }
}

/// What a sentinel tells about a primary, by the names that it has for it.
type About = HashMap<String, String>;

async fn open(config: &NodeConfig) -> Result<MultiplexedConnection, Trouble> {
    let config = config.clone();
    let reading = tokio::task::spawn_blocking(move || config.connection());
    let info = reading
        .await
        .map_err(|why| Trouble::down(why.to_string()))?
        .map_err(Trouble::down)?;
    let deaf = None::<fn(PushInfo)>;
    line::connect(&info, ProtocolVersion::RESP2, deaf)
        .await
        .map_err(|error| Trouble::of(&error))
}

/// How it watches; nothing where that may not be asked.
fn watch(sentinel: &str, about: &About) -> Option<Watch> {
    let number = |name| about.get(name)?.parse::<u32>().ok();
    Some(Watch {
        sentinel: sentinel.to_owned(),
        quorum: number("quorum")?,
        others: number("num-other-sentinels")?,
        down_after: Duration::from_millis(number("down-after-milliseconds")?.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_most_sentinels_name_is_believed() {
        for (named, needed, expected) in [
            (&["a", "a", "b"][..], 2, Some("a")),
            (&["b", "a", "a"], 2, Some("a")),
            (&["a", "b"], 2, None),
            (&["b"], 2, None),
            (&["a"], 1, Some("a")),
            (&["a", "a", "b", "b"], 3, None),
            (&[], 1, None),
        ] {
            assert_eq!(agreed(named.iter().copied(), needed), expected, "{named:?}");
        }
    }
}
