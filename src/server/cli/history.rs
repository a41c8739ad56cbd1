//! `lockkeeper history`: the recorded history of locks and nodes, from the configured storage. The
//! console need not run.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use clap::Args;

use super::audit::open_existing_storage;
use super::options::{ConfigSource, parse_duration};
use super::output::{json_line, print_stdout};
use super::text::{Style, TextFormat, escape_invisible, format_ms, lock_name};
use super::{Failure, pluralize};
use crate::domain::{
    Activity, ActivityQuery, HoldEndReason, LockKey, RecordedHold, Timestamp, VisibleGroups,
};
use crate::server::clock::Clock;
use crate::server::config::Config;
use crate::server::history::{HistoryReader, Recording};

/// The arguments of `history`.
#[derive(Args)]
pub struct HistoryArgs {
    /// The group, and the exact name of a lock. With one name: a group, or, if only one group is
    /// configured, a lock [default: all groups].
    #[arg(value_name = "[GROUP] [KEY]", num_args = 0..=2)]
    names: Vec<OsString>,
    /// KEY is percent-encoded, for names with bytes that cannot be typed (%00, %FF, a leading %2D).
    #[arg(long)]
    key_encoded: bool,
    /// The start: a time like 2026-11-20T18:48:05Z, or how long ago, like 90m.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_moment)]
    from: Moment,
    /// The end, in the same form [default: now].
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    to: Option<Moment>,
    /// Only locks with this text in their name.
    #[arg(long, value_name = "TEXT")]
    q: Option<String>,
    /// The maximum number of holds, at most 10000; the latest are shown.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    #[command(flatten)]
    source: ConfigSource,
    /// Print one JSON document on standard output.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV on standard output.
    #[arg(long)]
    csv: bool,
}

/// A time, absolute or before now.
#[derive(Clone, Copy, Debug)]
enum Moment {
    At(Timestamp),
    MillisAgo(i64),
}

impl Moment {
    fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::MillisAgo(ms) => now.plus_millis(-ms),
        }
    }
}

fn parse_moment(text: &str) -> Result<Moment, String> {
    if let Ok(at) = Timestamp::try_from(text.to_owned()) {
        return Ok(Moment::At(at));
    }
    let ago = parse_duration(text).ok();
    ago.and_then(|ago| i64::try_from(ago.as_millis()).ok())
        .map(Moment::MillisAgo)
        .ok_or_else(|| "invalid time; write 2026-11-20T18:48:05Z, or 90m for 90 minutes ago".into())
}

impl HistoryArgs {
    pub fn prints_json(&self) -> bool {
        self.json
    }

    fn query(&self, config: &Config, now: Timestamp) -> Result<ActivityQuery, Failure> {
        let (group, key) = self.group_and_key(config)?;
        Ok(ActivityQuery {
            group,
            key,
            search: self.q.clone().filter(|text| !text.is_empty()),
            owner: None,
            from: self.from.at(now),
            to: self.to.map_or(now, |to| to.at(now)),
            limit: self.limit,
        })
    }

    fn group_and_key(&self, config: &Config) -> Result<(Option<String>, Option<LockKey>), Failure> {
        let text = |name: &OsString| name.to_string_lossy().into_owned();
        let is_group = |name: &OsString| config.groups.iter().any(|group| group.name == text(name));
        match self.names.as_slice() {
            [group, key] => Ok((Some(text(group)), Some(self.key(key)?))),
            [name] if is_group(name) => Ok((Some(text(name)), None)),
            [key] => match config.groups.as_slice() {
                [only] => Ok((Some(only.name.clone()), Some(self.key(key)?))),
                _ => Err(Failure::invalid_input(format!(
                    "there is no group {}, and several groups are configured",
                    text(key)
                ))
                .with_advice("Name the group before KEY.")),
            },
            _ => Ok((None, None)),
        }
    }

    fn key(&self, name: &OsString) -> Result<LockKey, Failure> {
        if !self.key_encoded {
            return Ok(LockKey::new(name.as_bytes()));
        }
        let decoded = name.to_str().and_then(LockKey::decode);
        decoded.ok_or_else(|| {
            Failure::invalid_input("KEY has a `%` that is not followed by two hex digits")
        })
    }
}

pub async fn run(options: HistoryArgs) -> Result<(), Failure> {
    let config = options.source.clone().load()?;
    let now = Clock::system().now();
    let query = options.query(&config, now)?;
    let reader = HistoryReader::new(open_existing_storage(&config.storage)?);
    let reading = reader.activity(&query, &VisibleGroups::All, Recording::Unknown, now);
    let activity = reading
        .await
        .map_err(|error| Failure::failed(error.to_string()))?;
    print_stdout(&if options.json {
        json_line(&activity)
    } else if options.csv {
        activity.to_csv()
    } else {
        describe(&activity, now)
    })
}

fn describe(activity: &Activity, now: Timestamp) -> String {
    let page = TextFormat::for_stdout();
    let rows: Vec<_> = activity
        .holds
        .iter()
        .map(|hold| hold_row(hold, now))
        .collect();
    let heading = [
        "STARTED", "HELD FOR", "END", "GROUP", "KEY", "OWNER", "RENEWALS",
    ];
    let mut out = page.table(&heading, &rows);
    let more = match activity.is_truncated {
        true => "; there are earlier ones",
        false => "",
    };
    out.push_str(&format!("{}{more}\n", pluralize(rows.len(), "hold")));
    let until = |to: Option<Timestamp>| to.map_or("now".to_owned(), |to| to.to_string());
    for outage in &activity.outages {
        let (group, node) = (
            escape_invisible(&outage.group),
            escape_invisible(&outage.node),
        );
        let line = format!(
            "node {node} of {group} was {} from {} to {}",
            outage.state.slug(),
            outage.from,
            until(outage.to)
        );
        out.push_str(&format!("{}\n", page.paint(&line, Style::Error)));
    }
    for gap in &activity.gaps {
        let line = format!(
            "nothing is known from {} to {}: {}",
            gap.from,
            until(gap.to),
            gap.cause.slug()
        );
        out.push_str(&format!("{}\n", page.paint(&line, Style::Warning)));
    }
    out
}

fn hold_row(recorded: &RecordedHold, now: Timestamp) -> Vec<(String, Style)> {
    let hold = &recorded.hold;
    let (end, style) = match hold.end_reason {
        None => ("held", Style::Success),
        Some(reason @ (HoldEndReason::Released | HoldEndReason::TakenOver)) => {
            (reason.slug(), Style::Plain)
        }
        Some(reason @ (HoldEndReason::Expired | HoldEndReason::Forced)) => {
            (reason.slug(), Style::Warning)
        }
        Some(reason @ HoldEndReason::Unknown) => (reason.slug(), Style::Dim),
    };
    let label = hold.label.as_deref().unwrap_or(hold.fingerprint.as_str());
    vec![
        (hold.started_at.to_string(), Style::Dim),
        (format_ms(hold.duration_ms(now)), Style::Plain),
        (end.to_owned(), style),
        (escape_invisible(&recorded.id.group), Style::Plain),
        (lock_name(&recorded.id.key), Style::Plain),
        (escape_invisible(label), Style::Plain),
        (hold.renewal_count.to_string(), Style::Dim),
    ]
}
