//! Audit entries as CSV (RFC 4180). Cells that a spreadsheet could interpret as a formula are
//! escaped.

use crate::domain::{self, AuditEntry};

const COLUMNS: [&str; 18] = [
    "seq",
    "started_at",
    "ended_at",
    "action",
    "result",
    "code",
    "actor",
    "auth_method",
    "address",
    "request_id",
    "group",
    "key",
    "fingerprint",
    "label",
    "reason",
    "detail",
    "nodes",
    "subject",
];

/// The header row.
pub fn heading() -> String {
    domain::to_csv([COLUMNS])
}

/// The row of an entry.
pub fn row(entry: &AuditEntry) -> String {
    fn text(value: Option<impl ToString>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let nodes = entry.nodes.iter().map(|node| {
        let outcome = serde_json::to_value(node).ok();
        let word = outcome.as_ref().and_then(|value| value["outcome"].as_str());
        format!("{}={}", node.node, word.unwrap_or_default())
    });
    domain::to_csv([[
        entry.seq.to_string(),
        entry.started_at.to_string(),
        text(entry.ended_at),
        entry.action.slug().to_owned(),
        entry.result.slug().to_owned(),
        text(entry.code.as_ref()),
        entry.actor.clone(),
        entry.auth_method.clone(),
        text(entry.address.as_ref()),
        text(entry.request_id.as_ref()),
        text(entry.group.as_ref()),
        text(entry.key.as_ref().map(|key| key.text().into_owned())),
        text(entry.fingerprint.as_ref()),
        text(entry.label.as_ref()),
        text(entry.reason.as_ref()),
        text(entry.detail.as_ref()),
        nodes.collect::<Vec<_>>().join(" "),
        text(entry.subject.as_ref()),
    ]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_name() {
        assert_eq!(heading().matches(',').count(), COLUMNS.len() - 1);
    }
}
