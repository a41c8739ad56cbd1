//! A model of one Redis database and of the plain-lock scripts in `server/stores/redis/nodes/scripts`.
//! `differential.rs` compares it with real servers.

use std::sync::LazyLock;

use lockkeeper::server::stores::redis::key_state::MAX_STRING_BYTES;
use lockkeeper::server::stores::redis::nodes::scripts::{
    ACQUIRE, BUMP_FENCE, EXTEND, FENCE_PREFIX, FORCE_STRING, RELEASE,
};
use redis::Value;

use super::assumptions::BrokenAssumption;

/// The command name and its arguments.
pub type Command = Vec<Vec<u8>>;

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredValue {
    String(Vec<u8>),
    Hash(Vec<Vec<u8>>),
    List,
}

impl StoredValue {
    fn type_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Hash(_) => "hash",
            Self::List => "list",
        }
    }
}

#[derive(Clone)]
struct Entry {
    key: Vec<u8>,
    value: StoredValue,
    /// In milliseconds of the server's own clock.
    expires_at: Option<i64>,
}

/// All keys of one server.
#[derive(Clone, Default)]
pub struct Database(Vec<Entry>);

/// A command that failed with an error reply.
#[derive(Debug, PartialEq)]
pub struct CommandError;

type Reply = Result<Value, CommandError>;

/// The scripts that the model implements, identified by the SHA-1 of `EVALSHA`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownScript {
    Acquire,
    BumpFence,
    Extend,
    Release,
    ForceRelease,
}

impl KnownScript {
    /// The script that a command runs.
    pub fn from_command(command: &Command) -> Option<Self> {
        static HASHES: LazyLock<[(String, KnownScript); 5]> = LazyLock::new(|| {
            let hash = |script: &redis::Script| script.get_hash().to_owned();
            [
                (hash(&ACQUIRE), KnownScript::Acquire),
                (hash(&BUMP_FENCE), KnownScript::BumpFence),
                (hash(&EXTEND), KnownScript::Extend),
                (hash(&RELEASE), KnownScript::Release),
                (hash(&FORCE_STRING), KnownScript::ForceRelease),
            ]
        });
        let is_evalsha = command[0] == b"EVALSHA";
        let found = HASHES
            .iter()
            .find(|(hash, _)| hash.as_bytes() == command[1]);
        found.filter(|_| is_evalsha).map(|(_, script)| *script)
    }
}

/// Parses a numeric argument.
pub fn parse_number(word: &[u8]) -> i64 {
    std::str::from_utf8(word).unwrap().parse().unwrap()
}

fn script_reply(code: i64, detail: &[u8], number: i64) -> Value {
    let detail = Value::BulkString(detail.to_vec());
    Value::Array(vec![Value::Int(code), detail, Value::Int(number)])
}

impl Database {
    /// Runs a command at this time of the server's clock. `broken` is the assumption that the
    /// server violates.
    pub fn execute(
        &mut self,
        command: &Command,
        now: i64,
        broken: Option<BrokenAssumption>,
    ) -> Reply {
        // Expired fences stay, so that `has_expired_fence` can count them; `get` ignores them.
        self.0.retain(|entry| {
            entry.expires_at.is_none_or(|at| now <= at) || entry.key.starts_with(FENCE_PREFIX)
        });
        let Some(script) = KnownScript::from_command(command) else {
            return Ok(self.execute_plain(command, now));
        };
        let key_count = usize::try_from(parse_number(&command[2])).unwrap();
        let (keys, args) = command[3..].split_at(key_count);
        let lock = &keys[0];
        match script {
            KnownScript::Acquire => self.acquire(keys, args, now, broken),
            KnownScript::BumpFence => self.bump_fence(keys, args, now, broken),
            KnownScript::Extend => Ok(self.if_owned(lock, &args[0], now, |database, pttl| {
                database.extend(lock, parse_number(&args[1]), now, broken);
                pttl
            })),
            KnownScript::Release if broken == Some(BrokenAssumption::UncheckedRelease) => {
                self.delete(lock);
                Ok(Value::Int(1))
            }
            KnownScript::Release if broken == Some(BrokenAssumption::NoRollback) => {
                Ok(Value::Int(1))
            }
            KnownScript::Release => {
                let reply = self.if_owned(lock, &args[0], now, |database, _| {
                    database.delete(lock);
                    0
                });
                // The script returns these two codes as integers.
                Ok(match reply {
                    Value::Array(parts) if matches!(parts[0], Value::Int(0 | 1)) => {
                        parts[0].clone()
                    }
                    refused => refused,
                })
            }
            KnownScript::ForceRelease => {
                let pttl = self.pttl(lock, now);
                let was_extended =
                    !args[0].is_empty() && (pttl < 0 || pttl > parse_number(&args[0]));
                let is_owned = self.value(lock, now) == Some(&StoredValue::String(args[1].clone()));
                if is_owned && was_extended {
                    return Ok(script_reply(-4, b"", pttl));
                }
                Ok(self.if_owned(lock, &args[1], now, |database, pttl| {
                    database.delete(lock);
                    pttl
                }))
            }
        }
    }

