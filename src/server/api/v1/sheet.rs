//! Acts as rows of a sheet (CSV, RFC 4180). What others wrote into it is text: no program that opens it takes it for a formula.

use crate::domain::Audited;

const COLUMNS: [&str; 17] = [
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
];

/// The names of the columns.
pub fn heading() -> String {
    row_of(COLUMNS.map(str::to_owned))
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
    row_of([
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
    ])
}

/// A row of cells.
pub(super) fn row_of<const N: usize>(cells: [String; N]) -> String {
    cells.map(|cell| quoted(&cell)).join(",") + "\r\n"
}

/// A cell: always in quotes, and with an apostrophe before what a program would calculate.
fn quoted(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let guard = if is_formula { "'" } else { "" };
    format!("\"{guard}{}\"", cell.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stays_one_cell_and_is_never_a_formula() {
        for (text, cell) in [
            ("plain", "\"plain\""),
            ("a,\"b\"\r\nc", "\"a,\"\"b\"\"\r\nc\""),
            (
                "=HYPERLINK(\"http://x\")",
                "\"'=HYPERLINK(\"\"http://x\"\")\"",
            ),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(text), cell);
        }
        assert_eq!(heading().matches(',').count(), COLUMNS.len() - 1);
    }
}
