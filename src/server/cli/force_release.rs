//! `lockkeeper force-release`: frees somebody else's lock, if its owner is still the one that was seen.

use clap::Args;

use super::answer::{document, show};
use super::direct::{Direct, failed};
use super::options::{Straight, Which};
use super::release::{as_json, facts};
use super::text::Page;
use super::{Failure, text};
use crate::domain::Fingerprint;

/// What `force-release` is told.
#[derive(Args)]
pub struct ForceRelease {
    #[command(flatten)]
    which: Which,
    /// The fingerprint of the owner as `show` or `list` gave it: anybody else is left alone.
    #[arg(long, value_name = "FINGERPRINT", value_parser = fingerprint)]
    fingerprint: Fingerprint,
    /// Why the lock is broken; it is logged.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The lock's name once more: needed where the group's environment is production.
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    #[command(flatten)]
    straight: Straight,
}

impl ForceRelease {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    Fingerprint::parse(text).ok_or_else(|| "a fingerprint is 16 hex digits".to_owned())
}

pub async fn run(options: ForceRelease) -> Result<(), Failure> {
    let id = options.which.id()?;
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    direct.all_tried().await;
    let (fingerprint, confirm) = (&options.fingerprint, options.confirm.as_deref());
    let operations = &direct.operations;
    let released = operations.force_release(&id, fingerprint, &options.reason, confirm);
    let released = released.await.map_err(failed(&id))?;
    if options.straight.json {
        return show(&document(&as_json(&released)));
    }
    let mut facts = facts(&id, &released);
    facts.insert(1, ("owner", text::visible(fingerprint.as_str())));
    facts.push((
        "mind",
        "this does not stop the process that believes it holds the lock".to_owned(),
    ));
    show(&Page::of_stdout().facts(&facts))
}
