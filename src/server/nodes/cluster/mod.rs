//! A cluster: its primaries as they come and go, and which of them has a key. It is asked again and again, and at once when a
//! node says that a slot is elsewhere.

mod looking;
mod slots;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use parking_lot::{Mutex, MutexGuard};
use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::Inbox;
use super::feed::Feed;
use super::node::{Common, Elsewhere, Node, Redirects, Seats};
use super::trouble::Missed;
use crate::domain::{LockKey, NodeState};
use slots::{Address, SlotMap};
pub use slots::{slot_of, tag_of};

/// How often the cluster is asked who serves what.
const EVERY: Duration = Duration::from_secs(1);

/// The shortest pause between two times: a slot on its way is told with every answer.
const BETWEEN: Duration = Duration::from_millis(50);

/// How many nodes are asked at once.
const ASKED_AT_ONCE: usize = 5;

/// A node that serves no slots is kept for so long after somebody was sent to it.
const LET_GO_AFTER: Duration = Duration::from_secs(10);

/// The nodes of a cluster.
pub struct Cluster {
    common: Common,
    inbox: Arc<Inbox>,
    itself: Weak<Self>,
    known: Mutex<Known>,
    /// Those that have keys, in the order of their names.
    nodes: watch::Sender<Seats>,
    /// The cluster was asked, well or badly.
    is_asked: watch::Sender<bool>,
    ask_now: Notify,
}

#[derive(Default)]
struct Known {
    nodes: BTreeMap<Address, Member>,
    slots: SlotMap,
}

/// One server that is a node of the cluster, or was.
struct Member {
    node: Arc<Node>,
    /// The configuration names it: it is asked about the others even when it serves nothing.
    is_seed: bool,
    serves: bool,
    /// When somebody was last sent to it: a slot may be on its way there.
    wanted_at: Option<Instant>,
}

/// What one node tells of the cluster.
struct Told {
    slots: SlotMap,
    is_well: bool,
    epoch: u64,
}

impl Cluster {
    /// Knows the nodes of the configuration at first; they are asked for the others.
    pub(super) fn start(common: Common, inbox: Arc<Inbox>) -> Arc<Self> {
        let cluster = Arc::new_cyclic(|itself| Self {
            common: common.clone(),
            inbox,
            itself: Weak::clone(itself),
            known: Mutex::default(),
            nodes: watch::Sender::new(Arc::new([])),
            is_asked: watch::Sender::new(false),
            ask_now: Notify::new(),
        });
        let mut known = cluster.known();
        for config in &common.group.nodes {
            let connection = config.url.connection();
            let address = match connection.addr() {
                redis::ConnectionAddr::Tcp(host, port)
                | redis::ConnectionAddr::TcpTls { host, port, .. } => (host.clone(), *port),
                other => (other.to_string(), 0),
            };
            let node = cluster.join(config.clone());
            let member = Member {
                node,
                is_seed: true,
                serves: true,
                wanted_at: None,
            };
            known.nodes.insert(address, member);
        }
        cluster.tell_nodes(&known);
        drop(known);
        let (keeping, stop) = (Arc::clone(&cluster), common.stop.clone());
        tokio::spawn(async move {
            stop.run_until_cancelled(keeping.keep_up()).await;
        });
        cluster
    }

    /// The nodes that have keys, as far as is known now.
    pub(super) fn nodes(&self) -> Seats {
        Arc::clone(&self.nodes.borrow())
    }

    /// How many slots one of them serves.
    pub(super) fn slots_of(&self, node: &Arc<Node>) -> u32 {
        let known = self.known();
        let mut addresses = known.nodes.iter();
        let found = addresses.find(|(_, member)| Arc::ptr_eq(&member.node, node));
        found.map_or(0, |(address, _)| known.slots.served_by(address))
    }

    /// Tells when they are others.
    pub(super) fn changes(&self) -> watch::Receiver<Seats> {
        self.nodes.subscribe()
    }

