//! Counts acquire attempts and failures per lock, from the commands of clients and the server's
//! invalidation messages. No I/O.
//!
//! A `SET … NX` that is followed by an invalidation of the key succeeded; any other failed. Scripts
//! show the result by their branch: a script that calls `EXISTS` tries to acquire the lock, and
//! succeeded if it then writes.

use std::collections::{BTreeSet, HashMap};

use super::command::Command;
use crate::domain::{LockKey, SampledLock};

/// The maximum number of locks counted.
const MAX_LOCKS: usize = 20_000;
/// The maximum number of locks reported.
const MAX_REPORTED_LOCKS: usize = 1_000;
/// The maximum number of client addresses per lock.
const MAX_CLIENTS: usize = 20;

/// The counts so far.
#[derive(Default)]
pub struct AttemptCounter {
    locks: HashMap<Vec<u8>, LockAttempts>,
    /// The client whose script is running.
    script_client: Option<String>,
    /// The lock that the script tries to acquire, until the outcome is known.
    script_target: Option<Vec<u8>>,
    /// The number of commands.
    pub commands: u64,
}

#[derive(Default)]
struct LockAttempts {
    attempts: u64,
    succeeded: u64,
    clients: BTreeSet<String>,
    /// The last command that can have changed the key was an acquire attempt.
    is_last_command_attempt: bool,
}

impl AttemptCounter {
    /// Records a command of a client or a script.
    pub fn record_command(&mut self, command: Command, is_lock: impl Fn(&[u8]) -> bool) {
        self.commands += 1;
        let in_script = command.client.is_none();
        if !in_script {
            // A command of a client ends the previous script: Redis runs scripts atomically.
            self.script_target = None;
            self.script_client.clone_from(&command.client);
        }
        let Some(key) = command.key else { return };
        match command.name.as_str() {
            _ if command.only_if_absent && is_lock(&key) => {
                self.record_attempt(key, true);
            }
            // Redisson's acquire script starts with EXISTS on the lock.
            "exists" if in_script && is_lock(&key) => {
                self.record_attempt(key.clone(), false);
                self.script_target = Some(key);
            }
            "set" | "hset" | "hincrby" | "zadd" => {
                let target = self
                    .script_target
                    .take_if(|target| in_script && *target == key);
                if let Some(lock) = self.locks.get_mut(&key) {
                    lock.is_last_command_attempt = false;
                    if target.is_some() && !command.is_decrement {
                        lock.succeeded += 1;
                    }
                }
            }
            "del" | "unlink" | "getdel" | "hdel" | "delex" | "delifeq" | "pexpire" | "expire"
            | "pexpireat" | "expireat" | "persist" | "getset" | "getex" | "zrem" => {
                if let Some(lock) = self.locks.get_mut(&key) {
                    lock.is_last_command_attempt = false;
                }
            }
            _ => {}
        }
    }

    /// Records an invalidation of a key.
    pub fn record_invalidation(&mut self, key: &[u8]) {
        if let Some(lock) = self.locks.get_mut(key)
            && std::mem::take(&mut lock.is_last_command_attempt)
        {
            lock.succeeded += 1;
        }
    }

    fn record_attempt(&mut self, key: Vec<u8>, may_have_written: bool) {
        // Clients choose the names, so the memory for them must be bounded.
        if self.locks.len() >= MAX_LOCKS && !self.locks.contains_key(&key) {
            return;
        }
        let lock = self.locks.entry(key).or_default();
        lock.attempts += 1;
        // Only an attempt that can have written the key can be confirmed by its invalidation.
        lock.is_last_command_attempt = may_have_written;
        if let Some(client) = &self.script_client
            && lock.clients.len() < MAX_CLIENTS
        {
            lock.clients.insert(client.clone());
        }
    }

    /// The locks with attempts, most failures first.
    pub fn locks(self) -> Vec<SampledLock> {
        let mut locks: Vec<SampledLock> = self
            .locks
            .into_iter()
            .map(|(key, lock)| SampledLock {
                key: LockKey::new(key),
                attempts: lock.attempts,
                failed: lock.attempts.saturating_sub(lock.succeeded),
                clients: lock.clients.into_iter().collect(),
            })
            .collect();
        locks.sort_by(|one, other| {
            let rank = |lock: &SampledLock| (lock.failed, lock.attempts);
            rank(other)
                .cmp(&rank(one))
                .then_with(|| one.key.cmp(&other.key))
        });
        locks.truncate(MAX_REPORTED_LOCKS);
        locks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(events: &[&str]) -> Vec<(String, u64, u64, usize)> {
        let mut counter = AttemptCounter::default();
        for line in events {
            match line.strip_prefix("changed ") {
                Some(key) => counter.record_invalidation(key.as_bytes()),
                None => {
                    let command = Command::parse(format!("1.5 {line}").as_bytes()).unwrap();
                    counter.record_command(command, |key| key.starts_with(b"lock:"));
                }
            }
        }
        let locks = counter.locks().into_iter();
        locks
            .map(|lock| {
                (
                    lock.key.text().into_owned(),
                    lock.attempts,
                    lock.failed,
                    lock.clients.len(),
                )
            })
            .collect()
    }

    #[test]
    fn an_attempt_followed_by_an_invalidation_succeeded_and_others_failed() {
        let events = [
            r#"[0 a:1] "SET" "lock:a" "x" "NX""#,
            "changed lock:a",
            r#"[0 a:2] "SET" "lock:a" "y" "NX""#,
            r#"[0 a:3] "SETNX" "lock:a" "z""#,
            r#"[0 a:1] "PEXPIRE" "lock:a" "9""#,
            "changed lock:a",
            r#"[0 a:2] "SET" "lock:a" "y" "NX""#,
            r#"[0 a:1] "DEL" "lock:a""#,
            r#"[0 a:3] "SET" "lock:a" "z" "NX""#,
            "changed lock:a",
            r#"[0 a:3] "SET" "cart:1" "z" "NX""#,
        ];
        assert_eq!(count(&events), [("lock:a".to_owned(), 5, 3, 3)]);
    }

    #[test]
    fn the_branch_of_redissons_script_shows_the_result() {
        let eval = r#"[0 a:1] "EVAL" "return 1" "1" "lock:r" "uuid:1""#;
        let events = [
            eval,
            r#"[0 lua] "exists" "lock:r""#,
            r#"[0 lua] "hincrby" "lock:r" "uuid:1" "1""#,
            r#"[0 lua] "pexpire" "lock:r" "30000""#,
            "changed lock:r",
            eval,
            r#"[0 lua] "exists" "lock:r""#,
            r#"[0 lua] "hexists" "lock:r" "uuid:2""#,
            r#"[0 lua] "pttl" "lock:r""#,
            eval,
            r#"[0 lua] "hexists" "lock:r" "uuid:1""#,
            r#"[0 lua] "hincrby" "lock:r" "uuid:1" "-1""#,
            r#"[0 lua] "del" "lock:r""#,
            "changed lock:r",
        ];
        assert_eq!(count(&events), [("lock:r".to_owned(), 2, 1, 1)]);
    }
}
