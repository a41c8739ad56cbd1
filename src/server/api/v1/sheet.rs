//! Acts as rows of a sheet (CSV, RFC 4180). What others wrote into it is text: no program that opens it takes it for a formula.

use crate::domain::{self, Audited};

const COLUMNS: [&str; 18] = [
    "number",
    "began_at",
    "ended_at",
    "act",
    "end",
    "code",
    "who",
    "via",
    "address",
    "request",
    "group",
    "key",
    "fingerprint",
    "label",
    "reason",
    "detail",
    "nodes",
    "subject",
];

/// The names of the columns.
pub fn heading() -> String {
    domain::sheet([COLUMNS])
}

/// One act.
pub fn row(act: &Audited) -> String {
    fn text(given: Option<impl ToString>) -> String {
        given.map(|given| given.to_string()).unwrap_or_default()
    }
    let nodes = act.nodes.iter().map(|node| {
        let outcome = serde_json::to_value(node).ok();
        let word = outcome.as_ref().and_then(|told| told["outcome"].as_str());
        format!("{}={}", node.node, word.unwrap_or_default())
    });
    domain::sheet([[
        act.number.to_string(),
        act.began_at.to_string(),
        text(act.ended_at),
        act.act.slug().to_owned(),
        act.end.slug().to_owned(),
        text(act.code.as_ref()),
        act.who.clone(),
        act.via.clone(),
        text(act.address.as_ref()),
        text(act.request.as_ref()),
        text(act.group.as_ref()),
        text(act.key.as_ref().map(|key| key.text().into_owned())),
        text(act.fingerprint.as_ref()),
        text(act.label.as_ref()),
        text(act.reason.as_ref()),
        text(act.detail.as_ref()),
        nodes.collect::<Vec<_>>().join(" "),
        text(act.subject.as_ref()),
    ]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_name_for_every_column() {
        assert_eq!(heading().matches(',').count(), COLUMNS.len() - 1);
    }
}
