//! Sign-ins that began and have not ended: kept for some minutes, by this console alone or by all that share a Redis. Each is taken
//! out once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Script;
use serde::{Deserialize, Serialize};

use super::sealed::Seal;
use crate::domain::{Fault, Timestamp};
use crate::server::access::secret::SecretDigest;
use crate::server::access::throttle::network;
use crate::server::shared::{OurScript, Shared};

/// So long somebody may take at the provider.
pub const LASTS: Duration = Duration::from_mins(10);
/// So many are kept of one network, and so many in all: nobody is known who begins one. Of the network that has most, the one that
/// began first makes room.
const MOST_OF_NETWORK: usize = 20;
const MOST: usize = 2_000;

static KEEP: OurScript =
    LazyLock::new(|| Script::new(include_str!("../../shared/scripts/sign_in_keep.lua")));

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
    Here(Mutex<Kept>),
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

    /// Keeps one under its `state`, which began at this address.
    pub async fn keep(
        &self,
        state: &str,
        pending: Pending,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let name = SecretDigest::of(state);
        let network = address.map(network);
        let shared = match self {
            Self::Here(kept) => {
                let began = Began {
                    pending,
                    network,
                    at: now,
                };
                keep(&mut locked(kept), name, began);
                return Ok(());
            }
            Self::There(shared) => shared,
        };
        let sealed = serde_json::to_vec(&pending).ok();
        let sealed = sealed.and_then(|text| Seal::of(state).close(&text));
        let sealed = sealed.ok_or_else(|| Fault::Internal {
            detail: "a sign-in cannot be sealed".to_owned(),
        })?;
        let name = name.digits();
        let network = network.map_or_else(String::new, |network| format!("{network:x}"));
        let keys = [
            shared.key("sign-in", &name),
            shared.key("sign-ins-of", &network),
            shared.key("sign-ins", ""),
        ];
        let prefix = shared.key("sign-in", "");
        let (lasts, of_network, in_all) = (
            LASTS.as_millis().to_string(),
            MOST_OF_NETWORK.to_string(),
            MOST.to_string(),
        );
        let arguments = [
            sealed.as_slice(),
            name.as_bytes(),
            lasts.as_bytes(),
            of_network.as_bytes(),
            in_all.as_bytes(),
            prefix.as_bytes(),
        ];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let () = shared.run(&KEEP, &keys, &arguments).await?;
        Ok(())
    }

    /// Takes one out, if there is one that is not too old.
    pub async fn take(&self, state: &str, now: Timestamp) -> Result<Option<Pending>, Fault> {
        let name = SecretDigest::of(state);
        let shared = match self {
            Self::Here(kept) => {
                let taken = locked(kept).remove(&name);
                let fresh = taken.filter(|began| is_fresh(began.at, now));
                return Ok(fresh.map(|began| began.pending));
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

/// By the digest of their `state`.
type Kept = HashMap<SecretDigest, Began>;

/// A sign-in that began.
pub struct Began {
    pending: Pending,
    network: Option<u128>,
    at: Timestamp,
}

fn locked(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    // Only ever changed by whole sign-ins.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(kept: &mut Kept, name: SecretDigest, began: Began) {
    if kept.len() >= MOST {
        kept.retain(|_, other| is_fresh(other.at, began.at));
    }
    let of_network = kept.values().filter(|other| other.network == began.network);
    if of_network.count() >= MOST_OF_NETWORK {
        forget_oldest(kept, began.network);
    } else if kept.len() >= MOST {
        let mut counts: HashMap<Option<u128>, usize> = HashMap::new();
        for other in kept.values() {
            *counts.entry(other.network).or_default() += 1;
        }
        if let Some((network, _)) = counts.into_iter().max_by_key(|(_, many)| *many) {
            forget_oldest(kept, network);
        }
    }
    kept.insert(name, began);
}

fn forget_oldest(kept: &mut Kept, network: Option<u128>) {
    let of_network = kept.iter().filter(|(_, began)| began.network == network);
    let oldest = of_network.min_by_key(|(_, began)| began.at);
    if let Some(oldest) = oldest.map(|(name, _)| *name) {
        kept.remove(&oldest);
    }
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
            pendings
                .keep("s", pending("/a"), None, BEGIN)
                .await
                .unwrap();
            let now = BEGIN.plus(after);
            let taken = pendings.take("s", now).await.unwrap();
            assert_eq!(taken, is_there.then(|| pending("/a")), "{after:?}");
            assert_eq!(pendings.take("s", now).await.unwrap(), None);
        }
        assert_eq!(pendings.take("another", BEGIN).await.unwrap(), None);
    }

    #[tokio::test]
    async fn one_network_has_room_for_some_and_pushes_out_its_own_alone() {
        let pendings = Pendings::new(None);
        let keep = async |name: String, network: u32, nth: u64| {
            let address = Some(IpAddr::V4(network.into()));
            let now = BEGIN.plus(Duration::from_millis(nth));
            pendings
                .keep(&name, pending("/"), address, now)
                .await
                .unwrap();
        };
        keep("other".to_owned(), 0, 0).await;
        for n in 0..=MOST_OF_NETWORK as u64 {
            keep(format!("1 {n}"), 1, n).await;
        }
        let now = BEGIN.plus(Duration::from_secs(20));
        let is_there = async |name: &str| pendings.take(name, now).await.unwrap().is_some();
        assert!(!is_there("1 0").await);
        assert!(is_there("1 1").await && is_there("other").await);
    }

    #[tokio::test]
    async fn many_beginnings_take_bounded_room_and_whoever_has_most_makes_it() {
        let pendings = Pendings::new(None);
        let keep = async |name: String, network: usize| {
            let address = Some(IpAddr::V4(u32::try_from(network).unwrap().into()));
            pendings
                .keep(&name, pending("/"), address, BEGIN)
                .await
                .unwrap();
        };
        keep("mine".to_owned(), 0).await;
        for n in 0..2 * MOST {
            keep(n.to_string(), 1 + n / 10).await;
        }
        let Pendings::Here(kept) = &pendings else {
            panic!("it is not shared")
        };
        assert_eq!(locked(kept).len(), MOST);
        assert!(pendings.take("mine", BEGIN).await.unwrap().is_some());
    }
}
