//! Reads what is stored under the key of a lock.

use bytes::Bytes;

use super::client::Stat;
use super::formats::{
    self, CURATOR_LEASES, CURATOR_LOCKS, KAZOO_QUEUE_SUFFIX, MAX_OWNERS, Queue, Shape, StoredNode,
};
use super::products::Product;
use super::rounds::{ReadError, Round};
use crate::domain::{Format, Mode};

/// How often a lock is listed again whose contenders are all gone when they are read.
const MAX_LISTINGS: usize = 4;

/// What is stored under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyContent {
    /// Nothing, or an empty directory, as kazoo leaves it after a release.
    Absent,
    /// Something that is not a lock.
    Other,
    /// A lock whose owners have nodes of their own.
    Lock(LockContent),
    /// A node with a time, as of `ShedLock`.
    Timed(StoredNode),
}

/// A lock whose owners have nodes of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockContent {
    /// The format.
    pub format: Format,
    /// Whether the owners exclude each other.
    pub mode: Mode,
    /// The nodes of the owners, in order. Never empty.
    pub owners: Vec<StoredNode>,
    /// The nodes of the first waiters, in order; empty unless they were requested.
    pub waiters: Vec<StoredNode>,
    /// The number of waiters.
    pub waiter_count: usize,
}

/// A read of one key.
pub struct KeyReader<'a> {
    round: &'a Round,
    path: &'a str,
    /// How many waiters are read.
    max_waiters: usize,
}

impl<'a> KeyReader<'a> {
    /// Reads the key of this path, and the nodes of the first `max_waiters` waiters.
    pub fn new(round: &'a Round, path: &'a str, max_waiters: usize) -> Self {
        Self {
            round,
            path,
            max_waiters,
        }
    }

    /// Reads the key.
    pub async fn read(self) -> Result<KeyContent, ReadError> {
        for _ in 0..MAX_LISTINGS {
            if let Some(content) = self.read_once().await? {
                return Ok(content);
            }
        }
        // Its owner changes faster than it can be read.
        Ok(KeyContent::Absent)
    }

    /// `None` if everything that was listed is gone.
    async fn read_once(&self) -> Result<Option<KeyContent>, ReadError> {
        let (children, data, is_semaphore_queue) = futures::join!(
            self.round.children(self.path.to_owned()),
            self.round.data(self.path),
            self.check_semaphore_queue(),
        );
        let Some(children) = children? else {
            return Ok(Some(KeyContent::Absent));
        };
        if is_semaphore_queue? {
            return Ok(Some(KeyContent::Other));
        }
        // The data is only needed of nodes that are not the directory of a queue.
        match Shape::of(&children) {
            Shape::Queue(queue) => self.read_queue(queue).await,
            Shape::CuratorSemaphore => self.read_curator_semaphore().await,
            Shape::KazooSemaphore(leases) => {
                if !is_count(data?.as_ref()) {
                    return Ok(Some(KeyContent::Other));
                }
                self.read_kazoo_semaphore(&leases).await
            }
            Shape::Leaf => Ok(Some(leaf(self.path, data?))),
            Shape::Directory => Ok(Some(KeyContent::Other)),
        }
    }

    /// Whether the path is the queue of a semaphore, which has the form of a lock.
    async fn check_semaphore_queue(&self) -> Result<bool, ReadError> {
        if let Some((parent, CURATOR_LOCKS)) = self.path.rsplit_once('/') {
            return Ok(self
                .round
                .data(&join(parent, CURATOR_LEASES))
                .await?
                .is_some());
        }
        match self.path.strip_suffix(KAZOO_QUEUE_SUFFIX) {
            Some(semaphore) => Ok(is_count(self.round.data(semaphore).await?.as_ref())),
            None => Ok(false),
        }
    }

    async fn read_queue(&self, mut queue: Queue) -> Result<Option<KeyContent>, ReadError> {
        loop {
            let owners: Vec<&str> = queue.owners().collect();
            let waiters = queue.waiters().take(self.max_waiters);
            let (owner_nodes, waiters) = futures::join!(
                self.nodes(self.path, owners.iter().copied()),
                self.nodes(self.path, waiters)
            );
            let owner_nodes = owner_nodes?;
            let gone = owners.iter().zip(&owner_nodes);
            let gone: Vec<&str> = gone
                .filter_map(|(name, node)| node.is_none().then_some(*name))
                .collect();
            if gone.is_empty() {
                let owners: Vec<StoredNode> = owner_nodes.into_iter().flatten().collect();
                // Other programs also number persistent nodes like this.
                let is_lock = queue.format != Format::ZookeeperRecipe
                    || owners
                        .iter()
                        .all(|owner| owner.stat.ephemeral_owner.is_some());
                if !is_lock {
                    return Ok(Some(KeyContent::Other));
                }
                return Ok(Some(KeyContent::Lock(LockContent {
                    // Its locks are not those of applications, whatever their form is.
                    format: match Product::of_tree(self.path) {
                        Some(_) => Format::EphemeralNode,
                        None => queue.format,
                    },
                    mode: queue.mode,
                    owners,
                    waiters: waiters?.into_iter().flatten().collect(),
                    waiter_count: queue.waiter_count(),
                })));
            }
            match queue.without(&gone) {
                Some(remaining) => queue = remaining,
                None => return Ok(None),
            }
        }
    }

