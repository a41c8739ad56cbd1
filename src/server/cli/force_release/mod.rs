//! `lockkeeper force-release`: releases locks of other owners, each only if the owner has not
//! changed.

mod bulk;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::advice_text::advice_fields;
use super::options::{CommonArgs, LockArgs};
use super::output::{json_line, print_stdout};
use super::release::release_fields;
use super::standalone::{Standalone, lock_failure};
use super::text::TextFormat;
use super::{Failure, json_input, text};
use crate::domain::{Fingerprint, Lock, LockId, ObservedHold, ReleaseMethod};
use crate::server::operations::ForceReleaseRequest;

/// The arguments of `force-release`: one lock and its owner, or a file with many.
#[derive(Args)]
pub struct ForceReleaseArgs {
    /// The group in the configuration and the exact name of the lock. GROUP can be omitted if only
    /// one group is configured; with --redis it is "default".
    #[arg(value_name = "[GROUP] KEY", num_args = 1..=2, required_unless_present = "from")]
    names: Vec<OsString>,
    /// KEY is percent-encoded, for names with bytes that cannot be typed (%00, %FF, a leading %2D).
    #[arg(long, conflicts_with = "from")]
    key_encoded: bool,
    /// The fingerprint of the owner as printed by `show` or `list`. A lock with another owner is
    /// not released.
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_fingerprint, required_unless_present = "from")]
    fingerprint: Option<Fingerprint>,
    /// Why the lock is force-released; recorded in the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The lock's name again; required if the group's environment is production, or if releasing
    /// this format is harmful.
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    confirm: Option<String>,
    /// A file with the output of `show --json`; `-` is standard input. The release is rejected if
    /// the owner renewed, re-entered or acquired the lock again since then.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    if_match: Option<PathBuf>,
    /// (etcd) Revoke the lease of the lock, which deletes all of its keys. The value is the fingerprint
    /// that `show --lease-keys` prints. Rejected if the lease has other keys since.
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_fingerprint, conflicts_with = "from")]
    revoke_lease: Option<Fingerprint>,
    /// (PostgreSQL) Cancel the statement that the owner's connection runs, which releases a lock of
    /// its transaction, instead of ending the connection. A lock of the session stays.
    #[arg(long, conflicts_with_all = ["from", "revoke_lease"])]
    cancel_statement: bool,
    /// Release many locks: a file with a JSON array of {"group", "key", "fingerprint"}, at most
    /// 500; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["names", "fingerprint"])]
    from: Option<PathBuf>,
    /// Change nothing and print what would be released.
    #[arg(long, requires = "from")]
    dry_run: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl ForceReleaseArgs {
    pub fn prints_json(&self) -> bool {
        self.common.json
    }
}

fn parse_fingerprint(text: &str) -> Result<Fingerprint, String> {
    Fingerprint::parse(text).ok_or_else(|| "invalid fingerprint; it has 16 hex digits".to_owned())
}

/// The hold in the output of `show`. Its start is not compared, because this process has not
/// observed the lock before.
fn observed_hold(
    lock: &Lock,
    id: &LockId,
    fingerprint: &Fingerprint,
) -> Result<ObservedHold, Failure> {
    if lock.id != *id {
        return Err(Failure::invalid_input(
            "the file of --if-match is about another lock",
        ));
    }
    let mut owners = lock.owners.iter();
    let owner = owners.find(|owner| owner.fingerprint == *fingerprint);
    let owner = owner.ok_or_else(|| {
        Failure::invalid_input(
            "the lock in the file of --if-match has no owner with that --fingerprint",
        )
    })?;
    Ok(ObservedHold {
        acquired_at: None,
        expires_at: lock.lease.expires_at(),
        hold_count: owner.hold_count,
    })
}

/// Releases one lock, or those of `--from`. The exit status is 0 only if all were released.
pub async fn run(options: ForceReleaseArgs) -> Result<u8, Failure> {
    match (options.from, options.fingerprint) {
        (Some(from), _) => {
            let request = bulk::BulkRelease {
                from,
                reason: options.reason,
                dry_run: options.dry_run,
            };
            bulk::run(request, options.common).await
        }
        (None, Some(fingerprint)) => {
            let id = LockArgs::new(options.names, options.key_encoded)
                .lock_id(&options.common.source)?;
            let expected_hold = match &options.if_match {
                Some(path) => {
                    let lock = json_input::read_json(path, "a lock as `show --json` writes it")?;
                    observed_hold(&lock, &id, &fingerprint)?
                }
                None => ObservedHold::default(),
            };
            let method = match options.revoke_lease {
                Some(keys) => ReleaseMethod::RevokeLease(keys),
                None if options.cancel_statement => ReleaseMethod::CancelStatement,
                None => ReleaseMethod::Lock,
            };
            let request = ForceReleaseRequest {
                fingerprint: &fingerprint,
                expected_hold,
                reason: &options.reason,
                confirm: options.confirm.as_deref(),
                method: &method,
            };
            release_one(&id, request, options.common).await.map(|()| 0)
        }
        (None, None) => unreachable!("clap requires one of them"),
    }
}

/// Prints the advice before the release, as far as the lock can be read. The release itself reports
/// why it is not possible.
async fn print_advice(
    standalone: &Standalone,
    id: &LockId,
    fingerprint: &Fingerprint,
) -> Result<(), Failure> {
    let (operations, principal) = (&standalone.operations, &standalone.principal);
    let Ok(lock) = operations.inspect(principal, id).await else {
        return Ok(());
    };
    let mut owners = lock.owners.iter();
    if !owners.any(|owner| owner.fingerprint == *fingerprint) {
        return Ok(());
    }
    let advice = operations.release_advice(principal, &lock, Some(fingerprint));
    let Ok(advice) = advice.await else {
        return Ok(());
    };
    let page = TextFormat::for_stdout();
    print_stdout(&(page.fields(&advice_fields(page, &advice)) + "\n"))
}

async fn release_one(
    id: &LockId,
    request: ForceReleaseRequest<'_>,
    common: CommonArgs,
) -> Result<(), Failure> {
    let fingerprint = request.fingerprint;
    let standalone = Standalone::start(common.source, Some(&id.group))?;
    standalone.wait_for_all_nodes().await;
    if !common.json {
        print_advice(&standalone, id, fingerprint).await?;
    }
    let released = standalone
        .operations
        .force_release(&standalone.principal, id, request)
        .await
        .map_err(lock_failure(id))?;
    if common.json {
        let observed_after = released.observed_after.as_ref();
        return print_stdout(&json_line(&json!({
            "outcome": "released",
            "nodes": released.nodes,
            "at": released.at,
            "observed_after": observed_after.map(|lock| lock.nodes.as_slice()).unwrap_or_default(),
        })));
    }
    let mut fields = release_fields(id, &released);
    fields.insert(1, ("owner", text::escape_invisible(fingerprint.as_str())));
    let after = match &released.observed_after {
        None => "not observed on any node that replied".to_owned(),
        Some(lock) => text::escape_invisible(&lock.verdict_sentence()),
    };
    fields.push(("afterwards", after));
    fields.push((
        "note",
        "this does not stop the process that believes it holds the lock".to_owned(),
    ));
    print_stdout(&TextFormat::for_stdout().fields(&fields))
}
