//! The JSON body of an entry, without the chain fields, and its search columns.

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::entry::{EntryBody, SearchColumns, replace_nul};
use super::request::{AuditActor, AuditOutcome, AuditRequest, truncate};
use crate::domain::{
    AuditDetail, Fingerprint, Format, LockKey, NodeObservation, NodeResult, OperationKind,
    OperationResult, Timestamp,
};

/// Longer lock names are truncated in entries about rejections, in bytes: a client without
/// permissions chooses them.
const MAX_REJECTED_KEY_BYTES: usize = 256;

/// The fields of an entry. `kind` and `id` come first, so that a search by id need not parse the
/// rest.
#[derive(Serialize)]
struct EntryFields<'a> {
    kind: &'static str,
    id: &'a str,
    action: OperationKind,
    #[serde(flatten)]
    by: AuditActor<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// The exact name, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_encoded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a Fingerprint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    auto_renew: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    started_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<OperationResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a AuditDetail>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    nodes: &'a [NodeResult],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    observed_after: &'a [NodeObservation],
}

/// The body for the start of an operation.
pub fn begin(id: &str, request: &AuditRequest<'_>, at: Timestamp) -> EntryBody {
    encode(id, request, at, None)
}

/// The body for the end of an operation. It repeats the request, so that one line describes the
/// whole operation.
pub fn end(
    id: &str,
    request: &AuditRequest<'_>,
    began_at: Timestamp,
    outcome: &AuditOutcome,
    at: Timestamp,
) -> EntryBody {
    encode(id, request, began_at, Some((outcome, at)))
}

