//! The permission that each route and each server function requires.

use lockkeeper::domain::{LockId, Permission};
use serde_json::{Value, json};

/// The resource that a permission is checked on.
#[derive(Clone, Copy, PartialEq)]
pub enum Resource {
    /// The console, without a particular group.
    Console,
    /// The group in the request.
    Group,
    /// The lock in the request.
    Lock,
}

/// The permission that a route or server function requires.
pub struct Rule {
    /// `METHOD /path`, or the name of a server function.
    pub name: &'static str,
    pub permission: Permission,
    pub resource: Resource,
    /// Builds the request body. It is invalid or changes nothing, so that an authorized request has
    /// no effect.
    pub body: fn(&LockId) -> Value,
}

const fn rule(
    name: &'static str,
    permission: Permission,
    resource: Resource,
    body: fn(&LockId) -> Value,
) -> Rule {
    Rule {
        name,
        permission,
        resource,
        body,
    }
}

fn no_body(_: &LockId) -> Value {
    Value::Null
}

/// The routes of the OpenAPI document.
pub const ROUTES: &[Rule] = &[
    rule(
        "GET /api/v1/groups",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/locks",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/locks/export",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/waits",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/owners",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/owners/{owner}",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/history",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/events",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/audit",
        Permission::ReadAudit,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/audit/export",
        Permission::ReadAudit,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/groups/{group}/findings",
        Permission::View,
        Resource::Group,
        no_body,
    ),
    rule(
        "GET /api/v1/groups/{group}/locks/{key}",
        Permission::View,
        Resource::Group,
        no_body,
    ),
    rule(
        "GET /api/v1/groups/{group}/locks/{key}/history",
        Permission::View,
        Resource::Group,
        no_body,
    ),
    rule(
        "GET /api/v1/groups/{group}/locks/{key}/lease-keys",
        Permission::ReadRaw,
        Resource::Group,
        no_body,
    ),
    rule(
        "POST /api/v1/groups/{group}/nodes/{node}/monitor-sample",
        Permission::Monitor,
        Resource::Group,
        |_| json!({"seconds": 11}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/acquire",
        Permission::Acquire,
        Resource::Lock,
        |_| json!({"ttl_ms": 0}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/extend",
        Permission::Extend,
        Resource::Lock,
        |_| json!({"token": "x", "ttl_ms": 0}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/release",
        Permission::Release,
        Resource::Lock,
        |_| json!({"token": ""}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/force-release",
        Permission::ForceRelease,
        Resource::Lock,
        |_| json!({"fingerprint": "0123456789abcdef", "reason": " "}),
    ),
    rule(
        "POST /api/v1/groups/{group}/nodes/{node}/clear-restart-hazard",
        Permission::ClearRestartHazard,
        Resource::Group,
        |_| json!({"reason": " "}),
    ),
    rule(
        "GET /api/v1/groups/{group}/prefixes",
        Permission::View,
        Resource::Group,
        no_body,
    ),
    rule(
        "POST /api/v1/groups/{group}/prefixes/{prefix}",
        Permission::ManagePrefixes,
        Resource::Lock,
        |_| json!({"state": "pinned", "name": "a\nb"}),
    ),
    rule(
        "GET /api/v1/views",
        Permission::View,
        Resource::Console,
        no_body,
    ),
    rule(
        "PUT /api/v1/views/{name}",
        Permission::ManageViews,
        Resource::Console,
        |_| json!({"path": "//example.com"}),
    ),
    rule(
        "DELETE /api/v1/views/{name}",
        Permission::ManageViews,
        Resource::Console,
        no_body,
    ),
    rule(
        "GET /api/v1/webhooks",
        Permission::Administer,
        Resource::Console,
        no_body,
    ),
    rule(
        "POST /api/v1/webhooks/{webhook}/test",
        Permission::Administer,
        Resource::Console,
        no_body,
    ),
    // Each lock of the list is also authorized by itself, see `bulk_force_release`.
    rule(
        "POST /api/v1/force-releases",
        Permission::ForceRelease,
        Resource::Console,
        |_| json!({"items": [], "reason": "r"}),
    ),
];

/// Routes that are not in the OpenAPI document.
pub const UNDOCUMENTED_ROUTES: &[Rule] = &[rule(
    "GET /metrics",
    Permission::View,
    Resource::Console,
    no_body,
)];

pub const SERVER_FUNCTIONS: &[Rule] = &[
    rule(
        "initial_state",
        Permission::View,
        Resource::Console,
        |_| json!({"page": "/"}),
    ),
    rule(
        "lock",
        Permission::View,
        Resource::Group,
        |id| json!({"id": id}),
    ),
    rule(
        "history",
        Permission::View,
        Resource::Group,
        |id| json!({"id": id}),
    ),
    rule(
        "activity",
        Permission::View,
        Resource::Console,
        |_| json!({"query": {"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T01:00:00Z", "limit": 1}}),
    ),
    rule(
        "activity_page",
        Permission::View,
        Resource::Console,
        |_| json!({"search": "", "limit": 1}),
    ),
    rule(
        "recorded_lock",
        Permission::View,
        Resource::Group,
        |id| json!({"id": id, "at": "2026-11-20T00:00:00Z"}),
    ),
    rule(
        "advice_facts",
        Permission::View,
        Resource::Group,
        |id| json!({"id": id}),
    ),
    rule(
        "find",
        Permission::View,
        Resource::Console,
        |_| json!({"text": "lock"}),
    ),
    rule(
        "raw",
        Permission::ReadRaw,
        Resource::Group,
        |id| json!({"id": id}),
    ),
    rule(
        "lease_keys",
        Permission::ReadRaw,
        Resource::Group,
        |id| json!({"id": id}),
    ),
    rule("waits", Permission::View, Resource::Console, |_| json!({})),
    rule("trends", Permission::View, Resource::Console, |_| json!({})),
    rule(
        "nodes",
        Permission::View,
        Resource::Console,
        |_| json!({"search": ""}),
    ),
    rule(
        "owners",
        Permission::View,
        Resource::Console,
        |_| json!({"search": ""}),
    ),
    rule(
        "owner",
        Permission::View,
        Resource::Console,
        |_| json!({"identity": {"by": "host", "name": "web-2"}}),
    ),
    rule(
        "audit",
        Permission::ReadAudit,
        Resource::Console,
        |_| json!({"search": ""}),
    ),
    rule(
        "audit_histogram",
        Permission::ReadAudit,
        Resource::Console,
        |_| json!({"search": ""}),
    ),
    rule(
        "audit_chain",
        Permission::ReadAudit,
        Resource::Console,
        |_| json!({}),
    ),
    rule(
        "acquire",
        Permission::Acquire,
        Resource::Lock,
        |id| json!({"group": id.group, "key": id.key, "format": "plain", "ttl_ms": 0, "wait_ms": 0, "label": null, "auto_renew": false}),
    ),
    // No caller has a lock in these rules. `a_lock_acquired_in_the_ui_belongs_to_its_user_alone`
    // tests ownership.
    rule("mine", Permission::View, Resource::Console, |_| json!({})),
    rule(
        "extend_mine",
        Permission::View,
        Resource::Console,
        |id| json!({"id": id, "ttl_ms": 1000}),
    ),
    rule(
        "release_mine",
        Permission::View,
        Resource::Console,
        |id| json!({"id": id}),
    ),
    rule(
        "reveal_token",
        Permission::Release,
        Resource::Lock,
        |id| json!({"id": id}),
    ),
    rule(
        "force_release",
        Permission::ForceRelease,
        Resource::Lock,
        |id| json!({"id": id, "fingerprint": "0123456789abcdef", "expected_hold": {}, "reason": " ", "confirm": null, "method": "lock"}),
    ),
    rule(
        "clear_restart_hazard",
        Permission::ClearRestartHazard,
        Resource::Group,
        |id| json!({"group": id.group, "node": "a", "reason": " ", "confirm": null}),
    ),
    rule(
        "prefixes",
        Permission::View,
        Resource::Group,
        |id| json!({"group": id.group}),
    ),
    rule(
        "change_prefix",
        Permission::ManagePrefixes,
        Resource::Lock,
        |id| json!({"group": id.group, "prefix": id.key, "settings": {"state": "pinned", "name": "a\nb"}}),
    ),
    rule("team_views", Permission::View, Resource::Console, |_| {
        json!({})
    }),
    rule(
        "save_team_view",
        Permission::ManageViews,
        Resource::Console,
        |_| json!({"name": "stuck", "path": "//example.com"}),
    ),
    rule(
        "delete_team_view",
        Permission::ManageViews,
        Resource::Console,
        |_| json!({"name": "stuck"}),
    ),
    rule(
        "webhooks",
        Permission::Administer,
        Resource::Console,
        |_| json!({}),
    ),
    rule(
        "test_webhook",
        Permission::Administer,
        Resource::Console,
        |_| json!({"name": "pager"}),
    ),
    // It selects the locks that the caller may release, which can be none.
    rule(
        "select_releasable",
        Permission::View,
        Resource::Console,
        |_| json!({"search": ""}),
    ),
    // As with `force-releases`, each lock of the list is also authorized by itself.
    rule(
        "dry_run_releases",
        Permission::ForceRelease,
        Resource::Console,
        |_| json!({"targets": []}),
    ),
    rule(
        "monitor_sample",
        Permission::Monitor,
        Resource::Group,
        |id| json!({"group": id.group, "node": "a", "seconds": 11}),
    ),
];
