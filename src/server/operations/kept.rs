//! The locks that this console keeps for others: acquired here with `auto_renew`, renewed until they are let go or lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Operations;
use super::acquired::{AcquireRequest, Acquired};
use super::audited::refused;
use crate::domain::{Change, Fault, Fingerprint, LockId, NodeAct, Verb};
use crate::server::access::Actor;
use crate::server::index::Index;
use crate::server::locking::keep::{Ended, Hold, Kept, Loss, Pause, keep};
use crate::server::locking::pace::Limits;
use crate::server::locking::{Layout, Token, Want};
use crate::server::nodes::Group;

/// So many locks are kept at once.
const MOST_KEPT: usize = 10_000;

/// The locks that are kept, by lock and hold.
#[derive(Clone)]
pub(super) struct KeptLocks {
    locks: Arc<Mutex<HashMap<Name, Entered>>>,
    places: Arc<Semaphore>,
}

type Name = (LockId, Fingerprint);

/// A lock that is kept, and how often it has to be released, where its format counts that.
struct Entered {
    kept: Arc<Kept>,
    times: u32,
    /// Who had it renewed.
    by: Actor,
}

/// Room for one more lock to keep.
pub(super) type Place = OwnedSemaphorePermit;

/// An acquire that was won.
pub(super) struct Won<'a> {
    id: &'a LockId,
    request: &'a AcquireRequest,
    want: &'a Want,
    validity: Duration,
    nodes: &'a [NodeAct],
    by: &'a Actor,
}

impl Default for KeptLocks {
    fn default() -> Self {
        Self::with_room_for(MOST_KEPT)
    }
}

impl KeptLocks {
    fn with_room_for(places: usize) -> Self {
        Self {
            locks: Arc::default(),
            places: Arc::new(Semaphore::new(places)),
        }
    }

    /// How many are kept.
    pub(super) fn count(&self) -> usize {
        self.locks().len()
    }

    fn place(&self) -> Result<Place, Fault> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map_err(|_| Fault::TooMany {
            detail: "this console keeps as many locks as it can; without `auto_renew` it can still be acquired".into(),
            retry_after_ms: 1_000,
        })
    }

    /// The lock, if it is being kept for this owner.
    pub(super) fn get(&self, id: &LockId, token: &Token) -> Option<Arc<Kept>> {
        let locks = self.locks();
        if locks.is_empty() {
            return None;
        }
        let found = locks.get(&(id.clone(), Layout::name_of_hold(token)))?;
        found.kept.is_going_on().then(|| Arc::clone(&found.kept))
    }

    /// The lock, if it is being kept for the owner that everybody sees.
    pub(super) fn seen_as(&self, id: &LockId, owner: &Fingerprint) -> Option<Arc<Kept>> {
        let locks = self.locks();
        let mut holds = locks.iter().filter(|((known, _), _)| known == id);
        let found = holds.find(|(_, found)| found.kept.now().owner == *owner);
        let kept = found.map(|(_, found)| Arc::clone(&found.kept));
        kept.filter(|kept| kept.is_going_on())
    }

    /// Before its owner releases it: it is kept no longer. One that has to be released more often is kept on afterwards.
    pub(super) fn let_go(&self, id: &LockId, token: &Token) -> Option<Pause> {
        let mut locks = self.locks();
        if locks.is_empty() {
            return None;
        }
        let name = (id.clone(), Layout::name_of_hold(token));
        let found = locks.get_mut(&name)?;
        found.times -= 1;
        if found.times > 0 {
            return Some(found.kept.pause());
        }
        found.kept.stop();
        locks.remove(&name);
        None
    }

    /// Keeps the lock from now on, if there is a place for it. Nothing if that was so already.
    fn begin(
        &self,
        group: &Arc<Group>,
        won: &Won<'_>,
        name: &Name,
        place: Option<Place>,
    ) -> Option<(Arc<Kept>, Place)> {
        let mut locks = self.locks();
        if let Some(found) = locks.get_mut(name)
            && found.kept.is_going_on()
        {
            found.times += u32::from(won.request.format.counts_entries());
            found.by = won.by.clone();
            let (ttl, nodes) = (won.want.ttl, won.nodes.to_vec());
            let owner = won.want.token.fingerprint();
            found.kept.extended(ttl, won.validity, nodes, owner);
            return None;
        }
        let place = place?;
        let kept = Arc::new(keep(Arc::clone(group), won.hold(group)));
        let entered = Entered {
            kept: Arc::clone(&kept),
            times: 1,
            by: won.by.clone(),
        };
        locks.insert(name.clone(), entered);
        Some((kept, place))
    }

    /// Renews no lock any more for those who may not have it renewed: each ends with its lease, and is told to be lost.
    fn stop_for(&self, is_out: impl Fn(&Actor, &LockId) -> bool) {
        let locks = self.locks();
        let of_others = locks
            .iter()
            .filter(|((id, _), found)| is_out(&found.by, id));
        for (_, found) in of_others {
            found.kept.lose(Loss::Revoked);
        }
    }

    /// Forgets a lock, unless another hold of it has taken its place.
    fn forget(&self, name: &Name, kept: &Arc<Kept>) {
        let mut locks = self.locks();
        let is_it = |found: &Entered| Arc::ptr_eq(&found.kept, kept);
        if locks.get(name).is_some_and(is_it) {
            locks.remove(name);
        }
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<Name, Entered>> {
        // Only ever changed by whole entries, so a panic elsewhere left it sound.
        self.locks.lock()
    }
}

