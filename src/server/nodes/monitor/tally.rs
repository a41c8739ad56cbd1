//! Pure: counts from what clients ask and what the server invalidates who tried to take which lock, and failed.
//!
//! A `SET … NX` that the server invalidates the key for succeeded, any other failed. Scripts show it by their branch:
//! one that asks `EXISTS` wants the lock, and has it where it goes on to write.

use std::collections::{BTreeSet, HashMap};

use super::command::Command;
use crate::domain::{LockKey, SampledLock};

/// More locks are not counted apart.
const MOST_LOCKS: usize = 20_000;
/// So many of them are told.
const MOST_TOLD: usize = 1_000;
/// So many addresses of each.
const MOST_CLIENTS: usize = 20;

/// What was counted so far.
#[derive(Default)]
pub struct Tally {
    locks: HashMap<Vec<u8>, OfLock>,
    /// The client whose script runs.
    script_of: Option<String>,
    /// The lock that the script wants, as long as that has not been decided.
    script_wants: Option<Vec<u8>>,
    /// Commands seen.
    pub commands: u64,
}

#[derive(Default)]
struct OfLock {
    attempts: u64,
    succeeded: u64,
    clients: BTreeSet<String>,
    /// The last command that may have changed it was a try.
    tried_last: bool,
}

impl Tally {
    /// A client, or a script, asked for this.
    pub fn command(&mut self, command: Command, is_ours: impl Fn(&[u8]) -> bool) {
        self.commands += 1;
        let in_script = command.client.is_none();
        if !in_script {
            self.script_wants = None;
            self.script_of.clone_from(&command.client);
        }
        let Some(key) = command.key else { return };
        match command.name.as_str() {
            _ if command.only_if_absent && is_ours(&key) => {
                self.tried(key, true);
            }
            "exists" if in_script && is_ours(&key) => {
                self.tried(key.clone(), false);
                self.script_wants = Some(key);
            }
            "set" | "hset" | "hincrby" | "zadd" => {
                let wanted = self
                    .script_wants
                    .take_if(|wanted| in_script && *wanted == key);
                if let Some(lock) = self.locks.get_mut(&key) {
                    lock.tried_last = false;
                    if wanted.is_some() && !command.takes_away {
                        lock.succeeded += 1;
                    }
                }
            }
            "del" | "unlink" | "getdel" | "hdel" | "delex" | "delifeq" | "pexpire" | "expire"
            | "pexpireat" | "expireat" | "persist" | "getset" | "getex" | "zrem" => {
                if let Some(lock) = self.locks.get_mut(&key) {
                    lock.tried_last = false;
                }
            }
            _ => {}
        }
    }

    /// The server tells that this key was changed.
    pub fn changed(&mut self, key: &[u8]) {
        if let Some(lock) = self.locks.get_mut(key)
            && std::mem::take(&mut lock.tried_last)
        {
            lock.succeeded += 1;
        }
    }

    fn tried(&mut self, key: Vec<u8>, may_have_written: bool) {
        if self.locks.len() >= MOST_LOCKS && !self.locks.contains_key(&key) {
            return;
        }
        let lock = self.locks.entry(key).or_default();
        lock.attempts += 1;
        lock.tried_last = may_have_written;
        if let Some(client) = &self.script_of
            && lock.clients.len() < MOST_CLIENTS
        {
            lock.clients.insert(client.clone());
        }
    }

    /// The locks that were tried for, those with the most failures first.
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
        locks.truncate(MOST_TOLD);
        locks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(story: &[&str]) -> Vec<(String, u64, u64, usize)> {
        let mut tally = Tally::default();
        for line in story {
            match line.strip_prefix("changed ") {
                Some(key) => tally.changed(key.as_bytes()),
                None => {
                    let command = Command::read(format!("1.5 {line}").as_bytes()).unwrap();
                    tally.command(command, |key| key.starts_with(b"lock:"));
                }
            }
        }
        let locks = tally.locks().into_iter();
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
    fn a_try_that_is_followed_by_a_change_succeeded_and_others_failed() {
        let story = [
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
        assert_eq!(counted(&story), [("lock:a".to_owned(), 5, 3, 3)]);
    }

    #[test]
    fn redissons_script_tells_by_its_branch() {
        let eval = r#"[0 a:1] "EVAL" "return 1" "1" "lock:r" "uuid:1""#;
        let story = [
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
        assert_eq!(counted(&story), [("lock:r".to_owned(), 2, 1, 1)]);
    }
}
