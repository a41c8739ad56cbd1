//! `lockkeeper force-release`: frees somebody else's lock, if its owner is still the one that was seen.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::answer::{document, show};
use super::direct::{Direct, failed};
use super::options::{Straight, Which};
use super::release::facts;
use super::text::Page;
use super::{Failure, documents, text};
use crate::domain::{Fingerprint, Lock, LockId, SeenHold};
use crate::server::operations::ForceRelease;

/// What `force-release` is told.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    which: Which,
    /// The fingerprint of the owner as `show` or `list` gave it: anybody else is left alone.
    #[arg(long, value_name = "FINGERPRINT", value_parser = fingerprint)]
    fingerprint: Fingerprint,
    /// Why the lock is broken; it is logged.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The lock's name once more: needed where the group's environment is production, and where a release of that format does harm.
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    /// The lock as `show --json` wrote it; `-` is standard input. Refused if its owner renewed, entered or acquired it again
    /// since, where its bytes alone do not tell that.
    #[arg(long, value_name = "FILE")]
    seen: Option<PathBuf>,
    #[command(flatten)]
    straight: Straight,
}

impl Options {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    Fingerprint::parse(text).ok_or_else(|| "a fingerprint is 16 hex digits".to_owned())
}

/// The hold that a lock showed. When it began is nothing that this process could compare with: it has seen nothing before.
fn seen(lock: &Lock, id: &LockId, fingerprint: &Fingerprint) -> Result<SeenHold, Failure> {
    if lock.id != *id {
        return Err(Failure::unusable("--seen is about another lock"));
    }
    let mut owners = lock.owners.iter();
    let owner = owners.find(|owner| owner.fingerprint == *fingerprint);
    let owner = owner.ok_or_else(|| {
        Failure::unusable("in --seen the lock has no owner with that --fingerprint")
    })?;
    Ok(SeenHold {
        acquired_at: None,
        expires_at: lock.lease.expires_at(),
        holds: owner.holds,
    })
}

pub async fn run(options: Options) -> Result<(), Failure> {
    let id = options.which.id(&options.straight.nodes)?;
    let seen = match &options.seen {
        Some(path) => {
            let lock = documents::read(path, "a lock as `show --json` writes it")?;
            seen(&lock, &id, &options.fingerprint)?
        }
        None => SeenHold::default(),
    };
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    direct.all_tried().await;
    let (fingerprint, confirm) = (&options.fingerprint, options.confirm.as_deref());
    let operations = &direct.operations;
    let request = ForceRelease {
        fingerprint,
        seen,
        reason: &options.reason,
        confirm,
    };
    let released = operations.force_release(&direct.actor, &id, request);
    let released = released.await.map_err(failed(&id))?;
    if options.straight.json {
        let seen_after = released.seen_after.as_ref();
        return show(&document(&json!({
            "outcome": "released",
            "nodes": released.nodes,
            "at": released.at,
            "seen_after": seen_after.map(|lock| lock.nodes.as_slice()).unwrap_or_default(),
        })));
    }
    let mut facts = facts(&id, &released);
    facts.insert(1, ("owner", text::visible(fingerprint.as_str())));
    let after = match &released.seen_after {
        None => "not observed on any node that answered".to_owned(),
        Some(lock) => text::visible(&lock.sentence()),
    };
    facts.push(("afterwards", after));
    facts.push((
        "mind",
        "this does not stop the process that believes it holds the lock".to_owned(),
    ));
    show(&Page::of_stdout().facts(&facts))
}