    /// Runs a command that is not a script: the reads of an inspection, and writes of other
    /// clients.
    fn execute_plain(&mut self, command: &Command, now: i64) -> Value {
        let (key, args) = (&command[1], &command[2..]);
        match &command[0][..] {
            b"TYPE" => {
                let kind = self.value(key, now).map_or("none", StoredValue::type_name);
                return Value::SimpleString(kind.to_owned());
            }
            b"PTTL" => return Value::Int(self.pttl(key, now)),
            b"GETRANGE" => {
                let string = match self.value(key, now) {
                    Some(StoredValue::String(string)) => &string[..],
                    _ => b"",
                };
                let last = usize::try_from(parse_number(&args[1])).unwrap();
                return Value::BulkString(string[..string.len().min(last + 1)].to_vec());
            }
            b"DEL" => self.delete(key),
            b"SET" => {
                // `args[1]` is `PX`.
                let expires_at = args.get(2).map(|ttl| now + parse_number(ttl));
                self.set(key, StoredValue::String(args[0].clone()), expires_at);
            }
            b"HSET" => self.set(key, StoredValue::Hash(vec![args[0].clone()]), None),
            b"RPUSH" => self.set(key, StoredValue::List, None),
            other => panic!(
                "the model does not implement {}",
                String::from_utf8_lossy(other)
            ),
        }
        Value::Okay
    }

    fn acquire(
        &mut self,
        keys: &[Vec<u8>],
        args: &[Vec<u8>],
        now: i64,
        broken: Option<BrokenAssumption>,
    ) -> Reply {
        let (lock, token, ttl_ms) = (&keys[0], &args[0], parse_number(&args[1]));
        let code = match self.value(lock, now) {
            None => {
                self.set(lock, StoredValue::String(token.clone()), Some(now + ttl_ms));
                2
            }
            Some(value) if *value != StoredValue::String(token.clone()) => {
                return Ok(not_owner_reply(value, token, self.pttl(lock, now)));
            }
            Some(_) => {
                self.extend(lock, ttl_ms, now, broken);
                1
            }
        };
        let Some(counter_key) = keys.get(1) else {
            return Ok(Value::Int(code));
        };
        let (proposed, expires_at) = (parse_number(&args[2]), Some(now + parse_number(&args[3])));
        let counter = self.fence_counter(counter_key, now);
        // 2^53 - 1: Lua numbers are doubles, so the script cannot count further.
        let Some(last) = counter.ok().filter(|last| *last < 9_007_199_254_740_991) else {
            if code == 2 {
                self.delete(lock);
            }
            // The script overwrites the counter and restores it, so only its expiry changes.
            if let Some(StoredValue::String(string)) = self.value(counter_key, now).cloned() {
                self.set(counter_key, StoredValue::String(string), expires_at);
            }
            return Err(CommandError);
        };
        let fence = proposed.max(last + 1);
        self.set(
            counter_key,
            StoredValue::String(fence.to_string().into()),
            expires_at,
        );
        Ok(if fence == proposed {
            Value::Int(code)
        } else {
            script_reply(code, b"", fence)
        })
    }

