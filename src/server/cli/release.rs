//! `lockkeeper release`: gives a lock back with the owner's token.

use clap::Args;
use serde_json::json;

use super::Failure;
use super::answer::{acts, document, show};
use super::direct::{Direct, failed};
use super::options::{Straight, Which};
use super::text::{self, Page};
use super::token::TokenSource;
use crate::domain::{LockId, Released};

/// What `release` is told.
#[derive(Args)]
pub struct Release {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    token: TokenSource,
    #[command(flatten)]
    straight: Straight,
}

impl Release {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

pub async fn run(options: Release) -> Result<(), Failure> {
    let (id, token) = (
        options.which.id(&options.straight.nodes)?,
        options.token.read()?,
    );
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    direct.all_tried().await;
    let released = direct.operations.release(&direct.actor, &id, &token).await;
    let released = released.map_err(failed(&id))?;
    show(&if options.straight.json {
        let mut told = json!({
            "outcome": released.outcome(),
            "nodes": released.nodes,
            "at": released.at,
        });
        if let Some(holds) = released.holds {
            told["holds"] = holds.into();
        }
        document(&told)
    } else {
        Page::of_stdout().facts(&facts(&id, &released))
    })
}

/// A release for people: what was done.
pub fn facts(id: &LockId, released: &Released) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("lock", text::name(&id.key)),
        ("nodes", acts(&released.nodes)),
    ];
    if let Some(holds) = released.holds {
        let still = format!("as often as it was entered: {holds} more");
        facts.push(("to be released", still));
    }
    facts
}
