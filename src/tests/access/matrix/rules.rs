//! What each route and each server function lets somebody do, and where: a line for every one that there is.

use lockkeeper::domain::{LockId, Verb};
use serde_json::{Value, json};

/// Where something is done.
#[derive(Clone, Copy, PartialEq)]
pub enum Where {
    /// In no group in particular.
    Console,
    /// In the group that is named.
    Group,
    /// To the lock that is named.
    Lock,
}

/// What a route or server function lets somebody do.
pub struct Rule {
    /// `METHOD /path`, or the name of a server function.
    pub name: &'static str,
    /// What it takes.
    pub verb: Verb,
    /// Where it is done.
    pub at: Where,
    /// What is sent; whatever is let through finds something wrong with it, or changes nothing.
    pub body: fn(&LockId) -> Value,
}

const fn rule(name: &'static str, verb: Verb, at: Where, body: fn(&LockId) -> Value) -> Rule {
    Rule {
        name,
        verb,
        at,
        body,
    }
}

fn nothing(_: &LockId) -> Value {
    Value::Null
}

/// The routes of the document.
pub const ROUTES: &[Rule] = &[
    rule("GET /api/v1/groups", Verb::See, Where::Console, nothing),
    rule("GET /api/v1/locks", Verb::See, Where::Console, nothing),
    rule(
        "GET /api/v1/locks/export",
        Verb::See,
        Where::Console,
        nothing,
    ),
    rule("GET /api/v1/waits", Verb::See, Where::Console, nothing),
    rule("GET /api/v1/owners", Verb::See, Where::Console, nothing),
    rule("GET /api/v1/events", Verb::See, Where::Console, nothing),
    rule(
        "GET /api/v1/audit",
        Verb::ReadAudit,
        Where::Console,
        nothing,
    ),
    rule(
        "GET /api/v1/audit/export",
        Verb::ReadAudit,
        Where::Console,
        nothing,
    ),
    rule(
        "GET /api/v1/groups/{group}/findings",
        Verb::See,
        Where::Group,
        nothing,
    ),
    rule(
        "GET /api/v1/groups/{group}/locks/{key}",
        Verb::See,
        Where::Group,
        nothing,
    ),
    rule(
        "GET /api/v1/groups/{group}/locks/{key}/history",
        Verb::See,
        Where::Group,
        nothing,
    ),
    rule(
        "POST /api/v1/groups/{group}/nodes/{node}/monitor-sample",
        Verb::Sample,
        Where::Group,
        |_| json!({"seconds": 11}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/acquire",
        Verb::Acquire,
        Where::Lock,
        |_| json!({"ttl_ms": 0}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/extend",
        Verb::Extend,
        Where::Lock,
        |_| json!({"token": "x", "ttl_ms": 0}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/release",
        Verb::Release,
        Where::Lock,
        |_| json!({"token": ""}),
    ),
    rule(
        "POST /api/v1/groups/{group}/locks/{key}/force-release",
        Verb::ForceRelease,
        Where::Lock,
        |_| json!({"fingerprint": "0123456789abcdef", "reason": " "}),
    ),
    rule(
        "POST /api/v1/groups/{group}/nodes/{node}/vouch",
        Verb::Vouch,
        Where::Group,
        |_| json!({"reason": " "}),
    ),
    // Each lock of the list is asked about besides; see `force_releases`.
    rule(
        "POST /api/v1/force-releases",
        Verb::ForceRelease,
        Where::Console,
        |_| json!({"items": [], "reason": "r"}),
    ),
];

/// What the document does not tell of.
pub const BESIDE: &[Rule] = &[rule("GET /metrics", Verb::See, Where::Console, nothing)];

/// The server functions.
pub const FUNCTIONS: &[Rule] = &[
    rule("board", Verb::See, Where::Console, |_| json!({"page": "/"})),
    rule("lock", Verb::See, Where::Group, |id| json!({"id": id})),
    rule("history", Verb::See, Where::Group, |id| json!({"id": id})),
    rule(
        "find",
        Verb::See,
        Where::Console,
        |_| json!({"text": "lock"}),
    ),
    rule("raw", Verb::ReadRaw, Where::Group, |id| json!({"id": id})),
    rule("waits", Verb::See, Where::Console, |_| json!({})),
    rule(
        "nodes",
        Verb::See,
        Where::Console,
        |_| json!({"search": ""}),
    ),
    rule(
        "owners",
        Verb::See,
        Where::Console,
        |_| json!({"search": ""}),
    ),
    rule(
        "audit",
        Verb::ReadAudit,
        Where::Console,
        |_| json!({"search": ""}),
    ),
    rule(
        "audit_chain",
        Verb::ReadAudit,
        Where::Console,
        |_| json!({}),
    ),
    rule(
        "acquire",
        Verb::Acquire,
        Where::Lock,
        |id| json!({"group": id.group, "key": id.key, "format": "plain", "ttl_ms": 0, "wait_ms": 0, "label": null, "auto_renew": false}),
    ),
    // Nobody has anything here; whose things are whose is tried below.
    rule("mine", Verb::See, Where::Console, |_| json!({})),
    rule(
        "extend_mine",
        Verb::See,
        Where::Console,
        |id| json!({"id": id, "ttl_ms": 1000}),
    ),
    rule(
        "release_mine",
        Verb::See,
        Where::Console,
        |id| json!({"id": id}),
    ),
    rule(
        "take_token",
        Verb::Release,
        Where::Lock,
        |id| json!({"id": id}),
    ),
    rule(
        "force_release",
        Verb::ForceRelease,
        Where::Lock,
        |id| json!({"id": id, "fingerprint": "0123456789abcdef", "seen": {}, "reason": " ", "confirm": null}),
    ),
    rule(
        "vouch_for_node",
        Verb::Vouch,
        Where::Group,
        |id| json!({"group": id.group, "node": "a", "reason": " ", "confirm": null}),
    ),
    // It picks those that whoever asks may release: nothing, for some.
    rule("pick", Verb::See, Where::Console, |_| json!({"search": ""})),
    // As with `force-releases`, each lock of the list is asked about besides.
    rule(
        "rehearse_releases",
        Verb::ForceRelease,
        Where::Console,
        |_| json!({"picked": []}),
    ),
    rule(
        "monitor_sample",
        Verb::Sample,
        Where::Group,
        |id| json!({"group": id.group, "node": "a", "seconds": 11}),
    ),
];
