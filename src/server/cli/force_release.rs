//! `lockkeeper force-release`: frees somebody else's lock, if its owner is still the one that was seen.

use clap::Args;
use serde_json::json;

use super::answer::{document, show};
use super::direct::{Direct, failed};
use super::options::{Straight, Which};
use super::release::facts;
use super::text::Page;
use super::{Failure, text};
use crate::domain::{Fingerprint, SeenHold};
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

pub async fn run(options: Options) -> Result<(), Failure> {
    let id = options.which.id()?;
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    direct.all_tried().await;
    let (fingerprint, confirm) = (&options.fingerprint, options.confirm.as_deref());
    let operations = &direct.operations;
    let request = ForceRelease {
        fingerprint,
        seen: SeenHold::default(),
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
