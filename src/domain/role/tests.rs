//! Tests of roles and permissions.

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
fn each_role_includes_the_permissions_of_the_lower_ones() {
    let id = lock("orders", "lock:a");
    for (permission, viewer, operator) in [
        (Permission::View, true, true),
        (Permission::Acquire, false, true),
        (Permission::Extend, false, true),
        (Permission::Release, false, true),
        (Permission::ForceRelease, false, true),
        (Permission::ClearRestartHazard, false, true),
        (Permission::Monitor, false, true),
        (Permission::ReadAudit, false, true),
        (Permission::ManageViews, false, true),
        (Permission::ManagePrefixes, false, false),
        (Permission::Administer, false, false),
    ] {
        for (role, is_allowed) in [
            (Role::Viewer, viewer),
            (Role::Operator, operator),
            (Role::Admin, true),
        ] {
            let grant = RoleGrant::unrestricted(role);
            assert_eq!(
                grant.authorize(permission, Scope::lock(&id)).is_ok(),
                is_allowed,
                "{permission:?} {role:?}"
            );
        }
    }
}

#[test]
fn groups_limit_viewing_and_modifying_and_patterns_only_modifying() {
    let grant = RoleGrant {
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
        let visible = grant.visible_groups();
        assert_eq!(visible.contains(group), sees, "{group}");
        for &permission in Permission::VARIANTS {
            let is_allowed = match permission {
                Permission::View
                | Permission::ReadRaw
                | Permission::Monitor
                | Permission::ReadAudit
                | Permission::ManageViews => sees,
                Permission::Acquire
                | Permission::Extend
                | Permission::Release
                | Permission::ForceRelease
                | Permission::ClearRestartHazard => acts,
                Permission::ManagePrefixes | Permission::Administer => false,
            };
            let result = grant.authorize(permission, Scope::lock(&id));
            assert_eq!(
                result.is_ok(),
                is_allowed,
                "{permission:?} {group}/{key}: {result:?}"
            );
        }
    }
}

#[test]
fn a_read_only_group_can_be_viewed_but_not_modified() {
    let id = lock("orders", "lock:a");
    let scope = Scope::lock(&id).with_read_only(true);
    let admin = RoleGrant::unrestricted(Role::Admin);
    for &permission in Permission::VARIANTS {
        assert_eq!(
            admin.authorize(permission, scope).is_err(),
            permission.is_write(),
            "{permission:?}"
        );
    }
}

#[test]
fn a_denial_names_its_reason() {
    let id = lock("orders", "lock:a");
    let viewer = RoleGrant::unrestricted(Role::Viewer);
    let scoped = RoleGrant {
        role: Role::Operator,
        groups: only(&["orders"]),
        keys: only(&["cron:*", "job:*"]),
    };
    let denial = |grant: &RoleGrant, permission, scope| {
        grant.authorize(permission, scope).unwrap_err().to_string()
    };
    for (actual, expected) in [
        (
            denial(&viewer, Permission::ForceRelease, Scope::lock(&id)),
            "the role `viewer` cannot release locks of other owners; the role `operator` is required",
        ),
        (
            denial(&scoped, Permission::Administer, Scope::console()),
            "the role `operator` cannot administer the console; the role `admin` is required",
        ),
        (
            denial(&scoped, Permission::View, Scope::group("payments")),
            "you have no permissions in the group \"payments\"",
        ),
        (
            denial(&scoped, Permission::Acquire, Scope::lock(&id)),
            "your permissions do not include this lock's name, only cron:*, job:*",
        ),
        (
            denial(
                &scoped,
                Permission::Acquire,
                Scope::lock(&id).with_read_only(true),
            ),
            "the group \"orders\" is read-only",
        ),
    ] {
        assert_eq!(actual, expected);
    }
}
