//! The ACL rules that a Redis user needs for force releases: the documented rules are sufficient,
//! and a missing one is named in the error.

use std::collections::BTreeSet;

use lockkeeper::domain::library::ReleaseStrategy;
use lockkeeper::domain::{Format, NodeOutcome};
use lockkeeper::server::stores::redis::locking::{Permissions, force_permissions};
use strum::VariantArray as _;

use crate::force_release_cases::{Case, cases};
use crate::force_release_formats::{Scene, pin};
use crate::permissions::rules_in_section;
use crate::support::redis_nodes::{RedisNode, config_for_urls};

const SECTION: &str = "## To force-release";

fn rules(needed: &Permissions) -> BTreeSet<String> {
    let all = [needed.keys, needed.commands, needed.channels].concat();
    all.into_iter().map(str::to_owned).collect()
}

fn required_permissions(case: &Case) -> Permissions {
    force_permissions::for_strategy(case.format.library().release_strategy)
}

/// All rules that are needed to observe and to force-release a lock, including its own keys.
fn all_rules(case: &Case) -> BTreeSet<String> {
    let observing = rules_in_section("## To watch and to lock\n").remove(0).1;
    let own_keys = match case.key.strip_suffix(":timeout") {
        // The key with the number of permits is the name of the semaphore.
        Some(permits) => vec![
            format!("~{}", case.key),
            format!("~{}", permits.trim_matches(['{', '}'])),
        ],
        None => vec![format!("~{}", case.key)],
    };
    let parts = [
        observing,
        rules(&force_permissions::COMMON),
        rules(&required_permissions(case)),
    ];
    parts.into_iter().flatten().chain(own_keys).collect()
}

/// A lock and a console whose Redis user has the given rules.
struct RestrictedScene(Scene);

impl RestrictedScene {
    async fn start(case: &Case) -> Self {
        let node = RedisNode::start().await;
        let url = format!("redis://keeper:secret@127.0.0.1:{}", node.port());
        let mut admin = node.client().await;
        let setuser = user(&all_rules(case));
        let () = setuser.exec_async(&mut admin).await.unwrap();
        Self(Scene::start_with_config(node, config_for_urls(&[url]), pin(case)).await)
    }

    /// Creates the lock again and releases it with these rules.
    async fn release(&mut self, case: &Case, rules: &BTreeSet<String>) -> NodeOutcome {
        let scene = &mut self.0;
        scene.run("FLUSHALL\nSCRIPT FLUSH").await;
        scene.run(&case.before).await;
        let setuser = user(rules);
        let () = setuser.exec_async(&mut scene.client).await.unwrap();
        scene.release(case).await
    }
}

fn user(rules: &BTreeSet<String>) -> redis::Cmd {
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("keeper");
    for rule in "reset on >secret resetchannels -@all".split(' ') {
        user.arg(rule);
    }
    for rule in rules {
        user.arg(rule);
    }
    user
}

#[test]
fn the_documentation_lists_the_rules_of_each_release_strategy() {
    let rows = rules_in_section(SECTION);
    assert_eq!(rows[0].1, rules(&force_permissions::COMMON));
    let mut documented = BTreeSet::new();
    for (formats, row) in &rows[1..] {
        for slug in formats {
            let format = slug.parse::<Format>().unwrap();
            let needed = force_permissions::for_strategy(format.library().release_strategy);
            assert_eq!(*row, rules(&needed), "{slug}");
            documented.insert(format);
        }
    }
    for &format in Format::VARIANTS {
        // The rights in other services are described in `docs/lock-services.md`.
        if !format.is_in_redis() {
            continue;
        }
        let is_documented = documented.contains(&format);
        let is_simple = matches!(
            format.library().release_strategy,
            ReleaseStrategy::Value | ReleaseStrategy::Unsupported
        );
        assert_eq!(is_documented, !is_simple, "{format}");
    }
}

#[tokio::test]
async fn the_documented_rules_are_sufficient() {
    for case in &cases() {
        let mut restricted = RestrictedScene::start(case).await;
        let released = restricted.release(case, &all_rules(case)).await;
        assert_eq!(released, NodeOutcome::Released, "{}", case.name);
        for (command, expected) in &case.after {
            if *expected == "0" {
                assert!(
                    restricted.0.replies_with(command, expected).await,
                    "{}: {command}",
                    case.name
                );
            }
        }
    }
}

#[tokio::test]
async fn a_missing_permission_is_named_or_not_needed_for_the_release() {
    let names_command = |outcome: &NodeOutcome, command: &str| match outcome {
        NodeOutcome::Failed { reason } => reason.to_string().contains(&command[1..]),
        _ => false,
    };
    for case in &cases() {
        let all = all_rules(case);
        let mut restricted = RestrictedScene::start(case).await;
        for command in required_permissions(case).commands {
            let remaining_rules = all.iter().filter(|rule| rule != command).cloned().collect();
            let outcome = restricted.release(case, &remaining_rules).await;
            // Some commands only wake waiters or delete keys that would expire. The lock is
            // released without them.
            let is_released = outcome == NodeOutcome::Released;
            assert!(
                is_released || names_command(&outcome, command),
                "{}: {command}: {outcome:?}",
                case.name
            );
        }
    }
}