/// The body for a rejected operation. A long lock name is truncated, with its length and digest.
pub fn rejected(
    id: &str,
    request: &AuditRequest<'_>,
    began_at: Timestamp,
    outcome: &AuditOutcome,
    at: Timestamp,
) -> EntryBody {
    let is_long = |key: &&LockKey| key.as_bytes().len() > MAX_REJECTED_KEY_BYTES;
    // Keys of accepted operations are recorded completely, because they identify the lock.
    let Some(key) = request.key.filter(is_long) else {
        return encode(id, request, began_at, Some((outcome, at)));
    };
    let text = key.text();
    let digest = Sha256::digest(key.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let truncated = format!(
        "{}… ({} bytes, sha256 {digest})",
        &text[..text.floor_char_boundary(MAX_REJECTED_KEY_BYTES)],
        key.as_bytes().len()
    );
    let truncated = LockKey::from(truncated.as_str());
    let request = AuditRequest {
        key: Some(&truncated),
        ..request.clone()
    };
    encode(id, &request, began_at, Some((outcome, at)))
}

fn encode(
    id: &str,
    request: &AuditRequest<'_>,
    began_at: Timestamp,
    outcome: Option<(&AuditOutcome, Timestamp)>,
) -> EntryBody {
    let (outcome, ended_at) = outcome.unzip();
    let key = request.key;
    let text = key.map(LockKey::text);
    let actor = truncate(request.by.actor);
    let subject = request.by.subject.map(truncate);
    let by = AuditActor {
        actor: &actor,
        subject: subject.as_deref(),
        ..request.by
    };
    let (group, label, reason) = (
        request.group.map(truncate),
        request.label.map(truncate),
        request.reason.map(truncate),
    );
    let is_text = |key: &&LockKey| std::str::from_utf8(key.as_bytes()).is_ok();
    let fields = EntryFields {
        kind: if outcome.is_some() { "end" } else { "begin" },
        id,
        action: request.action,
        by,
        group: group.as_deref(),
        key: text.as_deref(),
        // `key` is lossy for such names, and JSON cannot contain arbitrary bytes.
        key_encoded: key.filter(|key| !is_text(key)).map(LockKey::encoded),
        // After the operation the actual owner is more relevant than the requested one.
        fingerprint: outcome
            .and_then(|outcome| outcome.fingerprint.as_ref())
            .or(request.fingerprint.as_ref()),
        label: label.as_deref(),
        format: request.format,
        ttl_ms: request.ttl_ms,
        auto_renew: request.auto_renew,
        reason: reason.as_deref(),
        started_at: began_at,
        ended_at,
        result: outcome.map(|outcome| outcome.result),
        code: outcome.and_then(|outcome| outcome.code),
        detail: outcome
            .and_then(|outcome| outcome.detail.as_ref())
            .or(request.detail.as_ref()),
        nodes: outcome.map_or(&[], |outcome| &outcome.nodes),
        observed_after: outcome.map_or(&[], |outcome| &outcome.observed_after),
    };
    EntryBody {
        json: serde_json::to_vec(&fields).expect("all map keys are strings"),
        columns: SearchColumns {
            action: request.action.slug().into(),
            group_name: fields.group.map(replace_nul),
            lock_key: key.map(|key| key.as_bytes().to_vec()),
            actor: replace_nul(fields.by.actor),
            address: request.by.address.map(|address| address.to_string()),
            started_at: began_at.millis(),
            result: fields.result.map(|result| result.slug().into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::operation_error::{DenialReason, InternalError, RequestError};
    use crate::domain::{AuditEntry, LockId, NodeOutcome, OperationError};
    use crate::server::audit::chain::{self, ChainHead};
    use crate::server::audit::request::MAX_TEXT_CHARS;

    const BY: AuditActor<'static> = AuditActor {
        actor: "alice",
        subject: Some("https://login.example.org 7"),
        auth_method: "browser",
        address: None,
        request_id: Some("r-1"),
    };

    /// Reads the line back. The search columns must be those of the line.
    fn read(body: &EntryBody) -> AuditEntry {
        let mut line = Vec::new();
        chain::append_line(&ChainHead::START, &body.json, &mut line);
        let entry = serde_json::from_slice(&line).unwrap();
        assert_eq!(body.columns, SearchColumns::from_entry(&entry));
        entry
    }

    #[test]
    fn the_end_describes_the_whole_operation() {
        let lock = LockId {
            group: "orders".into(),
            key: LockKey::new([0xff, b'\n']),
        };
        let mut request = AuditRequest::on_lock(OperationKind::ForceRelease, BY, &lock);
        request.reason = Some("it is \"stuck\"\n");
        let nodes = [NodeResult {
            node: "a".into(),
            outcome: NodeOutcome::Released,
        }];
        let at = Timestamp::from_millis;
        let entry = read(&end(
            "x-1",
            &request,
            at(5),
            &AuditOutcome::done(&nodes),
            at(9),
        ));
        assert_eq!(entry.lock().as_ref(), Some(&lock));
        assert_eq!(
            (entry.result, entry.ended_at),
            (OperationResult::Done, Some(at(9)))
        );
        assert_eq!(entry.reason.as_deref(), request.reason);
        assert_eq!(
            (entry.actor.as_str(), entry.subject.as_deref()),
            (BY.actor, BY.subject)
        );
        assert_eq!(entry.nodes, nodes);
        let start = read(&begin("x-1", &request, at(5)));
        assert_eq!(
            (start.result, start.started_at),
            (OperationResult::InProgress, at(5))
        );
    }

    #[test]
    fn a_long_name_of_a_rejected_operation_is_truncated_with_its_digest() {
        let at = Timestamp::from_millis(5);
        let error = OperationError::Forbidden {
            cause: DenialReason::CrossSite,
        };
        let name = |key: LockKey| {
            let lock = LockId {
                group: "orders".into(),
                key,
            };
            let request = AuditRequest::on_lock(OperationKind::Acquire, BY, &lock);
            let line = rejected("x-1", &request, at, &AuditOutcome::from_error(&error), at);
            assert!(line.json.len() < 3_000, "{}", line.json.len());
            read(&line).key.unwrap()
        };
        let short = LockKey::new([0xff; MAX_REJECTED_KEY_BYTES]);
        assert_eq!(name(short.clone()), short);
        for (byte, prefix) in [(b'x', "xxx"), (0xff, "%FF%FF"), (1, "\u{1}\u{1}")] {
            let long = name(LockKey::new(vec![byte; 16 * 1024]));
            let text = long.text().into_owned();
            assert!(
                text.starts_with(prefix) && text.contains("(16384 bytes, sha256 "),
                "{text}"
            );
        }
    }

    #[test]
    fn an_error_is_recorded_with_its_code_and_a_bounded_text() {
        let request = AuditRequest::new(OperationKind::Extend, BY);
        let at = Timestamp::from_millis(5);
        for (error, result) in [
            (
                OperationError::BadRequest {
                    cause: RequestError::InvalidBody {
                        text: "é".repeat(2_000),
                    },
                },
                OperationResult::Refused,
            ),
            (
                OperationError::NotOwner { nodes: Vec::new() },
                OperationResult::Refused,
            ),
            (
                OperationError::Internal {
                    cause: InternalError::ShuttingDown,
                },
                OperationResult::Failed,
            ),
        ] {
            let line = end("x-1", &request, at, &AuditOutcome::from_error(&error), at);
            let entry = read(&line);
            assert_eq!(
                (entry.result, entry.code.as_deref()),
                (result, Some(error.code()))
            );
            assert!(line.json.len() < 3 * MAX_TEXT_CHARS, "{}", line.json.len());
        }
    }
}
