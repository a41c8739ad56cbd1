//! Sign-ins that began and have not ended: kept for some minutes, by this console alone or by all that share a Redis. Each is taken
//! out once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::sealed::Seal;
use crate::domain::{Fault, Timestamp};
use crate::server::access::secret::SecretDigest;
use crate::server::shared::Shared;

/// So long somebody may take at the provider.
pub const LASTS: Duration = Duration::from_mins(10);
/// So many are kept by one console; the one that began first makes room.
const MOST: usize = 10_000;

/// What is kept of a sign-in from its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The digest of what the browser has that began it.
    pub browser: String,
    /// What the provider's word has to repeat.
    pub nonce: String,
    /// What proves to the provider that it is the same sign-in.
    pub verifier: String,
    /// Where somebody wants to go afterwards.
    pub next: String,
}

/// Sign-ins that have not ended.
pub enum Pendings {
    /// Known to this console alone.
    Here(Mutex<HashMap<SecretDigest, (Pending, Timestamp)>>),
    /// Known to all.
    There(Shared),
}

impl Pendings {
    /// None.
    pub fn new(shared: Option<&Shared>) -> Self {
        match shared {
            None => Self::Here(Mutex::default()),
            Some(shared) => Self::There(shared.clone()),
        }
    }

    /// Keeps one under its `state`.
    pub async fn keep(&self, state: &str, pending: Pending, now: Timestamp) -> Result<(), Fault> {
        let name = SecretDigest::of(state);
        let shared = match self {
            Self::Here(kept) => {
                keep(&mut locked(kept), name, pending, now);
                return Ok(());
            }
            Self::There(shared) => shared,
        };
        let sealed = serde_json::to_vec(&pending).ok();
        let sealed = sealed.and_then(|text| Seal::of(state).close(&text));
        let sealed = sealed.ok_or_else(|| Fault::Internal {
            detail: "a sign-in cannot be sealed".to_owned(),
        })?;
        let mut set = redis::cmd("SET");
        set.arg(shared.key("sign-in", &name.digits())).arg(sealed);
        set.arg("PX").arg(LASTS.as_millis().to_string());
        let () = shared.command(&set).await?;
        Ok(())
    }

    /// Takes one out, if there is one that is not too old.
    pub async fn take(&self, state: &str, now: Timestamp) -> Result<Option<Pending>, Fault> {
        let name = SecretDigest::of(state);
        let shared = match self {
            Self::Here(kept) => {
                let taken = locked(kept).remove(&name);
                let fresh = taken.filter(|(_, began)| is_fresh(*began, now));
                return Ok(fresh.map(|(pending, _)| pending));
            }
            Self::There(shared) => shared,
        };
        let mut take = redis::cmd("GETDEL");
        take.arg(shared.key("sign-in", &name.digits()));
        let sealed: Option<Vec<u8>> = shared.command(&take).await?;
        let opened = sealed.and_then(|sealed| Seal::of(state).open(&sealed));
        Ok(opened.and_then(|text| serde_json::from_slice(&text).ok()))
    }
}

type Kept = HashMap<SecretDigest, (Pending, Timestamp)>;

fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    // Only ever changed by whole sign-ins.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(kept: &mut Kept, name: SecretDigest, pending: Pending, now: Timestamp) {
    if kept.len() >= MOST {
        kept.retain(|_, (_, began)| is_fresh(*began, now));
    }
    if kept.len() >= MOST {
        let oldest = kept.iter().min_by_key(|(_, (_, began))| *began);
        if let Some(oldest) = oldest.map(|(name, _)| *name) {
            kept.remove(&oldest);
        }
    }
    kept.insert(name, (pending, now));
}

/// A clock that went back makes it unknown how old something is.
fn is_fresh(began: Timestamp, now: Timestamp) -> bool {
    now.since(began) < LASTS && began.since(now) < LASTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

    fn pending(next: &str) -> Pending {
        Pending {
            browser: "b".to_owned(),
            nonce: "n".to_owned(),
            verifier: "v".to_owned(),
            next: next.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_sign_in_is_taken_out_once_and_in_time() {
        let pendings = Pendings::new(None);
        for (after, is_there) in [
            (Duration::ZERO, true),
            (LASTS - Duration::from_secs(1), true),
            (LASTS, false),
        ] {
            pendings.keep("s", pending("/a"), BEGIN).await.unwrap();
            let now = BEGIN.plus(after);
            let taken = pendings.take("s", now).await.unwrap();
            assert_eq!(taken, is_there.then(|| pending("/a")), "{after:?}");
            assert_eq!(pendings.take("s", now).await.unwrap(), None);
        }
        assert_eq!(pendings.take("another", BEGIN).await.unwrap(), None);
    }

    #[tokio::test]
    async fn many_beginnings_take_bounded_room_and_the_oldest_goes_first() {
        let pendings = Pendings::new(None);
        for n in 0..=MOST {
            let now = BEGIN.plus(Duration::from_millis(u64::try_from(n).unwrap()));
            pendings
                .keep(&n.to_string(), pending("/"), now)
                .await
                .unwrap();
        }
        let now = BEGIN.plus(Duration::from_secs(20));
        assert_eq!(pendings.take("0", now).await.unwrap(), None);
        assert!(pendings.take("1", now).await.unwrap().is_some());
    }
}
