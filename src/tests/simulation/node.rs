//! What one Redis server keeps, and what the scripts in `server/nodes/scripts` on plain locks do to it. `differential.rs`
//! holds it against real servers.

use std::sync::LazyLock;

use lockkeeper::server::nodes::scripts::{ACQUIRE, EXTEND, FENCES, FORCE_STRING, RAISE, RELEASE};
use lockkeeper::server::sighting::LONGEST_VALUE;
use redis::Value;

use super::assumptions::Broken;

/// The words of a command.
pub type Command = Vec<Vec<u8>>;

/// What a key holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    Text(Vec<u8>),
    Hash(Vec<Vec<u8>>),
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
    name: Vec<u8>,
    kept: Kept,
    /// By the server's own clock, in milliseconds.
    expires: Option<i64>,
}

/// All keys of one server.
#[derive(Clone, Default)]
pub struct Keys(Vec<Stored>);

/// A command that ended with an error.
#[derive(Debug, PartialEq)]
pub struct Refused;

type Reply = Result<Value, Refused>;

/// The scripts that are understood, by what `EVALSHA` calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Acquire,
    Raise,
    Extend,
    Release,
    Force,
}

impl Known {
    /// The script that a command runs.
    pub fn of(command: &Command) -> Option<Self> {
        static NAMES: LazyLock<[(String, Known); 5]> = LazyLock::new(|| {
            let name = |script: &redis::Script| script.get_hash().to_owned();
            [
                (name(&ACQUIRE), Known::Acquire),
                (name(&RAISE), Known::Raise),
                (name(&EXTEND), Known::Extend),
                (name(&RELEASE), Known::Release),
                (name(&FORCE_STRING), Known::Force),
            ]
        });
        let is_run = command[0] == b"EVALSHA";
        let named = NAMES.iter().find(|(name, _)| name.as_bytes() == command[1]);
        named.filter(|_| is_run).map(|(_, known)| *known)
    }
}

/// A number in a command.
pub fn number(word: &[u8]) -> i64 {
    std::str::from_utf8(word).unwrap().parse().unwrap()
}

fn answer(code: i64, detail: &[u8], number: i64) -> Value {
    let detail = Value::BulkString(detail.to_vec());
    Value::Array(vec![Value::Int(code), detail, Value::Int(number)])
}

impl Keys {
    /// Runs a command at this time of the server's clock; `broken` is what the server does wrong.
    pub fn run(&mut self, command: &Command, now: i64, broken: Option<Broken>) -> Reply {
        self.0.retain(|stored| {
            stored.expires.is_none_or(|at| now <= at) || stored.name.starts_with(FENCES)
        });
        let Some(script) = Known::of(command) else {
            return Ok(self.plain(command, now));
        };
        let keys = usize::try_from(number(&command[2])).unwrap();
        let (keys, args) = command[3..].split_at(keys);
        let lock = &keys[0];
        match script {
            Known::Acquire => self.acquire(keys, args, now, broken),
            Known::Raise => self.raise(keys, args, now, broken),
            Known::Extend => Ok(self.own(lock, &args[0], now, |keys, left| {
                keys.extend(lock, number(&args[1]), now, broken);
                left
            })),
            Known::Release if broken == Some(Broken::CarelessRelease) => {
                self.delete(lock);
                Ok(answer(1, b"", 0))
            }
            Known::Release if broken == Some(Broken::NoRollback) => Ok(answer(1, b"", 0)),
            Known::Release => Ok(self.own(lock, &args[0], now, |keys, _| {
                keys.delete(lock);
                0
            })),
            Known::Force => {
                let left = self.left(lock, now);
                let is_later = !args[0].is_empty() && (left < 0 || left > number(&args[0]));
                let is_theirs = self.kept(lock, now) == Some(&Kept::Text(args[1].clone()));
                if is_theirs && is_later {
                    return Ok(answer(-4, b"", left));
                }
                Ok(self.own(lock, &args[1], now, |keys, left| {
                    keys.delete(lock);
                    left
                }))
            }
        }
    }

    /// What is no script: what looks ask, and what others do to keys.
    fn plain(&mut self, command: &Command, now: i64) -> Value {
        let (name, words) = (&command[1], &command[2..]);
        match &command[0][..] {
            b"TYPE" => {
                let kind = self.kept(name, now).map_or("none", Kept::type_name);
                return Value::SimpleString(kind.to_owned());
            }
            b"PTTL" => return Value::Int(self.left(name, now)),
            b"GETRANGE" => {
                let text = match self.kept(name, now) {
                    Some(Kept::Text(text)) => &text[..],
                    _ => b"",
                };
                let last = usize::try_from(number(&words[1])).unwrap();
                return Value::BulkString(text[..text.len().min(last + 1)].to_vec());
            }
            b"DEL" => self.delete(name),
            b"SET" => {
                // `PX` and its number.
                let expires = words.get(2).map(|ttl| now + number(ttl));
                self.set(name, Kept::Text(words[0].clone()), expires);
            }
            b"HSET" => self.set(name, Kept::Hash(vec![words[0].clone()]), None),
            b"RPUSH" => self.set(name, Kept::List, None),
            other => panic!("{} is not known here", String::from_utf8_lossy(other)),
        }
        Value::Okay
    }

