//! Recognises locks in the nodes of a directory. No I/O.
//!
//! ```text
//! /locks/mutex/_c_9facbb75-2934-4067-8a15-201f46511f17-lock-0000000000   data "127.0.0.1"     ephemeralOwner, czxid, ctime
//! /locks/orders/06e5f14164eb4e07afed0be23349ec04__lock__0000000000       data "web-1:pid42"
//! ```
//!
//! The key of a lock is the path of its directory; of a semaphore, the path that its clients name.
//! An owner is identified by the full path of its node and the transaction that created it, so each
//! hold has another owner value.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::client::Stat;
use super::contender::{Claim, Contender, Family, is_kazoo_lease};
use super::products::{self, Product};
use crate::domain::{Confidence, Format, Lease, Mode, Owner, Timestamp};
use crate::server::stores::{DetectedLock, DetectedOwner, OwnerBytes};

/// The maximum number of owners of one lock that are read.
pub const MAX_OWNERS: usize = 100;
/// The longest data that is shown as a label, in characters.
const MAX_LABEL_CHARS: usize = 200;

/// The directory of the leases of a Curator semaphore, below its path.
pub const CURATOR_LEASES: &str = "leases";
/// The directory of the clients that wait for a lease of a Curator semaphore.
pub const CURATOR_LOCKS: &str = "locks";
/// What kazoo appends to the path of a semaphore for the directory of its waiters.
pub const KAZOO_QUEUE_SUFFIX: &str = "-__lock__";

/// A node with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNode {
    /// The full path.
    pub path: String,
    /// The data.
    pub data: Bytes,
    /// The stat.
    pub stat: Stat,
}

/// What the names of the children of a path show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A lock with a queue of sequential nodes.
    Queue(Queue),
    /// It has the directory of the leases of a Curator semaphore.
    CuratorSemaphore,
    /// The leases of a kazoo semaphore, if the data of the path is a number.
    KazooSemaphore(Vec<String>),
    /// It has no children.
    Leaf,
    /// It has other children, in which locks may be found.
    Directory,
}

/// The contenders of one lock in order: owners first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The format of the lock.
    pub format: Format,
    /// Whether the owners exclude each other.
    pub mode: Mode,
    contenders: Vec<Contender>,
    owner_count: usize,
}

impl Shape {
    /// Recognises the shape from the names of all children.
    pub fn of(children: &[String]) -> Self {
        if children.is_empty() {
            return Self::Leaf;
        }
        if let Some(queue) = Queue::of(children) {
            return Self::Queue(queue);
        }
        if children.iter().any(|name| name == CURATOR_LEASES) {
            return Self::CuratorSemaphore;
        }
        let leases = children.iter().filter(|name| is_kazoo_lease(name));
        let leases: Vec<String> = leases.cloned().collect();
        if leases.len() == children.len() {
            return Self::KazooSemaphore(leases);
        }
        Self::Directory
    }
}

impl Queue {
    /// The queue of the contenders among these names; `None` if there are none. If several
    /// libraries use the directory, the one with the lowest number is shown.
    pub fn of(names: &[String]) -> Option<Self> {
        let mut families: BTreeMap<Family, Vec<Contender>> = BTreeMap::new();
        for contender in names.iter().filter_map(|name| Contender::parse(name)) {
            let family = families.entry(contender.family).or_default();
            family.push(contender);
        }
        for contenders in families.values_mut() {
            contenders.sort_by(|one, other| {
                (one.sequence, &one.name).cmp(&(other.sequence, &other.name))
            });
        }
        let first = families
            .into_iter()
            .min_by_key(|(_, contenders)| contenders.first().map(|first| first.sequence));
        let (family, contenders) = first?;
        let readers = contenders
            .iter()
            .take_while(|contender| contender.claim == Claim::Shared)
            .count();
        Some(Self {
            format: family.format(&contenders),
            mode: if readers > 0 {
                Mode::Shared
            } else {
                Mode::Exclusive
            },
            owner_count: readers.max(1),
            contenders,
        })
    }

    /// The names of the owners' nodes, at most [`MAX_OWNERS`].
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        let owners = self
            .contenders
            .iter()
            .take(self.owner_count.min(MAX_OWNERS));
        owners.map(|contender| contender.name.as_str())
    }

    /// The names of the waiters' nodes, in order.
    pub fn waiters(&self) -> impl Iterator<Item = &str> {
        let waiters = self.contenders.iter().skip(self.owner_count);
        waiters.map(|contender| contender.name.as_str())
    }

    /// The number of waiters.
    pub fn waiter_count(&self) -> usize {
        self.contenders.len() - self.owner_count
    }

    /// The names of all contenders in order.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.contenders
            .iter()
            .map(|contender| contender.name.as_str())
    }

    /// The contenders without those whose nodes are gone, which leaves their owners to be found
    /// again; `None` if all are gone.
    pub fn without(&self, gone: &[&str]) -> Option<Self> {
        let remaining = self.all().filter(|name| !gone.contains(name));
        let remaining: Vec<String> = remaining.map(str::to_owned).collect();
        Self::of(&remaining)
    }
}