impl<'a> Won<'a> {
    pub(super) fn new(
        id: &'a LockId,
        request: &'a AcquireRequest,
        want: &'a Want,
        validity: Duration,
        nodes: &'a [NodeAct],
        by: &'a Actor,
    ) -> Self {
        Self {
            by,
            id,
            request,
            want,
            validity,
            nodes,
        }
    }

    fn hold(&self, group: &Group) -> Hold {
        Hold {
            key: self.want.key.clone(),
            token: self.want.token.clone(),
            ttl: self.want.ttl,
            validity: self.validity,
            nodes: self.nodes.to_vec(),
            limits: Limits::of(&group.config.locking),
            ahead: Duration::ZERO,
        }
    }

    /// What the owner calls itself.
    fn label(&self) -> Option<String> {
        let label = self.request.label.as_deref()?.trim();
        (!label.is_empty()).then(|| label.to_owned())
    }
}

impl Operations {
    /// Renews no lock any more for somebody whom this says to be out: their token was revoked, or their rights.
    pub fn stop_renewing_for(&self, is_out: impl Fn(&Actor, &LockId) -> bool) {
        self.kept.stop_for(is_out);
    }

    /// Room to keep the lock, where that is asked for and needed: before it is acquired, so that none is acquired in vain.
    pub(super) fn place_to_keep(
        &self,
        id: &LockId,
        request: &AcquireRequest,
        token: &Token,
    ) -> Result<Option<Place>, Fault> {
        if !request.auto_renew || self.kept.get(id, token).is_some() {
            return Ok(None);
        }
        let place = self.kept.place();
        place
            .map(Some)
            .inspect_err(|fault| refused("acquire", id, fault))
    }

    /// Keeps a lock that was just acquired for somebody in this process, for as long as they hold the handle. Only they are
    /// told of its loss; without a renewal they are told `ahead` of the moment when its validity ends.
    pub fn keep_here(
        &self,
        actor: &Actor,
        id: &LockId,
        acquired: &Acquired,
        ttl: Duration,
        ahead: Duration,
    ) -> Result<Kept, Fault> {
        let group = self.group_to_act_on(actor, Verb::Extend, id)?;
        // Counted from the nodes' replies: writing the end of the acquire down may have taken a while since.
        let validity = match acquired.valid_until {
            Some(until) => until.saturating_duration_since(Instant::now()),
            None => Duration::from_millis(acquired.validity_ms),
        };
        let hold = Hold {
            key: id.key.clone(),
            token: Token::from_bytes(acquired.token.as_bytes()),
            ttl,
            validity,
            nodes: acquired.nodes.clone(),
            limits: Limits::NONE,
            ahead,
        };
        Ok(keep(group, hold))
    }

    /// After an acquire: keeps the lock, where there is a place for it. One that is kept already is kept for its new lease.
    pub(super) fn keep(&self, group: &Arc<Group>, won: &Won<'_>, place: Option<Place>) {
        // A token that was minted for this acquire has not been kept before.
        if place.is_none() && !won.want.brought {
            return;
        }
        let name = (won.id.clone(), Layout::name_of_hold(&won.want.token));
        let Some((kept, place)) = self.kept.begin(group, won, &name, place) else {
            return;
        };
        let (locks, index, label) = (self.kept.clone(), self.index().clone(), won.label());
        tokio::spawn(async move {
            let ended = until_ended(&kept, &index, &name.0).await;
            locks.forget(&name, &kept);
            drop(place);
            if let Ended::Lost(loss) = ended {
                let owner = kept.now().owner;
                tell_lost(&index, (name.0, owner), label, loss.to_string()).await;
            }
        });
    }
}

/// Waits until keeping ends, and has it remembered meanwhile that the renewals went through here.
async fn until_ended(kept: &Kept, index: &Index, id: &LockId) -> Ended {
    let mut told = kept.watch();
    let mut known = told.borrow_and_update().extensions();
    loop {
        // The sender lives in the handle.
        let _still_there = told.changed().await;
        let keeping = told.borrow_and_update().clone();
        let extensions = keeping.extensions();
        if extensions > known {
            index.renewed_here(id, &keeping.owner, extensions - known);
            index.look_soon(id);
            known = extensions;
        }
        if let Some(ended) = keeping.ended {
            return ended;
        }
    }
}

/// Everybody who watches hears that a lock was lost.
async fn tell_lost(
    index: &Index,
    (id, fingerprint): (LockId, Fingerprint),
    label: Option<String>,
    why: String,
) {
    tracing::warn!(act = "keep", lock.group = id.group, lock.key = ?id.key, owner = %fingerprint, "lost: {why}");
    index.look_soon(&id);
    let at = index.now();
    let lost = Change::Lost {
        id,
        fingerprint,
        label,
        at,
        why,
    };
    index.tell(lost).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many_and_again_when_one_goes() {
        let kept = KeptLocks::with_room_for(2);
        let (first, second) = (kept.place().unwrap(), kept.place());
        assert!(second.is_ok());
        assert!(matches!(kept.place(), Err(Fault::TooMany { .. })));
        drop(first);
        assert!(kept.place().is_ok());
    }
}
