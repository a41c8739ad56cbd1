//! What a user of the nodes has to be permitted: what is listed is enough, and what is missing is named.

use std::collections::BTreeSet;
use std::time::Duration;

use lockkeeper::domain::{ActOutcome, LockKey, NodeAct};
use lockkeeper::server::locking::{Claim, End, Layout, Permissions, Want, extend, release};
use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use crate::support::redis_nodes::{RedisNode, TestGroup, config_of};

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
const THEIRS: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:87";
const BEHIND: &str = "6d1f5a0e-1c3b-4d2a-9f00-0123456789ab:88";

/// The rules in the table of the configuration's page, a set for each row: to watch, and to lock in strings, hashes, with a queue.
fn rows() -> Vec<BTreeSet<String>> {
    let rows = rules_in("## Permissions\n").into_iter();
    rows.map(|(_, rules)| rules).collect()
}

/// The rows of the table in a section of that page: the formats that each names, and its rules.
pub fn rules_in(heading: &str) -> Vec<(Vec<String>, BTreeSet<String>)> {
    let page = include_str!("../../.github/configuration.md");
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

/// What is needed to watch and to lock in this layout.
fn rules(layout: Layout) -> Vec<String> {
    let rows = rows().into_iter().take(1 + layout.permissions().len());
    rows.flatten().collect()
}

/// A server with a user of our own.
struct Guarded {
    node: RedisNode,
    admin: MultiplexedConnection,
}

impl Guarded {
    async fn start() -> Self {
        Self::on(RedisNode::start().await).await
    }

    async fn on(node: RedisNode) -> Self {
        let admin = node.client().await;
        Self { node, admin }
    }

    /// The user may use locks named `lock:*`, and do what these rules permit.
    async fn permit<'a>(&mut self, rules: impl IntoIterator<Item = &'a String>) {
        let mut user = redis::cmd("ACL");
        user.arg("SETUSER").arg("keeper");
        for rule in "reset on >secret resetchannels -@all ~lock:*".split(' ') {
            user.arg(rule);
        }
        for rule in rules {
            user.arg(rule);
        }
        let () = user.query_async(&mut self.admin).await.unwrap();
    }

    /// A group that is this server, as the user sees it.
    async fn group(&self) -> TestGroup {
        let url = format!("redis://keeper:secret@127.0.0.1:{}", self.node.port());
        let group = TestGroup::start(config_of(&[url]));
        group.is_up().await;
        group
    }

    async fn forget_everything(&mut self) {
        for what in ["FLUSHALL", "SCRIPT"] {
            let mut forget = redis::cmd(what);
            if what == "SCRIPT" {
                forget.arg("FLUSH");
            }
            let () = forget.query_async(&mut self.admin).await.unwrap();
        }
    }

    /// Somebody else takes the lock, as is done in this layout.
    async fn is_theirs(&mut self, layout: Layout) {
        match layout {
            Layout::Plain | Layout::Legacy => {
                let () = self.admin.set_ex(KEY, "theirs", 60).await.unwrap();
            }
            Layout::Redisson | Layout::RedissonFair => {
                let () = self.admin.hset(KEY, THEIRS, 1).await.unwrap();
                let () = self.admin.expire(KEY, 60).await.unwrap();
            }
        }
    }

    /// Everything that is done with a lock from one end of its life to the other; what the node said where it failed.
    async fn life(&mut self, group: &TestGroup, layout: Layout) -> Vec<String> {
        self.forget_everything().await;
        let key = LockKey::from(KEY);
        let ours = Want {
            layout,
            key: key.clone(),
            token: layout.mint(""),
            ttl: TTL,
            brought: false,
        };
        let mut acts = Vec::new();
        self.is_theirs(layout).await;
        let mut claim = Claim::waiting(group, &ours, TTL);
        let attempt = claim.try_once().await;
        acts.extend(attempt.nodes);
        if layout == Layout::RedissonFair {
            // Another one stands in line behind.
            let () = self.admin.rpush(QUEUE, BEHIND).await.unwrap();
            let far = 4_000_000_000_000_i64;
            let () = self.admin.zadd(DEADLINES, BEHIND, far).await.unwrap();
        }
        let () = self.admin.del(KEY).await.unwrap();
        let attempt = claim.try_once().await;
        acts.extend(attempt.nodes);
        let token = attempt.token.unwrap_or_else(|| ours.token.clone());
        if matches!(attempt.end, End::Won(_)) {
            let again = Want {
                brought: true,
                token: token.clone(),
                ..ours.clone()
            };
            acts.extend(Claim::new(group, &again).try_once().await.nodes);
            acts.extend(extend(group, &key, &token, TTL).await.nodes);
            for _ in 0..=u32::from(layout.counts()) {
                acts.extend(release(group, &key, &token).await);
            }
        }
        acts.into_iter().filter_map(failure).collect()
    }
}

