//! What a user of the nodes has to be permitted to free locks by force: what is listed is enough, and what is missing of
//! it is named.

use std::collections::BTreeSet;

use lockkeeper::domain::library::Recipe;
use lockkeeper::domain::{ActOutcome, Format};
use lockkeeper::server::locking::{Permissions, force_permissions};
use strum::VariantArray as _;

use crate::force_cases::{Case, cases};
use crate::force_recipes::{Scene, pin};
use crate::permissions::rules_in;
use crate::support::redis_nodes::{RedisNode, config_of};

const SECTION: &str = "## Permissions to free by force";

fn rules(needed: &Permissions) -> BTreeSet<String> {
    let all = [needed.keys, needed.commands, needed.channels].concat();
    all.into_iter().map(str::to_owned).collect()
}

fn needs(case: &Case) -> Permissions {
    force_permissions::of(case.format.library().recipe)
}

/// All that is needed to watch a lock and to free it, and its own names.
fn all_rules(case: &Case) -> BTreeSet<String> {
    let watch = rules_in("## Permissions\n").remove(0).1;
    let own = match case.key.strip_suffix(":timeout") {
        // The number of permits is the semaphore's own name.
        Some(permits) => vec![
            format!("~{}", case.key),
            format!("~{}", permits.trim_matches(['{', '}'])),
        ],
        None => vec![format!("~{}", case.key)],
    };
    let parts = [watch, rules(&force_permissions::EVERY), rules(&needs(case))];
    parts.into_iter().flatten().chain(own).collect()
}

/// A lock that some library took, and a user of ours who may do this.
struct Guarded(Scene);

impl Guarded {
    async fn start(case: &Case) -> Self {
        let node = RedisNode::start().await;
        let url = format!("redis://keeper:secret@127.0.0.1:{}", node.port());
        let mut admin = node.client().await;
        let setuser = user(&all_rules(case));
        let () = setuser.exec_async(&mut admin).await.unwrap();
        Self(Scene::seen_as(node, config_of(&[url]), pin(case)).await)
    }

    /// What came of releasing it anew.
    async fn release(&mut self, case: &Case, rules: &BTreeSet<String>) -> ActOutcome {
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
fn the_page_lists_what_each_recipe_needs() {
    let rows = rules_in(SECTION);
    assert_eq!(rows[0].1, rules(&force_permissions::EVERY));
    let mut told = BTreeSet::new();
    for (formats, row) in &rows[1..] {
        for slug in formats {
            let format = slug.parse::<Format>().unwrap();
            let needed = force_permissions::of(format.library().recipe);
            assert_eq!(*row, rules(&needed), "{slug}");
            told.insert(format);
        }
    }
    for &format in Format::VARIANTS {
        let is_told = told.contains(&format);
        let is_simple = matches!(format.library().recipe, Recipe::Value | Recipe::Nothing);
        assert_eq!(is_told, !is_simple, "{format}");
    }
}

#[tokio::test]
async fn what_the_readme_lists_is_enough() {
    for case in &cases() {
        let mut guarded = Guarded::start(case).await;
        let released = guarded.release(case, &all_rules(case)).await;
        assert_eq!(released, ActOutcome::Released, "{}", case.name);
        for (question, answer) in &case.after {
            if *answer == "0" {
                assert!(
                    guarded.0.is_so(question, answer).await,
                    "{}: {question}",
                    case.name
                );
            }
        }
    }
}

#[tokio::test]
async fn a_command_that_is_not_permitted_is_named_or_does_without() {
    let named = |outcome: &ActOutcome, command: &str| match outcome {
        ActOutcome::Failed { reason } => reason.contains(&command[1..]),
        _ => false,
    };
    for case in &cases() {
        let all = all_rules(case);
        let mut guarded = Guarded::start(case).await;
        for command in needs(case).commands {
            let without = all.iter().filter(|rule| rule != command).cloned().collect();
            let outcome = guarded.release(case, &without).await;
            // Nobody is woken, or what is left ends by itself: the lock is free all the same.
            let is_free = outcome == ActOutcome::Released;
            assert!(
                is_free || named(&outcome, command),
                "{}: {command}: {outcome:?}",
                case.name
            );
        }
    }
}
