//! What a person may ask: list, inspect, acquire, extend, release, force-release. Knows no HTTP.

mod acquire;
mod acquired;
mod act;
mod aftermath;
mod audited;
mod checkup;
mod completion;
mod ended;
mod force;
mod force_many;
mod fresh;
mod history;
pub mod idempotency;
mod kept;
mod list;
mod mine;
mod owners;
mod raw;
mod sample;
mod subscribe;
mod vouch;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::broadcast;

pub use acquired::{AcquireRequest, Acquired};
pub use act::Extended;
pub use force::ForceRelease;
pub use force_many::{ForceItem, ForceReleases, ForcedItem};
pub use history::Inspected;
pub use list::{ListQuery, Listing};
pub use subscribe::SubscribeRequest;

pub use crate::server::index::Subscription;
pub use crate::server::locking::keep::{Kept, Loss};

use crate::domain::{
    Checkup, Fault, GroupView, Lock, LockId, LockKey, NodeState, Place, Snapshot, Verb, View, Waits,
};
use crate::server::access::Actor;
use crate::server::audit::Audit;
use crate::server::config::Outside;
use crate::server::index::{Index, Watched};
use crate::server::locking::wait::Queues;
use crate::server::nodes::Group;
use crate::server::telemetry::Telemetry;
use crate::server::webhooks::Webhooks;
use aftermath::Aftermaths;
use completion::Completions;
use fresh::Fresh;
use kept::KeptLocks;
use mine::Held;

/// Every verb that pages, API and command line share.
pub struct Operations {
    groups: ArcSwap<Vec<Arc<Group>>>,
    index: Index,
    audit: Audit,
    held: Held,
    kept: KeptLocks,
    /// Who waits for which lock, by group.
    queues: AllQueues,
    /// Held while a sample is taken.
    sampling: tokio::sync::Mutex<()>,
    /// Who waits for whom.
    waits: Fresh<Waits>,
    /// What the doctor said.
    checkups: Fresh<Checkup>,
    telemetry: Telemetry,
    webhooks: Webhooks,
    aftermaths: Aftermaths,
    completions: Completions,
}

/// Who waits, by group: from the first one that does.
type AllQueues = Arc<Mutex<BTreeMap<String, Arc<Queues>>>>;

/// The longest name that is accepted from outside.
pub const LONGEST_KEY: usize = LockKey::MAX_BYTES;