    /// The node that has this key. Where that is not known, some node: it will say who does, or why nobody.
    pub(super) fn node_of(&self, key: &LockKey) -> Arc<Node> {
        let known = self.known();
        let serving = known.slots.server_of(slot_of(key.as_bytes()));
        let member = serving.and_then(|address| known.nodes.get(address));
        let is_up = |member: &&Member| member.node.state() == NodeState::Up;
        let member = member
            .or_else(|| known.nodes.values().find(is_up))
            .or_else(|| known.nodes.values().next());
        Arc::clone(&member.expect("the nodes of the configuration stay").node)
    }

    /// Waits until the cluster was asked once, well or badly.
    pub(super) async fn is_asked(&self) {
        let mut is_asked = self.is_asked.subscribe();
        drop(is_asked.wait_for(|is_asked| *is_asked).await);
    }

    fn named_by(&self, error: &RedisError, node: &Node) -> Option<Arc<Node>> {
        let (text, _) = error.redirect_node()?;
        let asked = node.reach.host().unwrap_or_default();
        let address = slots::address(text, &asked)?;
        let mut known = self.known();
        let member = self.member(&mut known, &address);
        member.wanted_at = Some(Instant::now());
        let node = Arc::clone(&member.node);
        self.tell_nodes(&known);
        Some(node)
    }

    /// The server at this address, which joins if it was not known.
    fn member<'a>(&self, known: &'a mut Known, address: &Address) -> &'a mut Member {
        known.nodes.entry(address.clone()).or_insert_with(|| {
            let (host, port) = address;
            let first = self.common.group.nodes.first();
            let like_it = first.expect("a group has a node").at(host, *port);
            let name = like_it.url.address();
            Member {
                node: self.join(crate::server::config::NodeConfig { name, ..like_it }),
                is_seed: false,
                serves: false,
                wanted_at: None,
            }
        })
    }

    fn join(&self, config: crate::server::config::NodeConfig) -> Arc<Node> {
        // One place for all of them: a key has one node, whichever that is at the moment.
        let feed = Feed::new(Arc::clone(&self.inbox), 0);
        let itself: Weak<Self> = Weak::clone(&self.itself);
        Node::start(config, &self.common, feed, Some(itself))
    }

    async fn keep_up(&self) {
        loop {
            let told = self.ask().await;
            if let Some(slots) = told {
                self.take(slots);
            }
            self.is_asked.send_replace(true);
            sleep(BETWEEN).await;
            let _either_way = timeout(EVERY, self.ask_now.notified()).await;
        }
    }

    /// Asks some nodes who serves what. Who says that the cluster works is believed before others, and who has seen more of
    /// its history.
    async fn ask(&self) -> Option<SlotMap> {
        let all: Vec<Arc<Node>> = {
            let known = self.known();
            let members = known.nodes.values();
            members.map(|member| Arc::clone(&member.node)).collect()
        };
        if all.iter().all(|node| node.state() != NodeState::Up) {
            let mut attempts: FuturesUnordered<_> =
                all.iter().map(|node| node.first_attempt()).collect();
            while attempts.next().await.is_some() {
                if all.iter().any(|node| node.state() == NodeState::Up) {
                    break;
                }
            }
        }
        let up: Vec<&Arc<Node>> = all
            .iter()
            .filter(|node| node.state() == NodeState::Up)
            .collect();
        let begin = rand::random_range(0..up.len().max(1));
        let asked = up
            .iter()
            .cycle()
            .skip(begin)
            .take(up.len().min(ASKED_AT_ONCE));
        let told = futures::future::join_all(asked.map(|node| ask(node))).await;
        for missed in told.iter().filter_map(|told| told.as_ref().err()) {
            tracing::debug!(group = %self.common.group.name, reason = missed.reason(), "a node does not tell of its cluster");
        }
        let best = told
            .into_iter()
            .filter_map(Result::ok)
            .max_by_key(|told| (told.is_well, told.epoch));
        best.map(|told| told.slots)
    }

    /// Takes in who serves what: who is new joins, and who has served nothing for a while leaves.
    fn take(&self, slots: SlotMap) {
        let mut known = self.known();
        let serving = slots.servers();
        if serving.is_empty() {
            return;
        }
        let now = Instant::now();
        for member in known.nodes.values_mut() {
            member.serves = false;
        }
        for address in &serving {
            // A replica that was promoted may not have got the last writes of its primary.
            let from = known.slots.primary_of(address).cloned();
            let member = self.member(&mut known, address);
            member.serves = true;
            if let Some((host, port)) = from {
                let from = format!("{host}:{port}");
                tracing::warn!(node.name = %member.node.name(), %from, "a replica of the cluster was promoted");
                member.node.promoted(from);
            }
        }
        known.nodes.retain(|_, member| {
            let stays = member.is_seed || member.is_shown(now);
            if !stays {
                member.node.gone().cancel();
            }
            stays
        });
        known.slots = slots;
        self.tell_nodes(&known);
    }

    fn tell_nodes(&self, known: &Known) {
        let now = Instant::now();
        let shown = known.nodes.values().filter(|member| member.is_shown(now));
        let mut nodes: Vec<Arc<Node>> = shown.map(|member| Arc::clone(&member.node)).collect();
        nodes.sort_by(|one, other| one.name().cmp(other.name()));
        self.nodes.send_if_modified(|before| {
            let is_new = before.len() != nodes.len()
                || before.iter().zip(&nodes).any(|(a, b)| !Arc::ptr_eq(a, b));
            if is_new {
                *before = nodes.into();
            }
            is_new
        });
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}