    fn acquire(
        &mut self,
        keys: &[Vec<u8>],
        args: &[Vec<u8>],
        now: i64,
        broken: Option<Broken>,
    ) -> Reply {
        let (lock, token, ttl_ms) = (&keys[0], &args[0], number(&args[1]));
        let took = match self.kept(lock, now) {
            None => {
                self.set(lock, Kept::Text(token.clone()), Some(now + ttl_ms));
                2
            }
            Some(kept) if *kept != Kept::Text(token.clone()) => {
                return Ok(in_the_way(kept, token, self.left(lock, now)));
            }
            Some(_) => {
                self.extend(lock, ttl_ms, now, broken);
                1
            }
        };
        let Some(beside) = keys.get(1) else {
            return Ok(answer(took, b"", 0));
        };
        let (proposed, until) = (number(&args[2]), Some(now + number(&args[3])));
        let counted = self.count(beside, now);
        let Some(last) = counted.ok().filter(|last| *last < 9_007_199_254_740_991) else {
            if took == 2 {
                self.delete(lock);
            }
            // Written over and put back: only for how long it is kept is new.
            if let Some(Kept::Text(text)) = self.kept(beside, now).cloned() {
                self.set(beside, Kept::Text(text), until);
            }
            return Err(Refused);
        };
        let fence = proposed.max(last + 1);
        self.set(beside, Kept::Text(fence.to_string().into()), until);
        Ok(answer(took, b"", fence))
    }

    fn raise(
        &mut self,
        keys: &[Vec<u8>],
        args: &[Vec<u8>],
        now: i64,
        broken: Option<Broken>,
    ) -> Reply {
        let is_ours = match self.kept(&keys[0], now) {
            Some(Kept::Text(value)) => *value == args[0],
            Some(Kept::Hash(fields)) => fields.contains(&args[0]),
            Some(Kept::List) | None => false,
        };
        if !is_ours {
            return Ok(Value::Int(0));
        }
        let fence = number(&args[1]).max(self.count(&keys[1], now)?);
        if broken != Some(Broken::NoRaise) {
            let until = Some(now + number(&args[2]));
            self.set(&keys[1], Kept::Text(fence.to_string().into()), until);
        }
        Ok(Value::Int(fence))
    }

    /// Does something with a lock that is this owner's; `act` gets its PTTL, and says what is answered.
    fn own(
        &mut self,
        lock: &[u8],
        token: &[u8],
        now: i64,
        act: impl FnOnce(&mut Self, i64) -> i64,
    ) -> Value {
        let left = self.left(lock, now);
        match self.kept(lock, now) {
            None => answer(0, b"", 0),
            Some(Kept::Text(value)) if value == token => answer(1, b"", act(self, left)),
            Some(kept) => in_the_way(kept, token, left),
        }
    }

    /// The fence as a number, 0 where there is none; an error where it is something else.
    fn count(&self, beside: &[u8], now: i64) -> Result<i64, Refused> {
        match self.kept(beside, now) {
            None => Ok(0),
            Some(Kept::Text(text)) => std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or(Refused),
            Some(Kept::Hash(_) | Kept::List) => Err(Refused),
        }
    }

    /// Redis takes a key for expired when its clock is past the moment, not yet at it.
    fn get(&self, name: &[u8], now: i64) -> Option<&Stored> {
        let is_there = |stored: &&Stored| {
            stored.name == name && stored.expires.is_none_or(|expires| now <= expires)
        };
        self.0.iter().find(is_there)
    }

    /// What a key holds.
    pub fn kept(&self, name: &[u8], now: i64) -> Option<&Kept> {
        self.get(name, now).map(|stored| &stored.kept)
    }

    /// What `PTTL` answers.
    pub fn left(&self, name: &[u8], now: i64) -> i64 {
        let stored = self.get(name, now);
        stored.map_or(-2, |stored| stored.expires.map_or(-1, |at| at - now))
    }

    /// Whether a lock had a fence that is not remembered any more.
    pub fn has_forgotten(&self, fence: &[u8], now: i64) -> bool {
        self.get(fence, now).is_none() && self.0.iter().any(|stored| stored.name == fence)
    }

    fn set(&mut self, name: &[u8], kept: Kept, expires: Option<i64>) {
        self.delete(name);
        let name = name.to_vec();
        self.0.push(Stored {
            name,
            kept,
            expires,
        });
    }

    fn delete(&mut self, name: &[u8]) {
        self.0.retain(|stored| stored.name != name);
    }

    fn extend(&mut self, name: &[u8], ttl_ms: i64, now: i64, broken: Option<Broken>) {
        let is_set = broken == Some(Broken::LeasesAreSet);
        let is_longer = |before: &Option<i64>| before.is_none_or(|before| before < now + ttl_ms);
        if let Some(stored) = self.0.iter_mut().find(|stored| stored.name == name)
            && (is_set || is_longer(&stored.expires))
        {
            stored.expires = Some(now + ttl_ms);
        }
    }
}

/// Whose it is, or what.
fn in_the_way(kept: &Kept, token: &[u8], left: i64) -> Value {
    match kept {
        Kept::Text(value) => {
            let read = value.len().min(token.len().max(LONGEST_VALUE) + 1);
            answer(-1, &value[..read.min(LONGEST_VALUE + 1)], left)
        }
        Kept::Hash(_) | Kept::List => answer(-2, kept.type_name().as_bytes(), left),
    }
}
