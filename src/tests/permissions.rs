//! Permissions of the console's Redis user: the documented ACL rules are sufficient, and a missing
//! one is named in the error.

use std::collections::BTreeSet;
use std::time::Duration;

use lockkeeper::domain::reason::Reason;
use lockkeeper::domain::{LockKey, NodeOutcome, NodeResult};
use lockkeeper::server::stores::redis::locking::{
    AcquireAttempt, AcquireParams, AcquireResult, Layout, Permissions, extend, release,
};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::redis_nodes::{RedisNode, TestGroup, config_for_urls};

const LAYOUTS: [Layout; 4] = [
    Layout::Plain,
    Layout::Legacy,
    Layout::Redisson,
    Layout::RedissonFair,
];
const TTL: Duration = Duration::from_secs(60);
const KEY: &str = "lock:job";
const QUEUE: &str = "redisson_lock_queue:{lock:job}";
const DEADLINES: &str = "redisson_lock_timeout:{lock:job}";
const OTHER_OWNER: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
const NEXT_WAITER: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:88";

/// The ACL rules in the documentation's table, a set for each row: watching, then locking with
/// strings, hashes and queues.
fn documented_rules() -> Vec<BTreeSet<String>> {
    let rows = rules_in_section("## To watch and to lock\n").into_iter();
    rows.map(|(_, rules)| rules).collect()
}

/// The rows of the table in a section of that page: the formats and the rules of each.
pub fn rules_in_section(heading: &str) -> Vec<(Vec<String>, BTreeSet<String>)> {
    let page = include_str!("../../docs/permissions.md");
    let section = page.split(heading).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let quoted = row.split('`').skip(1).step_by(2);
        let words = quoted.flat_map(str::split_whitespace);
        let words = words.map(|word| word.replace('\\', ""));
        let (rules, formats): (Vec<_>, Vec<_>) =
            words.partition(|word| word.starts_with(['~', '+', '&']));
        (formats, rules.into_iter().collect())
    })
    .collect()
}

/// The rules that are needed to watch, and to lock in this layout.
fn rules_for_layout(layout: Layout) -> Vec<String> {
    let rows = documented_rules()
        .into_iter()
        .take(1 + layout.permissions().len());
    rows.flatten().collect()
}

/// A server with a user whose ACL rules each test sets.
struct RestrictedServer {
    node: RedisNode,
    admin: MultiplexedConnection,
}

impl RestrictedServer {
    async fn start() -> Self {
        Self::on(RedisNode::start().await).await
    }

    async fn on(node: RedisNode) -> Self {
        let admin = node.client().await;
        Self { node, admin }
    }

    /// Resets the user to keys named `lock:*` and adds these rules.
    async fn set_user_rules<'a>(&mut self, rules: impl IntoIterator<Item = &'a String>) {
        let mut user = redis::cmd("ACL");
        user.arg("SETUSER").arg("console");
        for rule in "reset on >secret resetchannels -@all ~lock:*".split(' ') {
            user.arg(rule);
        }
        for rule in rules {
            user.arg(rule);
        }
        let () = user.query_async(&mut self.admin).await.unwrap();
    }

    /// Starts a group on this server that connects as the user.
    async fn group(&self) -> TestGroup {
        let url = format!("redis://console:secret@127.0.0.1:{}", self.node.port());
        let group = TestGroup::start(config_for_urls(&[url]));
        group.wait_until_up().await;
        group
    }

    async fn delete_keys_and_scripts(&mut self) {
        for name in ["FLUSHALL", "SCRIPT"] {
            let mut command = redis::cmd(name);
            if name == "SCRIPT" {
                command.arg("FLUSH");
            }
            let () = command.query_async(&mut self.admin).await.unwrap();
        }
    }

    /// Acquires the lock for another owner in this layout.
    async fn lock_as_other_owner(&mut self, layout: Layout) {
        match layout {
            Layout::Plain | Layout::Legacy => {
                let () = self.admin.set_ex(KEY, "other-owner", 60).await.unwrap();
            }
            Layout::Redisson | Layout::RedissonFair => {
                let () = self.admin.hset(KEY, OTHER_OWNER, 1).await.unwrap();
                let () = self.admin.expire(KEY, 60).await.unwrap();
            }
        }
    }

    /// Runs every operation on a lock, from a failed acquire to its last release, and returns the
    /// reasons of failures.
    async fn run_all_operations(&mut self, group: &TestGroup, layout: Layout) -> Vec<Reason> {
        self.delete_keys_and_scripts().await;
        let key = LockKey::from(KEY);
        let ours = AcquireParams {
            layout,
            key: key.clone(),
            token: layout.generate_token(""),
            ttl: TTL,
            caller_supplied: false,
        };
        let mut results = Vec::new();
        self.lock_as_other_owner(layout).await;
        let mut acquire = AcquireAttempt::with_wait(group, &ours, TTL);
        let attempt = acquire.try_once().await;
        results.extend(attempt.nodes);
        if layout == Layout::RedissonFair {
            // Another waiter is queued behind this one.
            let () = self.admin.rpush(QUEUE, NEXT_WAITER).await.unwrap();
            let far = 4_000_000_000_000_i64;
            let () = self.admin.zadd(DEADLINES, NEXT_WAITER, far).await.unwrap();
        }
        let () = self.admin.del(KEY).await.unwrap();
        let attempt = acquire.try_once().await;
        results.extend(attempt.nodes);
        let token = attempt.token.unwrap_or_else(|| ours.token.clone());
        if matches!(attempt.result, AcquireResult::Acquired(_)) {
            let again = AcquireParams {
                caller_supplied: true,
                token: token.clone(),
                ..ours.clone()
            };
            results.extend(AcquireAttempt::new(group, &again).try_once().await.nodes);
            results.extend(extend(group, &key, &token, TTL).await.nodes);
            for _ in 0..=u32::from(layout.counts_holds()) {
                results.extend(release(group, &key, &token).await);
            }
        }
        results.into_iter().filter_map(failure_reason).collect()
    }
}