impl Member {
    fn is_shown(&self, now: Instant) -> bool {
        let is_wanted = |at| now.duration_since(at) < LET_GO_AFTER;
        self.serves || self.wanted_at.is_some_and(is_wanted)
    }
}

impl Redirects for Cluster {
    fn elsewhere(&self, error: &RedisError, node: &Node) -> Option<Elsewhere> {
        let ErrorKind::Server(kind) = error.kind() else {
            return None;
        };
        match kind {
            ServerErrorKind::Moved => {
                self.ask_now.notify_one();
                Some(Elsewhere::Moved(self.named_by(error, node)?))
            }
            ServerErrorKind::Ask => Some(Elsewhere::Ask(self.named_by(error, node)?)),
            ServerErrorKind::TryAgain => Some(Elsewhere::Later),
            _ => None,
        }
    }
}

/// Asks one node about its cluster.
async fn ask(node: &Node) -> Result<Told, Missed> {
    let asked = node.reach.host().unwrap_or_default();
    let limit = node.command_timeout();
    let asking = node.observe(limit, |mut line| async move {
        let mut questions = redis::pipe();
        questions.cmd("CLUSTER").arg("SLOTS");
        questions.cmd("CLUSTER").arg("INFO");
        questions.ignore_errors();
        let (slots, info): (redis::RedisResult<SlotMap>, redis::RedisResult<String>) =
            questions.query_async(&mut line.connection).await?;
        let info = info.unwrap_or_default();
        let field = |name: &str| {
            let is_it = |line: &str| Some(line.trim_end().strip_prefix(name)?.to_owned());
            info.lines().find_map(is_it)
        };
        Ok(Told {
            slots: slots?,
            // Where that may not be asked, it is taken at its word.
            is_well: field("cluster_state:").is_none_or(|state| state == "ok"),
            epoch: field("cluster_current_epoch:")
                .and_then(|epoch| epoch.parse().ok())
                .unwrap_or(0),
        })
    });
    let told = asking.await?;
    Ok(Told {
        slots: told.slots.with_host(&asked),
        ..told
    })
}
