//! What one Redis server keeps, and what the scripts in `server/nodes/scripts` do to it. `differential.rs` holds it
//! against real servers.

use std::rc::Rc;

use lockkeeper::server::nodes::scripts::{Given, Told};
use lockkeeper::server::sighting::{LONGEST_VALUE, Value};

use super::call::{Bytes, Call, Lease, Reply};

/// The name of a key: a lock, or the fence beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Lock(u8),
    Fence(u8),
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    Text(Bytes),
    /// The names of the fields.
    Hash(Vec<Bytes>),
    List,
}

impl Kept {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Hash(_) => "hash",
            Self::List => "list",
        }
    }
}

#[derive(Clone)]
struct Stored {
    name: Name,
    kept: Kept,
    /// By the server's own clock, in milliseconds.
    expires: Option<i64>,
}

/// All keys of one server.
#[derive(Clone, Default)]
pub struct Keys(Vec<Stored>);

impl Keys {
    /// Runs a script, at this time of the server's clock.
    pub fn run(&mut self, call: &Call, now: i64) -> Reply {
        let reply = match call {
            Call::Take {
                lock,
                token,
                ttl_ms,
                fence,
                lease,
            } => self.take(*lock, token, (*ttl_ms, *lease), *fence, now),
            Call::Raise {
                lock,
                token,
                to,
                remembered_ms,
            } => self.raise(*lock, token, *to, *remembered_ms, now),
            Call::Extend {
                lock,
                token,
                ttl_ms,
                lease,
            } => Ok(self.own(*lock, token, now, |keys, name| {
                keys.expire(name, now + ttl_ms, *lease);
            })),
            Call::Release {
                lock,
                token,
                careless,
            } => Ok(if *careless {
                self.delete(Name::Lock(*lock));
                Reply::Told(Told::Done)
            } else {
                self.own(*lock, token, now, |keys, name| keys.delete(name))
            }),
        };
        reply.unwrap_or(Reply::Error)
    }

    fn take(
        &mut self,
        lock: u8,
        token: &Bytes,
        (ttl_ms, lease): (i64, Lease),
        proposed: Option<(u64, i64)>,
        now: i64,
    ) -> Result<Reply, ()> {
        let name = Name::Lock(lock);
        let again = match self.get(name, now) {
            None => {
                self.set(name, Kept::Text(Rc::clone(token)), Some(now + ttl_ms));
                false
            }
            Some(Stored { kept, expires, .. }) => {
                if *kept != Kept::Text(Rc::clone(token)) {
                    let left = expires.map_or(-1, |at| at - now);
                    return Ok(Reply::Given(Given::Refused(told(kept, left))));
                }
                self.expire(name, now + ttl_ms, lease);
                true
            }
        };
        let Some((proposed, remembered)) = proposed else {
            return Ok(Reply::Given(Given::Ours { again, fence: 0 }));
        };
        let until = Some(now + remembered);
        let counted = self
            .count(lock, now)
            .ok()
            .filter(|last| *last < 9_007_199_254_740_991);
        let Some(last) = counted else {
            if !again {
                self.delete(name);
            }
            // Written over and put back: only for how long it is kept is new.
            if let Some(Kept::Text(text)) = self
                .get(Name::Fence(lock), now)
                .map(|stored| stored.kept.clone())
            {
                self.set(Name::Fence(lock), Kept::Text(text), until);
            }
            return Err(());
        };
        let fence = i64::try_from(proposed).unwrap().max(last + 1);
        self.set(Name::Fence(lock), number(fence), until);
        let fence = u64::try_from(fence).unwrap_or(0);
        Ok(Reply::Given(Given::Ours { again, fence }))
    }

    fn raise(
        &mut self,
        lock: u8,
        token: &Bytes,
        to: u64,
        remembered: i64,
        now: i64,
    ) -> Result<Reply, ()> {
        let is_ours = match self.get(Name::Lock(lock), now).map(|stored| &stored.kept) {
            Some(Kept::Text(value)) => value == token,
            Some(Kept::Hash(fields)) => fields.contains(token),
            Some(Kept::List) | None => false,
        };
        if !is_ours {
            return Ok(Reply::Raised(0));
        }
        let fence = i64::try_from(to).unwrap().max(self.count(lock, now)?);
        self.set(Name::Fence(lock), number(fence), Some(now + remembered));
        Ok(Reply::Raised(u64::try_from(fence).unwrap_or(0)))
    }

    fn own(
        &mut self,
        lock: u8,
        token: &Bytes,
        now: i64,
        act: impl FnOnce(&mut Self, Name),
    ) -> Reply {
        let name = Name::Lock(lock);
        Reply::Told(match self.get(name, now) {
            None => Told::NotThere,
            Some(stored) if stored.kept == Kept::Text(Rc::clone(token)) => {
                act(self, name);
                Told::Done
            }
            Some(Stored { kept, expires, .. }) => told(kept, expires.map_or(-1, |at| at - now)),
        })
    }

    /// The fence as a number, 0 where there is none; an error where it is something else.
    fn count(&self, lock: u8, now: i64) -> Result<i64, ()> {
        match self.get(Name::Fence(lock), now).map(|stored| &stored.kept) {
            None => Ok(0),
            Some(Kept::Text(text)) => std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or(()),
            Some(Kept::Hash(_) | Kept::List) => Err(()),
        }
    }

    /// Redis takes a key for expired when its clock is past the moment, not yet at it.
    fn get(&self, name: Name, now: i64) -> Option<&Stored> {
        let is_there = |stored: &&Stored| {
            stored.name == name && stored.expires.is_none_or(|expires| now <= expires)
        };
        self.0.iter().find(is_there)
    }

    /// What a key holds, and for how long.
    pub fn look(&self, name: Name, now: i64) -> Option<(&Kept, Option<i64>)> {
        let stored = self.get(name, now)?;
        Some((&stored.kept, stored.expires.map(|at| at - now)))
    }

    /// Whether a lock had a fence that is not remembered any more.
    pub fn has_forgotten_fence(&self, lock: u8, now: i64) -> bool {
        let name = Name::Fence(lock);
        self.get(name, now).is_none() && self.0.iter().any(|stored| stored.name == name)
    }

    /// Writes a key.
    pub fn set(&mut self, name: Name, kept: Kept, expires: Option<i64>) {
        self.delete(name);
        self.0.push(Stored {
            name,
            kept,
            expires,
        });
    }

    /// Deletes a key.
    pub fn delete(&mut self, name: Name) {
        self.0.retain(|stored| stored.name != name);
    }

    fn expire(&mut self, name: Name, at: i64, lease: Lease) {
        let is_longer = |before: &Option<i64>| before.is_none_or(|before| before < at);
        if let Some(stored) = self.0.iter_mut().find(|stored| stored.name == name)
            && (lease == Lease::IsSet || is_longer(&stored.expires))
        {
            stored.expires = Some(at);
        }
    }
}

fn number(fence: i64) -> Kept {
    Kept::Text(fence.to_string().into_bytes().into())
}

/// Whose it is, or what.
fn told(kept: &Kept, pttl: i64) -> Told {
    match kept {
        Kept::Text(value) if value.len() > LONGEST_VALUE => Told::OtherOwner {
            value: Value::TooLarge,
            pttl,
        },
        Kept::Text(value) => Told::OtherOwner {
            value: Value::Text(value.to_vec()),
            pttl,
        },
        Kept::Hash(_) | Kept::List => Told::WrongType {
            type_name: kept.type_name().to_owned(),
        },
    }
}