    fn bump_fence(
        &mut self,
        keys: &[Vec<u8>],
        args: &[Vec<u8>],
        now: i64,
        broken: Option<BrokenAssumption>,
    ) -> Reply {
        let is_owned = match self.value(&keys[0], now) {
            Some(StoredValue::String(value)) => *value == args[0],
            Some(StoredValue::Hash(fields)) => fields.contains(&args[0]),
            Some(StoredValue::List) | None => false,
        };
        if !is_owned {
            return Ok(Value::Int(0));
        }
        let fence = parse_number(&args[1]).max(self.fence_counter(&keys[1], now)?);
        if broken != Some(BrokenAssumption::NoFenceBump) {
            let expires_at = Some(now + parse_number(&args[2]));
            self.set(
                &keys[1],
                StoredValue::String(fence.to_string().into()),
                expires_at,
            );
        }
        Ok(Value::Int(fence))
    }

    /// Calls `change` with the PTTL if this token owns the lock; its result becomes part of the
    /// reply.
    fn if_owned(
        &mut self,
        lock: &[u8],
        token: &[u8],
        now: i64,
        change: impl FnOnce(&mut Self, i64) -> i64,
    ) -> Value {
        let pttl = self.pttl(lock, now);
        match self.value(lock, now) {
            None => script_reply(0, b"", 0),
            Some(StoredValue::String(value)) if value == token => {
                script_reply(1, b"", change(self, pttl))
            }
            Some(value) => not_owner_reply(value, token, pttl),
        }
    }

    /// The fence counter, 0 if the key does not exist, or an error if the key is not a number.
    fn fence_counter(&self, key: &[u8], now: i64) -> Result<i64, CommandError> {
        match self.value(key, now) {
            None => Ok(0),
            Some(StoredValue::String(string)) => std::str::from_utf8(string)
                .ok()
                .and_then(|string| string.parse().ok())
                .ok_or(CommandError),
            Some(StoredValue::Hash(_) | StoredValue::List) => Err(CommandError),
        }
    }

    /// Redis expires a key when its clock is past the expiry time, not yet at it.
    fn get(&self, key: &[u8], now: i64) -> Option<&Entry> {
        let exists = |entry: &&Entry| {
            entry.key == key && entry.expires_at.is_none_or(|expires_at| now <= expires_at)
        };
        self.0.iter().find(exists)
    }

    pub fn value(&self, key: &[u8], now: i64) -> Option<&StoredValue> {
        self.get(key, now).map(|entry| &entry.value)
    }

    /// The reply of `PTTL`.
    pub fn pttl(&self, key: &[u8], now: i64) -> i64 {
        let entry = self.get(key, now);
        entry.map_or(-2, |entry| entry.expires_at.map_or(-1, |at| at - now))
    }

    /// Whether a lock had a fence counter that has expired.
    pub fn has_expired_fence(&self, counter_key: &[u8], now: i64) -> bool {
        self.get(counter_key, now).is_none() && self.0.iter().any(|entry| entry.key == counter_key)
    }

    fn set(&mut self, key: &[u8], value: StoredValue, expires_at: Option<i64>) {
        self.delete(key);
        self.0.push(Entry {
            key: key.to_vec(),
            value,
            expires_at,
        });
    }

    fn delete(&mut self, key: &[u8]) {
        self.0.retain(|entry| entry.key != key);
    }

    fn extend(&mut self, key: &[u8], ttl_ms: i64, now: i64, broken: Option<BrokenAssumption>) {
        let may_shorten = broken == Some(BrokenAssumption::ShortenedLeases);
        let is_longer = |before: &Option<i64>| before.is_none_or(|before| before < now + ttl_ms);
        if let Some(entry) = self.0.iter_mut().find(|entry| entry.key == key)
            && (may_shorten || is_longer(&entry.expires_at))
        {
            entry.expires_at = Some(now + ttl_ms);
        }
    }
}

/// The reply of a script for a lock of another owner (-1) or a key of another type (-2).
fn not_owner_reply(value: &StoredValue, token: &[u8], pttl: i64) -> Value {
    match value {
        StoredValue::String(string) => {
            let read = string.len().min(token.len().max(MAX_STRING_BYTES) + 1);
            script_reply(-1, &string[..read.min(MAX_STRING_BYTES + 1)], pttl)
        }
        StoredValue::Hash(_) | StoredValue::List => {
            script_reply(-2, value.type_name().as_bytes(), pttl)
        }
    }
}
