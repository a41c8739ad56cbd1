//! `lockkeeper extend`: renews a lease with the owner's token.

use std::time::Duration;

use clap::Args;

use super::Failure;
use super::answer::{acts, document, show};
use super::direct::{Direct, failed};
use super::options::{Straight, Which, millis, span};
use super::text::{self, Page};
use super::token::TokenSource;

/// What `extend` is told.
#[derive(Args)]
pub struct Extend {
    #[command(flatten)]
    which: Which,
    /// The new lease, from now: 500ms, 30s, 5m.
    #[arg(long, value_name = "SPAN", value_parser = span)]
    ttl: Duration,
    #[command(flatten)]
    token: TokenSource,
    #[command(flatten)]
    straight: Straight,
}

impl Extend {
    pub fn wants_json(&self) -> bool {
        self.straight.json
    }
}

pub async fn run(options: Extend) -> Result<(), Failure> {
    let (id, token) = (
        options.which.id(&options.straight.nodes)?,
        options.token.read()?,
    );
    let direct = Direct::start(options.straight.nodes, Some(&id.group))?;
    direct.all_tried().await;
    let ttl_ms = millis(options.ttl);
    let extended = direct
        .operations
        .extend(&direct.actor, &id, &token, ttl_ms)
        .await;
    let extended = extended.map_err(failed(&id))?;
    if options.straight.json {
        return show(&document(&extended));
    }
    let facts = [
        ("lock", text::name(&id.key)),
        (
            "valid for",
            format!(
                "{}, until {}",
                text::span(extended.validity_ms),
                extended.expires_at
            ),
        ),
        ("nodes", acts(&extended.nodes)),
    ];
    show(&Page::of_stdout().facts(&facts))
}
