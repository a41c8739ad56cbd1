//! Locks acquired from this console's pages. Their tokens stay here, so that no page ever carries one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::audited::asked;
use super::check_key;
use super::{AcquireRequest, Operations, millis};
use crate::domain::{ActKind, Fault, LockId, Mine, Released, Verb};
use crate::server::access::Actor;
use crate::server::audit::End;
use crate::server::locking::Token;
use crate::server::locking::keep::{Ended, Keeping, Kept};

/// An expired lock stays listed for this long, so that its owner sees what became of it.
const REMEMBER_EXPIRED: Duration = Duration::from_mins(10);

/// The locks that are held from here, with their tokens, by whom they belong to.
#[derive(Default)]
pub(super) struct Held(Mutex<BTreeMap<Owned, Hold>>);

/// Somebody's lock.
type Owned = (Whose, LockId);

/// Who somebody is, however they came.
type Whose = (&'static str, String);

fn whose(actor: &Actor) -> Whose {
    let (kind, name) = actor.identity();
    (kind, name.to_owned())
}

#[derive(Clone)]
struct Hold {
    /// As it was when it was last acquired or extended by hand.
    mine: Mine,
    token: String,
    /// What renews it since.
    kept: Option<Arc<Kept>>,
}

impl Hold {
    /// How it stands now.
    fn now(&self) -> Mine {
        let mut mine = self.mine.clone();
        if let Some(kept) = &self.kept {
            stands(&mut mine, kept.now());
        }
        mine
    }
}

/// What keeping has made of it.
fn stands(mine: &mut Mine, keeping: Keeping) {
    mine.fingerprint = keeping.owner.clone();
    mine.auto_renew = keeping.is_renewed();
    mine.extensions += keeping.extensions();
    mine.ttl_ms = millis(keeping.ttl());
    mine.rests = keeping.rests.map(|limit| limit.to_string());
    mine.lost = match keeping.ended {
        Some(Ended::Lost(loss)) => Some(loss.to_string()),
        Some(Ended::Stopped) | None => None,
    };
    mine.expires_at = keeping.expires_at;
    mine.nodes = keeping.nodes;
}

impl Held {
    fn holds(&self) -> MutexGuard<'_, BTreeMap<Owned, Hold>> {
        // The map is only ever changed by whole entries, so a panic elsewhere left it sound.
        self.0.lock()
    }

    fn get(&self, actor: &Actor, id: &LockId) -> Result<Hold, Fault> {
        self.holds()
            .get(&(whose(actor), id.clone()))
            .cloned()
            .ok_or(Fault::NotHeld { nodes: Vec::new() })
    }
}

impl Operations {
    /// The locks that they acquired from this console's pages, oldest first.
    pub fn mine(&self, actor: &Actor) -> Vec<Mine> {
        let now = self.index().now();
        let mut holds = self.held.holds();
        let (mut mine, whose) = (Vec::new(), whose(actor));
        holds.retain(|(owner, _), hold| {
            let stands = hold.now();
            let is_remembered = now.since(stands.expires_at) < REMEMBER_EXPIRED;
            mine.extend((is_remembered && *owner == whose).then_some(stands));
            is_remembered
        });
        mine.sort_by(|a, b| {
            a.acquired_at
                .cmp(&b.acquired_at)
                .then_with(|| a.id.cmp(&b.id))
        });
        mine
    }

    /// Acquires a lock for this console: its token stays on the server.
    pub async fn acquire_mine(
        &self,
        actor: &Actor,
        id: LockId,
        request: &AcquireRequest,
    ) -> Result<Mine, Fault> {
        check_key(&id.key)?;
        let acquired = self.acquire(actor, &id, request).await?;
        let token = Token::from_bytes(acquired.token.as_bytes());
        let hold = Hold {
            kept: self.kept.get(&id, &token),
            mine: Mine {
                id: id.clone(),
                fingerprint: acquired.fingerprint,
                acquired_at: self.index().now(),
                ttl_ms: request.ttl_ms,
                expires_at: acquired.expires_at,
                nodes: acquired.nodes,
                token_available: true,
                auto_renew: false,
                fencing_token: acquired.fencing_token,
                extensions: 0,
                rests: None,
                lost: None,
            },
            token: acquired.token,
        };
        let mine = hold.now();
        self.held.holds().insert((whose(actor), id), hold);
        Ok(mine)
    }

    /// Renews a lock acquired from here.
    pub async fn extend_mine(
        &self,
        actor: &Actor,
        id: &LockId,
        ttl_ms: u64,
    ) -> Result<Mine, Fault> {
        let hold = self.held.get(actor, id)?;
        let extended = self.extend(actor, id, &hold.token, ttl_ms).await?;
        let mut holds = self.held.holds();
        let hold = holds
            .get_mut(&(whose(actor), id.clone()))
            .ok_or(Fault::NotHeld {
                nodes: extended.nodes.clone(),
            })?;
        hold.mine.ttl_ms = ttl_ms;
        hold.mine.expires_at = extended.expires_at;
        hold.mine.nodes = extended.nodes;
        if let Some(token) = extended.token {
            hold.mine.fingerprint = Token::from_bytes(token.as_bytes()).fingerprint();
            hold.token = token;
        }
        hold.mine.extensions += 1;
        // It was given up, and is still ours after all: but nothing renews it any more.
        if let Some(given_up) = hold.kept.take_if(|kept| !kept.is_going_on()) {
            hold.mine.extensions += given_up.now().extensions();
        }
        Ok(hold.now())
    }

    /// Releases a lock acquired from here. One that is gone already is forgotten, and said to be gone.
    pub async fn release_mine(&self, actor: &Actor, id: &LockId) -> Result<Released, Fault> {
        let hold = self.held.get(actor, id)?;
        let end = self.release(actor, id, &hold.token).await;
        if matches!(
            end,
            Ok(Released { holds: None, .. }) | Err(Fault::NotHeld { .. } | Fault::NotOwner { .. })
        ) {
            self.held.holds().remove(&(whose(actor), id.clone()));
        }
        end
    }

    /// Hands out the token of a lock acquired from here, once.
    pub async fn take_token(&self, actor: &Actor, id: &LockId) -> Result<String, Fault> {
        let mut asked = asked(ActKind::TakeToken, actor, id);
        // Whoever may not release a lock has no use for its token but to give it to somebody else.
        let group = self.group_to_act_on(actor, Verb::Release, id);
        self.checked(&asked, group)?;
        let held = self.held.get(actor, id);
        asked.fingerprint = held.ok().map(|hold| hold.mine.fingerprint);
        let open = self.begin(asked, id).await?;
        let taken = self.take_token_once(actor, id);
        open.end(&match &taken {
            Ok(_) => End::done(&[]),
            Err(fault) => End::fault(fault),
        });
        taken
    }

    fn take_token_once(&self, actor: &Actor, id: &LockId) -> Result<String, Fault> {
        let mut holds = self.held.holds();
        let hold = holds
            .get_mut(&(whose(actor), id.clone()))
            .ok_or(Fault::NotHeld { nodes: Vec::new() })?;
        if !std::mem::take(&mut hold.mine.token_available) {
            return Err(Fault::Forbidden {
                why: "the token was handed out already; it is shown once".into(),
            });
        }
        Ok(hold.token.clone())
    }
}