fn failure(act: NodeAct) -> Option<String> {
    match act.outcome {
        ActOutcome::Failed { reason } => Some(reason),
        _ => None,
    }
}

#[test]
fn the_readme_lists_what_each_layout_needs() {
    let rows = rows();
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
async fn what_the_readme_lists_is_enough() {
    for node in [RedisNode::start().await, RedisNode::start_valkey().await] {
        let mut guarded = Guarded::on(node).await;
        for layout in LAYOUTS {
            guarded.permit(&rules(layout)).await;
            let group = guarded.group().await;
            let failures = guarded.life(&group, layout).await;
            assert_eq!(failures, Vec::<String>::new(), "{layout:?}");
            let exists: bool = guarded.admin.exists(KEY).await.unwrap();
            assert!(!exists, "{layout:?}");
            guarded.is_theirs(layout).await;
            assert!(group.sighting(&KEY.into()).await.is_some(), "{layout:?}");
        }
    }
}

#[tokio::test]
async fn a_name_that_is_not_permitted_is_named() {
    let mut guarded = Guarded::start().await;
    for layout in LAYOUTS {
        let all = rules(layout);
        guarded.permit(&all).await;
        let group = guarded.group().await;
        // Of a lock that has no such counter nothing fails.
        let is_needed = |rule: &&String| rule.starts_with('~') && *rule != "~redisson_lock_token:*";
        for name in all.iter().filter(is_needed) {
            guarded
                .permit(all.iter().filter(|rule| *rule != name))
                .await;
            let failures = guarded.life(&group, layout).await;
            let says_which = |reason: &String| reason.contains("NOPERM") && reason.contains(name);
            assert!(failures.iter().any(says_which), "{name}: {failures:?}");
        }
    }
}

#[tokio::test]
async fn a_command_that_is_not_permitted_is_named() {
    /// Without these nothing fails. Something is left to end by itself: another's field in the same hash, a place in the
    /// queue; or nobody is woken; or a newer server does without (`SET … GET`); or it is needed for an `RFencedLock` alone.
    const SILENT: [&str; 6] = ["+get", "+hdel", "+incr", "+lrange", "+lrem", "+publish"];
    let mut guarded = Guarded::start().await;
    for layout in [Layout::Plain, Layout::Redisson, Layout::RedissonFair] {
        let all = rules(layout);
        guarded.permit(&all).await;
        let group = guarded.group().await;
        let own = layout.permissions().last().unwrap();
        for command in own.commands {
            if SILENT.contains(command) {
                continue;
            }
            guarded
                .permit(all.iter().filter(|rule| rule != command))
                .await;
            let failures = guarded.life(&group, layout).await;
            let says_which = |reason: &String| reason.contains(&command[1..]);
            assert!(failures.iter().any(says_which), "{command}: {failures:?}");
        }
    }
}

#[tokio::test]
async fn a_user_who_may_not_set_a_lease_leaves_no_lock_without_one() {
    let mut guarded = Guarded::start().await;
    for layout in LAYOUTS {
        let all = rules(layout);
        guarded
            .permit(all.iter().filter(|rule| *rule != "+pexpire"))
            .await;
        let group = guarded.group().await;
        guarded.life(&group, layout).await;
        let exists: bool = guarded.admin.exists(KEY).await.unwrap();
        let left: i64 = guarded.admin.pttl(KEY).await.unwrap();
        assert!(!exists || left > 0, "{layout:?}: {left}");
    }
}
