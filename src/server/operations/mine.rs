//! Locks acquired from this console's pages. Their tokens stay here, so that no page ever carries one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::act::check_typed_key;
use super::{AcquireRequest, Operations};
use crate::domain::{Fault, Format, LockId, Mine, Released};
use crate::server::locking::Token;

/// An expired lock stays listed for this long, so that its owner sees what became of it.
const REMEMBER_EXPIRED: Duration = Duration::from_mins(10);

/// The locks that are held from here, with their tokens.
#[derive(Default)]
pub(super) struct Held(Mutex<BTreeMap<LockId, Hold>>);

#[derive(Clone)]
struct Hold {
    mine: Mine,
    token: String,
}

impl Held {
    fn holds(&self) -> MutexGuard<'_, BTreeMap<LockId, Hold>> {
        // The map is only ever changed by whole entries, so a panic elsewhere left it sound.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: &LockId) -> Result<Hold, Fault> {
        self.holds()
            .get(id)
            .cloned()
            .ok_or(Fault::NotHeld { nodes: Vec::new() })
    }
}

impl Operations {
    /// The locks acquired from this console's pages, oldest first.
    pub fn mine(&self) -> Vec<Mine> {
        let now = self.index().now();
        let mut holds = self.held.holds();
        holds.retain(|_, hold| now.since(hold.mine.expires_at) < REMEMBER_EXPIRED);
        let mut mine: Vec<Mine> = holds.values().map(|hold| hold.mine.clone()).collect();
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
        id: LockId,
        ttl_ms: u64,
        label: Option<String>,
    ) -> Result<Mine, Fault> {
        check_typed_key(&id.key)?;
        let request = AcquireRequest {
            ttl_ms,
            wait_ms: 0,
            label,
            format: Format::Plain,
            token: None,
            auto_renew: false,
        };
        let acquired = self.acquire(&id, &request).await?;
        let mine = Mine {
            id: id.clone(),
            fingerprint: acquired.fingerprint,
            acquired_at: self.index().now(),
            ttl_ms,
            expires_at: acquired.expires_at,
            nodes: acquired.nodes,
            token_available: true,
        };
        self.held.holds().insert(
            id,
            Hold {
                mine: mine.clone(),
                token: acquired.token,
            },
        );
        Ok(mine)
    }

    /// Renews a lock acquired from here.
    pub async fn extend_mine(&self, id: &LockId, ttl_ms: u64) -> Result<Mine, Fault> {
        let hold = self.held.get(id)?;
        let extended = self.extend(id, &hold.token, ttl_ms).await?;
        let mut holds = self.held.holds();
        let hold = holds.get_mut(id).ok_or(Fault::NotHeld {
            nodes: extended.nodes.clone(),
        })?;
        hold.mine.ttl_ms = ttl_ms;
        hold.mine.expires_at = extended.expires_at;
        hold.mine.nodes = extended.nodes;
        if let Some(token) = extended.token {
            hold.mine.fingerprint = Token::from_bytes(token.as_bytes()).fingerprint();
            hold.token = token;
        }
        Ok(hold.mine.clone())
    }

    /// Releases a lock acquired from here. One that is gone already is forgotten, and said to be gone.
    pub async fn release_mine(&self, id: &LockId) -> Result<Released, Fault> {
        let hold = self.held.get(id)?;
        let end = self.release(id, &hold.token).await;
        if matches!(
            end,
            Ok(Released { holds: None, .. }) | Err(Fault::NotHeld { .. } | Fault::NotOwner { .. })
        ) {
            self.held.holds().remove(id);
        }
        end
    }

    /// Hands out the token of a lock acquired from here, once.
    pub fn take_token(&self, id: &LockId) -> Result<String, Fault> {
        let mut holds = self.held.holds();
        let hold = holds
            .get_mut(id)
            .ok_or(Fault::NotHeld { nodes: Vec::new() })?;
        if !std::mem::take(&mut hold.mine.token_available) {
            return Err(Fault::Forbidden {
                why: "the token was handed out already; it is shown once".into(),
            });
        }
        Ok(hold.token.clone())
    }
}