/// A lock of these owners. The lease is that of the first owner.
pub fn lock(
    format: Format,
    mode: Mode,
    owners: &[(StoredNode, Lease, Option<String>)],
    waiter_count: usize,
) -> Option<DetectedLock> {
    let (first, lease, _) = owners.first()?;
    let is_shared = owners.len() > 1;
    // A server that a product registers excludes no other server.
    let is_registration = format == Format::EphemeralNode && !products::is_leader(&first.path);
    Some(DetectedLock {
        format,
        confidence: if is_registration {
            Confidence::Possible
        } else {
            Confidence::Sure
        },
        mode,
        owners: owners
            .iter()
            .map(|(node, lease, host)| {
                detected_owner(format, node, *lease, host.as_deref(), is_shared)
            })
            .collect(),
        lease: *lease,
        claimed_at: Some(Timestamp::from_millis(first.stat.created_ms)),
        waiter_count: Some(u32::try_from(waiter_count).unwrap_or(u32::MAX)),
        may_be_registry_lock: false,
    })
}

fn detected_owner(
    format: Format,
    node: &StoredNode,
    lease: Lease,
    host: Option<&str>,
    is_shared: bool,
) -> DetectedOwner {
    let bytes = owner_bytes(&node.path, node.stat.czxid);
    let label = label(&node.data, host);
    let is_of_product = format == Format::EphemeralNode;
    let product = is_of_product.then(|| Product::of_node(&node.path));
    let product = product.flatten();
    DetectedOwner {
        owner: Owner {
            fingerprint: bytes.fingerprint(),
            label: match product {
                Some(product) => Some(product_label(product, label)),
                None => label,
            },
            format,
            hold_count: None,
        },
        bytes,
        lease: is_shared.then_some(lease),
    }
}

/// The name of the product, and what its node says.
fn product_label(product: Product, label: Option<String>) -> String {
    match label {
        Some(label) => format!("{product}: {label}"),
        None => product.to_string(),
    }
}

/// What identifies one hold: the path of its node, which carries a random id, and the transaction
/// that created it.
pub fn owner_bytes(path: &str, czxid: i64) -> OwnerBytes {
    OwnerBytes::new(format!("{path}\0{czxid:x}"))
}

/// The readable part of an owner: the data of its node where that is text. If the data is empty or
/// a loopback address, the host that the owner is connected from.
pub fn label(data: &[u8], host: Option<&str>) -> Option<String> {
    let text = std::str::from_utf8(data).unwrap_or_default().trim();
    // kazoo writes the Python representation of bytes for clients that wait for a semaphore.
    let text = text
        .strip_prefix("b'")
        .and_then(|text| text.strip_suffix('\''))
        .unwrap_or(text);
    let is_readable = !text.is_empty() && !text.chars().any(char::is_control);
    let text: String = match text.char_indices().nth(MAX_LABEL_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].to_owned(),
    };
    match (is_readable, host) {
        (true, Some(host)) if text.starts_with("127.") => Some(host.to_owned()),
        (true, _) => Some(text),
        (false, host) => host.map(str::to_owned),
    }
}

/// The time until which `ShedLock` has locked a persistent node, if the data has its form.
pub fn shedlock_until(data: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(data).ok()?;
    // `2026-11-23T19:00:00.000Z`: `Instant` omits digits that are zero.
    let is_time = (20..=30).contains(&text.len()) && text.ends_with('Z') && text.contains('T');
    is_time.then(|| Timestamp::try_from(text.to_owned()).ok())?
}

/// Recognises a lock of `ShedLock`: a persistent node whose data is a time in the future. It names
/// no owner, so a hold is identified by the version of the data.
pub fn shedlock(node: &StoredNode, now: Timestamp) -> Option<DetectedLock> {
    let until = shedlock_until(&node.data).filter(|until| *until > now)?;
    let bytes = OwnerBytes::new(format!(
        "{}\0{:x}\0{}",
        node.path, node.stat.czxid, node.stat.version
    ));
    Some(DetectedLock {
        format: Format::ShedLock,
        confidence: Confidence::Sure,
        mode: Mode::Exclusive,
        owners: vec![DetectedOwner {
            owner: Owner {
                fingerprint: bytes.fingerprint(),
                label: None,
                format: Format::ShedLock,
                hold_count: None,
            },
            bytes,
            lease: None,
        }],
        lease: Lease::until(until, now),
        claimed_at: None,
        waiter_count: None,
        may_be_registry_lock: false,
    })
}

/// The owners among the leases of a Curator semaphore: all of them, except the newest lease of the
/// session that is first in the queue, because that client still waits for it to become valid.
pub fn without_waiting_lease(
    mut leases: Vec<StoredNode>,
    first_waiter: Option<&Stat>,
) -> Vec<StoredNode> {
    let session = first_waiter.and_then(|stat| stat.ephemeral_owner);
    if session.is_some() {
        let waiting = leases
            .iter()
            .rposition(|lease| lease.stat.ephemeral_owner == session);
        if let Some(index) = waiting {
            leases.remove(index);
        }
    }
    leases
}

#[cfg(test)]
mod tests;