fn failure_reason(result: NodeResult) -> Option<Reason> {
    match result.outcome {
        NodeOutcome::Failed { reason } => Some(reason),
        _ => None,
    }
}

#[test]
fn the_documentation_lists_the_rules_that_each_layout_needs() {
    let rows = documented_rules();
    let all = Layout::RedissonFair.permissions();
    assert_eq!(rows.len(), 1 + all.len());
    for (row, needed) in rows[1..].iter().zip(all) {
        let Permissions {
            keys,
            commands,
            channels,
        } = needed;
        let rules = [*keys, *commands, *channels].concat();
        let rules: BTreeSet<String> = rules.into_iter().map(str::to_owned).collect();
        assert_eq!(*row, rules);
    }
}

#[tokio::test]
async fn the_documented_rules_are_sufficient() {
    for node in [RedisNode::start().await, RedisNode::start_valkey().await] {
        let mut server = RestrictedServer::on(node).await;
        for layout in LAYOUTS {
            server.set_user_rules(&rules_for_layout(layout)).await;
            let group = server.group().await;
            let failures = server.run_all_operations(&group, layout).await;
            assert!(failures.is_empty(), "{layout:?}: {failures:?}");
            let exists: bool = server.admin.exists(KEY).await.unwrap();
            assert!(!exists, "{layout:?}");
            server.lock_as_other_owner(layout).await;
            assert!(group.key_state(&KEY.into()).await.is_some(), "{layout:?}");
        }
    }
}

#[tokio::test]
async fn a_key_pattern_that_is_not_permitted_is_named() {
    let mut server = RestrictedServer::start().await;
    for layout in LAYOUTS {
        let all = rules_for_layout(layout);
        server.set_user_rules(&all).await;
        let group = server.group().await;
        // The counter of an `RFencedLock` is not accessed for locks that have none.
        let is_needed = |rule: &&String| rule.starts_with('~') && *rule != "~redisson_lock_token:*";
        for name in all.iter().filter(is_needed) {
            server
                .set_user_rules(all.iter().filter(|rule| *rule != name))
                .await;
            let failures = server.run_all_operations(&group, layout).await;
            let names_it = |reason: &Reason| {
                let text = reason.to_string();
                text.contains("NOPERM") && text.contains(name)
            };
            assert!(failures.iter().any(names_it), "{name}: {failures:?}");
        }
    }
}

#[tokio::test]
async fn a_command_that_is_not_permitted_is_named() {
    /// Commands without which no operation fails: a field of another owner or a queue position
    /// remains until it expires, waiters are not woken, a newer server does not need the command
    /// (`SET … GET`), or only an `RFencedLock` needs it.
    const OPTIONAL: [&str; 6] = ["+get", "+hdel", "+incr", "+lrange", "+lrem", "+publish"];
    let mut server = RestrictedServer::start().await;
    for layout in [Layout::Plain, Layout::Redisson, Layout::RedissonFair] {
        let all = rules_for_layout(layout);
        server.set_user_rules(&all).await;
        let group = server.group().await;
        let own = layout.permissions().last().unwrap();
        for command in own.commands {
            if OPTIONAL.contains(command) {
                continue;
            }
            server
                .set_user_rules(all.iter().filter(|rule| rule != command))
                .await;
            let failures = server.run_all_operations(&group, layout).await;
            let names_it = |reason: &Reason| reason.to_string().contains(&command[1..]);
            assert!(failures.iter().any(names_it), "{command}: {failures:?}");
        }
    }
}

#[tokio::test]
async fn a_user_without_pexpire_leaves_no_lock_without_expiry() {
    let mut server = RestrictedServer::start().await;
    for layout in LAYOUTS {
        let all = rules_for_layout(layout);
        server
            .set_user_rules(all.iter().filter(|rule| *rule != "+pexpire"))
            .await;
        let group = server.group().await;
        server.run_all_operations(&group, layout).await;
        let exists: bool = server.admin.exists(KEY).await.unwrap();
        let left: i64 = server.admin.pttl(KEY).await.unwrap();
        assert!(!exists || left > 0, "{layout:?}: {left}");
    }
}
