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
    /// So many attempts on one account are free.
    pub free_for_account: u32,
    /// So many of one address.
    pub free_for_address: u32,
    /// The longest wait.
    pub longest_wait: Duration,
    /// After so long without an attempt, all is forgotten.
    pub forgotten: Duration,
}

impl Shared {
    /// One more attempt, or how long to wait. It counts as failed until it is told to have succeeded.
    pub async fn attempt(
        &self,
        account: &str,
        address: &str,
        rules: Rules,
    ) -> Result<Duration, Gone> {
        self.attempted(account, address, rules, false).await
    }

    /// It was the right password.
    pub async fn attempt_succeeded(
        &self,
        account: &str,
        address: &str,
        rules: Rules,
    ) -> Result<(), Gone> {
        self.attempted(account, address, rules, true).await?;
        Ok(())
    }

    async fn attempted(
        &self,
        account: &str,
        address: &str,
        rules: Rules,
        succeeded: bool,
    ) -> Result<Duration, Gone> {
        let salt: String = format!("{:032x}", rand::random::<u128>());
        let [account_free, address_free] =
            [rules.free_for_account, rules.free_for_address].map(|free| free.to_string());
        let [longest, forgotten] =
            [rules.longest_wait, rules.forgotten].map(|span| span.as_millis().to_string());
        let wait: u64 = self
            .run(
                &ATTEMPT,
                &[&self.key("salt", "attempts")],
                &[
                    salt.as_bytes(),
                    account.as_bytes(),
                    address.as_bytes(),
                    account_free.as_bytes(),
                    address_free.as_bytes(),
                    longest.as_bytes(),
                    forgotten.as_bytes(),
                    self.key("attempts", "").as_bytes(),
                    if succeeded { b"1" } else { b"0" },
                ],
            )
            .await?;
        Ok(Duration::from_millis(wait))
    }

    /// One more request of a client, or how long to wait for it.
    pub async fn pace(&self, client: &str, per_second: u32) -> Result<Duration, Gone> {
        let key = self.key("pace", client);
        let per_second = per_second.to_string();
        let wait: u64 = self.run(&PACE, &[&key], &[per_second.as_bytes()]).await?;
        Ok(Duration::from_millis(wait))
    }
}
