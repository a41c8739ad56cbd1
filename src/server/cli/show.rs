//! `lockkeeper show`: reads one lock from every node.

use clap::Args;
use serde_json::json;

use super::Failure;
use super::advice_text::advice_fields;
use super::options::{CommonArgs, LockArgs};
use super::output::{json_line, print_stdout};
use super::standalone::{Standalone, lock_failure};
use super::text::{self, Style, TextFormat, escape_invisible};
use crate::domain::{
    AcquiredAtSource, Flag, LeaseKeys, Lock, Mode, Observation, ReleaseAdvice, Timestamp, Verdict,
};

/// The arguments of `show`.
#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    lock: LockArgs,
    /// (etcd) Print the keys that end with the lease of the lock, and the fingerprint for
    /// `force-release --revoke-lease`.
    #[arg(long)]
    lease_keys: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl ShowArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }
}

pub async fn run(options: ShowArgs) -> Result<(), Failure> {
    let id = options.lock.lock_id(&options.common.source)?;
    let standalone = Standalone::start(options.common.source, Some(&id.group))?;
    standalone.wait_for_all_nodes().await;
    if options.lease_keys {
        let keys = standalone.operations.lease_keys(&standalone.principal, &id);
        let keys = keys.await.map_err(lock_failure(&id))?;
        return print_stdout(&if options.common.json {
            json_line(&keys)
        } else {
            describe_lease_keys(&keys)
        });
    }
    let lock = standalone
        .operations
        .inspect(&standalone.principal, &id)
        .await;
    let lock = lock.map_err(lock_failure(&id))?;
    let advice = standalone
        .operations
        .release_advice(&standalone.principal, &lock, None)
        .await
        .map_err(lock_failure(&id))?;
    print_stdout(&if options.common.json {
        let mut json = json!(lock);
        json["release_advice"] = json!(advice);
        json_line(&json)
    } else {
        describe(&lock, &advice, standalone.operations.index().now())
    })
}

fn describe_lease_keys(keys: &LeaseKeys) -> String {
    let mut fields = vec![("keys", keys.total.to_string())];
    for key in &keys.keys {
        let kind = if key.is_contender { "contender" } else { "key" };
        fields.push((kind, text::lock_name(&key.key)));
    }
    if keys.outside_prefixes > 0 {
        fields.push(("outside of the prefixes", keys.outside_prefixes.to_string()));
    }
    let fingerprint = match &keys.fingerprint {
        Some(fingerprint) => fingerprint.to_string(),
        None => "none: the lease cannot be revoked".to_owned(),
    };
    fields.push(("fingerprint", fingerprint));
    TextFormat::for_stdout().fields(&fields)
}

fn describe(lock: &Lock, advice: &ReleaseAdvice, now: Timestamp) -> String {
    let page = TextFormat::for_stdout();
    let mode = match lock.mode {
        Mode::Exclusive => "one owner at a time",
        Mode::Shared => "several owners at once",
    };
    let mut fields = vec![
        ("group", escape_invisible(&lock.id.group)),
        ("lock", text::lock_name(lock.key())),
    ];
    let name = lock.key().text();
    if name.is_empty()
        || name != lock.key().encoded().as_str() && name.chars().any(|c| !is_shell_safe(c))
    {
        fields.push(("encoded", lock.key().encoded()));
    }
    fields.push((
        "verdict",
        page.paint(lock.verdict.slug(), verdict_style(lock.verdict)),
    ));
    fields.push(("", escape_invisible(&lock.verdict_sentence())));
    if !lock.flags.is_empty() {
        fields.push(("flags", page.paint(&flag_names(lock), Style::Warning)));
    }
    fields.push(("format", format!("{}, {mode}", lock.format)));
    for owner in &lock.owners {
        fields.push(("owner", text::owner_label(Some(owner))));
        fields.push(("fingerprint", owner.fingerprint.to_string()));
        if let Some(holds) = owner.hold_count {
            fields.push(("holds", format!("{holds} times")));
        }
    }
    let end = lock.lease.expires_at();
    let until = end.map(|at| format!(", until {at}")).unwrap_or_default();
    fields.push(("lease", text::remaining_lease(lock.lease, now) + &until));
    if lock.acquired_at_source == AcquiredAtSource::Claimed {
        fields.push(("claimed at", lock.acquired_at.to_string()));
    }
    fields.push(("observed at", lock.observed_at.to_string()));
    fields.extend(advice_fields(page, advice));
    let rows: Vec<Vec<(String, Style)>> = lock
        .nodes
        .iter()
        .map(|node| {
            let mut row = vec![(node.node.clone(), Style::Plain)];
            match &node.observation {
                Observation::Holds {
                    owner,
                    lease,
                    others,
                } => {
                    row.push(("holds".to_owned(), Style::Plain));
                    row.push((text::remaining_lease(*lease, now), Style::Plain));
                    let more = match others.len() {
                        0 => String::new(),
                        more => format!(" +{more}"),
                    };
                    row.push((format!("{}{more}", owner.fingerprint), Style::Plain));
                    row.push((text::owner_label(Some(owner)), Style::Plain));
                }
                Observation::Absent => row.push(("absent".to_owned(), Style::Dim)),
                Observation::Unreachable { reason } => {
                    row.push((
                        format!("unreachable: {}", escape_invisible(&reason.to_string())),
                        Style::Error,
                    ));
                }
            }
            row
        })
        .collect();
    let nodes = page.table(&["NODE", "OUTCOME", "LEASE", "FINGERPRINT", "OWNER"], &rows);
    format!("{}\n{nodes}", page.fields(&fields))
}

/// Whether the character needs no quoting in a shell.
fn is_shell_safe(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '%' | '"' | '\'' | '\\' | '`' | '$')
}

/// The flags of a lock, separated by spaces.
pub fn flag_names(lock: &Lock) -> String {
    let slugs: Vec<&str> = lock.flags.iter().copied().map(Flag::slug).collect();
    slugs.join(" ")
}

/// The colour of a verdict.
pub fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Held => Style::Success,
        Verdict::Split => Style::Error,
        Verdict::Partial | Verdict::Unknown => Style::Warning,
    }
}
