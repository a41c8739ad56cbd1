//! Attempts to sign in and paces of clients, counted for all consoles together.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use super::{Gone, OurScript, Shared};

static ATTEMPT: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/attempt.lua")));
static PACE: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/pace.lua")));

/// How attempts slow down.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// So many attempts on one account from one place are free.
    pub free_for_account: u32,
    /// So many of one network.
    pub free_for_network: u32,
    /// So many on one account from everywhere.
    pub free_from_everywhere: u32,
    /// The longest wait.
    pub longest_wait: Duration,
    /// The longest that an attempt is held up.
    pub longest_delay: Duration,
    /// After so long without an attempt, all is forgotten.
    pub forgotten: Duration,
}

/// Who tries.
#[derive(Clone, Debug)]
pub struct Tries {
    /// The account.
    pub account: String,
    /// From which network.
    pub network: String,
    /// The browser, where the account was signed in to with it before.
    pub known_browser: Option<String>,
}

impl Shared {
    /// One more attempt: how long to wait for it, and for how long it is held up. It counts as failed until it is told to have
    /// succeeded.
    pub async fn attempt(&self, tries: &Tries, rules: Rules) -> Result<(Duration, Duration), Gone> {
        self.attempted(tries, rules, false).await
    }

    /// It was the right password.
    pub async fn attempt_succeeded(&self, tries: &Tries, rules: Rules) -> Result<(), Gone> {
        self.attempted(tries, rules, true).await?;
        Ok(())
    }

    async fn attempted(
        &self,
        tries: &Tries,
        rules: Rules,
        succeeded: bool,
    ) -> Result<(Duration, Duration), Gone> {
        let salt: String = format!("{:032x}", rand::random::<u128>());
        let [of_account, of_network, from_everywhere] = [
            rules.free_for_account,
            rules.free_for_network,
            rules.free_from_everywhere,
        ]
        .map(|free| free.to_string());
        let [wait, delay, forgotten] = [rules.longest_wait, rules.longest_delay, rules.forgotten]
            .map(|span| span.as_millis().to_string());
        let (wait, delay): (u64, u64) = self
            .run(
                &ATTEMPT,
                &[&self.key("salt", "attempts")],
                &[
                    salt.as_bytes(),
                    tries.account.as_bytes(),
                    tries.network.as_bytes(),
                    tries
                        .known_browser
                        .as_deref()
                        .unwrap_or_default()
                        .as_bytes(),
                    of_account.as_bytes(),
                    of_network.as_bytes(),
                    from_everywhere.as_bytes(),
                    wait.as_bytes(),
                    delay.as_bytes(),
                    forgotten.as_bytes(),
                    self.key("attempts", "").as_bytes(),
                    if succeeded { b"1" } else { b"0" },
                ],
            )
            .await?;
        Ok((Duration::from_millis(wait), Duration::from_millis(delay)))
    }

    /// One more request of a client, or how long to wait for it.
    pub async fn pace(&self, client: &str, per_second: u32) -> Result<Duration, Gone> {
        let key = self.key("pace", client);
        let per_second = per_second.to_string();
        let wait: u64 = self.run(&PACE, &[&key], &[per_second.as_bytes()]).await?;
        Ok(Duration::from_millis(wait))
    }
}