    async fn read_curator_semaphore(&self) -> Result<Option<KeyContent>, ReadError> {
        let (leases, queue) = (
            join(self.path, CURATOR_LEASES),
            join(self.path, CURATOR_LOCKS),
        );
        let (names, waiting) = futures::join!(
            self.round.children(leases.clone()),
            self.round.children(queue.clone())
        );
        let waiting = Queue::of(&waiting?.unwrap_or_default());
        let Some(names) = Queue::of(&names?.unwrap_or_default()) else {
            return Ok(Some(KeyContent::Absent));
        };
        let owners = self.nodes(&leases, names.all().take(MAX_OWNERS));
        // The first one decides which lease is not held yet.
        let max_waiters = self.max_waiters.max(1);
        let waiters = waiting.iter().flat_map(Queue::all).take(max_waiters);
        let (owners, waiters) = futures::join!(owners, self.nodes(&queue, waiters));
        let waiters: Vec<StoredNode> = waiters?.into_iter().flatten().collect();
        let owners = owners?.into_iter().flatten().collect();
        let owners = formats::without_waiting_lease(owners, waiters.first().map(|node| &node.stat));
        Ok(self.semaphore(Format::CuratorSemaphore, owners, waiters, waiting.as_ref()))
    }

    async fn read_kazoo_semaphore(
        &self,
        leases: &[String],
    ) -> Result<Option<KeyContent>, ReadError> {
        let queue = format!("{}{KAZOO_QUEUE_SUFFIX}", self.path);
        let leases = leases.iter().map(String::as_str).take(MAX_OWNERS);
        let (owners, waiting) = futures::join!(
            self.nodes(self.path, leases),
            self.round.children(queue.clone())
        );
        let waiting = Queue::of(&waiting?.unwrap_or_default());
        let waiters = waiting.iter().flat_map(Queue::all).take(self.max_waiters);
        let waiters = self.nodes(&queue, waiters).await?;
        let waiters = waiters.into_iter().flatten().collect();
        let mut owners: Vec<StoredNode> = owners?.into_iter().flatten().collect();
        owners.sort_by_key(|owner| owner.stat.czxid);
        Ok(self.semaphore(Format::KazooSemaphore, owners, waiters, waiting.as_ref()))
    }

    fn semaphore(
        &self,
        format: Format,
        owners: Vec<StoredNode>,
        mut waiters: Vec<StoredNode>,
        waiting: Option<&Queue>,
    ) -> Option<KeyContent> {
        waiters.truncate(self.max_waiters);
        let content = LockContent {
            format,
            mode: Mode::Shared,
            owners,
            waiters,
            waiter_count: waiting.map_or(0, |waiting| waiting.all().count()),
        };
        (!content.owners.is_empty()).then_some(KeyContent::Lock(content))
    }

    /// These children of a directory, `None` for those that are gone.
    async fn nodes(
        &self,
        directory: &str,
        names: impl Iterator<Item = &str>,
    ) -> Result<Vec<Option<StoredNode>>, ReadError> {
        let node = async |name: &str| {
            let path = join(directory, name);
            let data = self.round.data(&path).await?;
            Ok(data.map(|(data, stat)| StoredNode { path, data, stat }))
        };
        futures::future::try_join_all(names.map(node)).await
    }
}

/// A node without children.
fn leaf(path: &str, data: Option<(Bytes, Stat)>) -> KeyContent {
    let Some((data, stat)) = data else {
        return KeyContent::Absent;
    };
    let path = path.to_owned();
    let node = StoredNode { path, data, stat };
    if node.stat.ephemeral_owner.is_some() {
        if Product::of_node(&node.path).is_none() {
            return KeyContent::Other;
        }
        return KeyContent::Lock(LockContent {
            format: Format::EphemeralNode,
            mode: Mode::Exclusive,
            owners: vec![node],
            waiters: Vec::new(),
            waiter_count: 0,
        });
    }
    if formats::shedlock_until(&node.data).is_some() {
        return KeyContent::Timed(node);
    }
    // A directory of contenders is empty between two holds. It must be read without delay when the
    // next hold begins, so it counts as absent.
    KeyContent::Absent
}

/// Whether the data is the number of leases of a kazoo semaphore.
fn is_count(data: Option<&(Bytes, Stat)>) -> bool {
    data.is_some_and(|(data, _)| {
        (1..=10).contains(&data.len()) && data.iter().all(u8::is_ascii_digit)
    })
}

/// The path of a child.
pub fn join(directory: &str, name: &str) -> String {
    if directory == "/" {
        format!("/{name}")
    } else {
        format!("{directory}/{name}")
    }
}
