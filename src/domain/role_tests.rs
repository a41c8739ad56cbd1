//! Who may do what, case by case.

use super::*;

fn only(names: &[&str]) -> Option<Arc<[String]>> {
    Some(names.iter().map(|&name| name.to_owned()).collect())
}

fn lock(group: &str, key: &str) -> LockId {
    LockId {
        group: group.to_owned(),
        key: key.into(),
    }
}

#[test]
fn a_role_may_what_the_lesser_ones_may_and_something_more() {
    let id = lock("orders", "lock:a");
    for (verb, viewer, operator) in [
        (Verb::See, true, true),
        (Verb::Acquire, false, true),
        (Verb::Extend, false, true),
        (Verb::Release, false, true),
        (Verb::ForceRelease, false, true),
        (Verb::Vouch, false, true),
        (Verb::Sample, false, true),
        (Verb::ReadAudit, false, true),
        (Verb::Administer, false, false),
    ] {
        for (role, may) in [
            (Role::Viewer, viewer),
            (Role::Operator, operator),
            (Role::Admin, true),
        ] {
            let rights = Rights::everywhere(role);
            assert_eq!(
                rights.may(verb, Place::lock(&id)).is_ok(),
                may,
                "{verb:?} {role:?}"
            );
        }
    }
}

#[test]
fn groups_limit_what_is_seen_and_done_and_names_what_is_done() {
    let rights = Rights {
        role: Role::Operator,
        groups: only(&["orders", "jobs"]),
        keys: only(&["lock:a*", "cron:?"]),
    };
    for (group, key, sees, acts) in [
        ("orders", "lock:abc", true, true),
        ("jobs", "cron:1", true, true),
        ("orders", "lock:b", true, false),
        ("orders", "cron:12", true, false),
        ("orders", "", true, false),
        ("payments", "lock:abc", false, false),
        ("order", "lock:abc", false, false),
        ("", "lock:abc", false, false),
    ] {
        let id = lock(group, key);
        let sight = rights.sight();
        assert_eq!(sight.shows(group), sees, "{group}");
        for &verb in Verb::VARIANTS {
            let may = match verb {
                Verb::See | Verb::ReadRaw | Verb::Sample | Verb::ReadAudit => sees,
                Verb::Acquire | Verb::Extend | Verb::Release | Verb::ForceRelease | Verb::Vouch => {
                    acts
                }
                Verb::Administer => false,
            };
            let answer = rights.may(verb, Place::lock(&id));
            assert_eq!(answer.is_ok(), may, "{verb:?} {group}/{key}: {answer:?}");
        }
    }
}

#[test]
fn nobody_acts_in_a_group_that_is_read_only_and_everybody_sees_it() {
    let id = lock("orders", "lock:a");
    let place = Place::lock(&id).read_only(true);
    let admin = Rights::everywhere(Role::Admin);
    for &verb in Verb::VARIANTS {
        assert_eq!(admin.may(verb, place).is_err(), verb.is_act(), "{verb:?}");
    }
}

#[test]
fn a_refusal_says_why_in_a_sentence() {
    let id = lock("orders", "lock:a");
    let viewer = Rights::everywhere(Role::Viewer);
    let scoped = Rights {
        role: Role::Operator,
        groups: only(&["orders"]),
        keys: only(&["cron:*", "job:*"]),
    };
    let why = |rights: &Rights, verb, place| rights.may(verb, place).unwrap_err().to_string();
    for (said, sentence) in [
        (
            why(&viewer, Verb::ForceRelease, Place::lock(&id)),
            "the role `viewer` may not release the locks of others; that takes `operator`",
        ),
        (
            why(&scoped, Verb::Administer, Place::console()),
            "the role `operator` may not look after the console; that takes `admin`",
        ),
        (
            why(&scoped, Verb::See, Place::group("payments")),
            "you have no rights in the group \"payments\"",
        ),
        (
            why(&scoped, Verb::Acquire, Place::lock(&id)),
            "your rights do not cover this lock's name, only cron:*, job:*",
        ),
        (
            why(&scoped, Verb::Acquire, Place::lock(&id).read_only(true)),
            "the group \"orders\" is read-only in the configuration",
        ),
    ] {
        assert_eq!(said, sentence);
    }
}