impl Operations {
    /// The verbs over these groups; who does what is written to this audit.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(groups: Vec<Arc<Group>>, index: Index, audit: Audit) -> Self {
        let queues = AllQueues::default();
        tokio::spawn(wake(index.gone(), Arc::clone(&queues)));
        let names = || groups.iter().map(|group| group.config.name.as_str());
        Self {
            telemetry: Telemetry::new(names(), index.now()),
            webhooks: Webhooks::default(),
            waits: Fresh::default(),
            checkups: Fresh::default(),
            queues,
            groups: ArcSwap::from_pointee(groups),
            index,
            audit,
            held: Held::default(),
            kept: KeptLocks::default(),
            sampling: tokio::sync::Mutex::new(()),
            aftermaths: Aftermaths::default(),
            completions: Completions::default(),
        }
    }

    /// The same, with everybody told who wants to hear of acts.
    pub fn telling(self, webhooks: Webhooks) -> Self {
        self.telemetry.register([Box::new(webhooks.clone()) as _]);
        Self { webhooks, ..self }
    }

    /// These are the groups from now on; what was known of those that are named is forgotten.
    pub fn replace_groups(&self, groups: Vec<Arc<Group>>, changed: &[String]) {
        for group in &groups {
            self.telemetry.acts.know(&group.config.name);
        }
        self.groups.store(Arc::new(groups));
        for name in changed {
            self.waits.forget(name);
            self.checkups.forget(name);
        }
    }

    /// The groups as they are right now.
    fn all_groups(&self) -> Arc<Vec<Arc<Group>>> {
        self.groups.load_full()
    }

    /// The groups that run, whoever may see them.
    pub fn running_groups(&self) -> Arc<Vec<Arc<Group>>> {
        self.all_groups()
    }

    /// The sequence number of the audit's last entry, where it is known.
    pub fn audit_head(&self) -> Option<u64> {
        self.audit.head_sequence()
    }

    /// What is counted while acts and requests are answered.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// Who is told of flags and acts.
    pub fn webhooks(&self) -> &Webhooks {
        &self.webhooks
    }

    /// How many locks are renewed here for others.
    pub fn kept_locks(&self) -> usize {
        self.kept.count()
    }

    /// What has been observed, and its changes.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The groups that may be seen, with the health of their nodes right now.
    pub fn groups(&self, actor: &Actor) -> Vec<GroupView> {
        let mut views = self.every_group();
        let sight = actor.rights().sight();
        views.retain(|view| sight.shows(&view.name));
        views
    }

    fn every_group(&self) -> Vec<GroupView> {
        let index = self.index.snapshot();
        let views = index.groups().iter();
        let mut views: Vec<GroupView> = views.map(|view| GroupView::clone(view)).collect();
        let groups = self.all_groups();
        for view in &mut views {
            let group = groups.iter().find(|group| group.config.name == view.name);
            view.nodes = group.map(|group| group.nodes()).unwrap_or_default();
        }
        views
    }

    /// A part of the board and these locks besides, for a page that starts watching.
    pub async fn board(
        &self,
        actor: &Actor,
        mut view: View,
        also: Vec<LockId>,
    ) -> Result<Snapshot, Fault> {
        view.filter.sight = actor.rights().sight();
        let seen = self.index.view(&view).await?;
        let (index, now) = (self.index.snapshot(), self.index.now());
        Ok(Watched::new(view, also).snapshot(&seen, &index, now))
    }

    /// Whether there is anything to show: a first look at every group has ended, or its nodes cannot be asked. Pages show
    /// the board, so what a node said to somebody else a moment ago does not count.
    pub fn is_ready(&self) -> bool {
        let asked = |view: &GroupView| {
            view.looked_at.is_some() || view.nodes.iter().all(|node| node.since.is_some())
        };
        let index = self.index.snapshot();
        index.groups().iter().all(|view| asked(view))
    }

    /// One lock, asked for on the nodes right now.
    pub async fn inspect(&self, actor: &Actor, id: &LockId) -> Result<Lock, Fault> {
        let (group, key) = (self.group_to_read_in(actor, Verb::See, id)?, &id.key);
        let looked = self.look_again(&group, key).await?;
        if let Some(lock) = looked.lock {
            return Ok(lock);
        }
        let reached = looked
            .nodes
            .iter()
            .filter(|node| node.answer.is_answer())
            .count();
        let (asked, quorum) = (looked.nodes.len(), group.quorum());
        // What cannot be asked could hold a quorum: then nothing can be said.
        if asked - reached >= quorum {
            return Err(Fault::Unreachable {
                reached: count(reached),
                asked: count(asked),
                quorum: count(quorum),
                nodes: looked.nodes,
            });
        }
        Err(Fault::NotObserved {
            nodes: looked.nodes,
        })
    }

    async fn look_again(
        &self,
        group: &Group,
        key: &LockKey,
    ) -> Result<crate::server::index::Looked, Fault> {
        let stopping = || Fault::Internal {
            detail: "the console is shutting down".into(),
        };
        self.index.look_again(group, key).await.ok_or_else(stopping)
    }

    /// Those who wait in a group that is known to exist.
    fn queues(&self, group: &str) -> Arc<Queues> {
        let mut queues = self.queues.lock();
        match queues.get(group) {
            Some(known) => Arc::clone(known),
            None => Arc::clone(queues.entry(group.to_owned()).or_default()),
        }
    }

    fn group(&self, name: &str) -> Result<Arc<Group>, Fault> {
        let groups = self.all_groups();
        let known = groups.iter().find(|group| group.config.name == name);
        known.cloned().ok_or_else(|| Fault::UnknownGroup {
            group: name.to_owned(),
        })
    }

    /// Whether there is such a group that they may see.
    pub fn check_sight(&self, actor: &Actor, group: &str) -> Result<(), Fault> {
        self.group_to_see(actor, group).map(|_| ())
    }

    /// The group, if they may see it. Whether there is one that they may not see, they are not told.
    fn group_to_see(&self, actor: &Actor, name: &str) -> Result<Arc<Group>, Fault> {
        actor.may(Verb::See, Place::group(name))?;
        self.group(name)
    }

    /// The group of a lock, if they may do that to it.
    fn group_to_act_on(&self, actor: &Actor, verb: Verb, id: &LockId) -> Result<Arc<Group>, Fault> {
        actor.may(Verb::See, Place::group(&id.group))?;
        let group = self.group(&id.group)?;
        actor.may(verb, Place::lock(id).read_only(group.config.read_only))?;
        check_name(&group, &id.key)?;
        Ok(group)
    }

    /// The group of a key, if they may read that of it.
    fn group_to_read_in(
        &self,
        actor: &Actor,
        verb: Verb,
        id: &LockId,
    ) -> Result<Arc<Group>, Fault> {
        let group = self.group_to_see(actor, &id.group)?;
        actor.may(verb, Place::lock(id))?;
        check_length(&id.key)?;
        check_name(&group, &id.key)?;
        Ok(group)
    }

    /// How many nodes of all groups answer, and how many there are.
    fn reach(views: &[GroupView]) -> (u32, u32) {
        let up = views
            .iter()
            .flat_map(|view| &view.nodes)
            .filter(|node| node.state == NodeState::Up)
            .count();
        (
            count(up),
            count(views.iter().map(|view| view.nodes.len()).sum()),
        )
    }
}

/// Rings for those who wait when anybody, here or elsewhere, is seen to have released. Ends with the index.
async fn wake(mut gone: broadcast::Receiver<LockId>, queues: AllQueues) {
    loop {
        match gone.recv().await {
            Ok(id) => {
                let known = queues.lock();
                let known = known.get(&id.group).cloned();
                if let Some(queues) = known {
                    queues.freed(&id.key);
                }
            }
            // Those who were not rung for try by themselves.
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// Whether there is a lock of this name to do something about. A key without a name can be on a server, and is shown.
fn check_key(key: &LockKey) -> Result<(), Fault> {
    if key.as_bytes().is_empty() {
        return Err(Fault::Impossible {
            field: "key".into(),
            detail: "is empty; give the lock a name".into(),
            min_ttl_ms: None,
        });
    }
    check_length(key)
}

fn check_length(key: &LockKey) -> Result<(), Fault> {
    if key.as_bytes().len() > LONGEST_KEY {
        return Err(Fault::Impossible {
            field: "key".into(),
            detail: format!("is longer than {LONGEST_KEY} bytes"),
            min_ttl_ms: None,
        });
    }
    Ok(())
}

/// Whether operations on this name are done in the group.
fn check_name(group: &Group, key: &LockKey) -> Result<(), Fault> {
    let patterns = match group.config.outside(key.as_bytes()) {
        None => return Ok(()),
        Some(Outside::Reserved) => Vec::new(),
        Some(Outside::Keys(patterns)) => patterns.to_vec(),
    };
    Err(Fault::OutsideKeys {
        key: key.clone(),
        patterns,
    })
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
