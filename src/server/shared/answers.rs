//! Acts that are done once for all consoles: who does it claims it first, and what came of it is kept sealed.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use super::{Gone, OurScript, Shared};

static CLAIM: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/claim.lua")));
static ANSWER: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/answer.lua")));

/// What became of a claim.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is to be done here.
    Mine,
    /// Another console does it.
    Running,
    /// The same key stands for another request.
    Another,
    /// It was done, with this answer.
    Answered(Vec<u8>),
}

impl Shared {
    /// Claims an act for so long, or tells what became of it. Claiming again what is claimed here makes it longer.
    pub async fn claim(
        &self,
        act: &str,
        request: &str,
        by: &str,
        lasts: Duration,
    ) -> Result<Claim, Gone> {
        let (key, lasts) = (self.key("answer", act), lasts.as_millis().to_string());
        let told: Vec<Vec<u8>> = self
            .run(
                &CLAIM,
                &[&key],
                &[request.as_bytes(), by.as_bytes(), lasts.as_bytes()],
            )
            .await?;
        let mut told = told.into_iter();
        Ok(match told.next().as_deref() {
            Some(b"mine") => Claim::Mine,
            Some(b"another") => Claim::Another,
            Some(b"answered") => Claim::Answered(told.next().unwrap_or_default()),
            _ => Claim::Running,
        })
    }

    /// Keeps the answer for so long, or, where there is none, gives the claim back.
    pub async fn settle(
        &self,
        act: &str,
        request: &str,
        by: &str,
        answer: Option<(&[u8], Duration)>,
    ) -> Result<(), Gone> {
        let (sealed, lasts) = answer.unwrap_or_default();
        let lasts = lasts.as_millis().max(1).to_string();
        let key = self.key("answer", act);
        let arguments = [request.as_bytes(), by.as_bytes(), sealed, lasts.as_bytes()];
        self.run(&ANSWER, &[&key], &arguments).await
    }
}
