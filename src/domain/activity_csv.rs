//! A recorded history as CSV: one row for each hold, flag, outage and gap.

use super::{Activity, FlagPeriod, NodeOutage, RecordedHold, RecordingGap, Timestamp, to_csv};

const COLUMNS: [&str; 16] = [
    "kind",
    "group",
    "key",
    "key_encoded",
    "node",
    "state",
    "format",
    "label",
    "fingerprint",
    "from",
    "to",
    "from_source",
    "end_reason",
    "renewals",
    "min_margin_ms",
    "attempts",
];

impl Activity {
    /// The history as CSV (RFC 4180).
    pub fn to_csv(&self) -> String {
        let rows = std::iter::once(COLUMNS.map(str::to_owned))
            .chain(self.gaps.iter().map(gap_row))
            .chain(self.outages.iter().map(outage_row))
            .chain(self.flags.iter().map(flag_row))
            .chain(self.holds.iter().map(hold_row));
        to_csv(rows)
    }
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A row of a period; the other cells are empty.
fn period(kind: &str, from: Timestamp, to: Option<Timestamp>) -> [String; 16] {
    let mut row: [String; 16] = Default::default();
    (row[0], row[9], row[10]) = (kind.to_owned(), from.to_string(), text(to));
    row
}

fn hold_row(recorded: &RecordedHold) -> [String; 16] {
    let hold = &recorded.hold;
    let mut row = period("hold", hold.started_at, hold.ended_at);
    row[1].clone_from(&recorded.id.group);
    row[2] = recorded.id.key.text().into_owned();
    row[3] = recorded.id.key.encoded();
    row[6] = recorded.format.slug().to_owned();
    row[7] = text(hold.label.as_ref());
    row[8] = hold.fingerprint.to_string();
    row[11] = hold.started_at_source.slug().to_owned();
    row[12] = text(hold.end_reason.map(|reason| reason.slug()));
    row[13] = hold.renewal_count.to_string();
    row[14] = text(recorded.min_margin_ms);
    row[15] = text(recorded.attempts);
    row
}

fn flag_row(flag: &FlagPeriod) -> [String; 16] {
    let mut row = period("flag", flag.from, flag.to);
    row[1].clone_from(&flag.id.group);
    row[2] = flag.id.key.text().into_owned();
    row[3] = flag.id.key.encoded();
    row[5] = flag.flag.slug().to_owned();
    row
}

fn outage_row(outage: &NodeOutage) -> [String; 16] {
    let mut row = period("outage", outage.from, outage.to);
    row[1].clone_from(&outage.group);
    row[4].clone_from(&outage.node);
    row[5] = outage.state.slug().to_owned();
    row
}

fn gap_row(gap: &RecordingGap) -> [String; 16] {
    let mut row = period("gap", gap.from, gap.to);
    row[5] = gap.cause.slug().to_owned();
    row
}
