//! Paces of clients, counted for all consoles together.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use super::{Gone, OurScript, Shared};

static PACE: OurScript = LazyLock::new(|| Script::new(include_str!("scripts/pace.lua")));

impl Shared {
    /// One more request of a client, or how long to wait for it.
    pub async fn pace(&self, client: &str, per_second: u32) -> Result<Duration, Gone> {
        let key = self.key("pace", client);
        let per_second = per_second.to_string();
        let wait: u64 = self.run(&PACE, &[&key], &[per_second.as_bytes()]).await?;
        Ok(Duration::from_millis(wait))
    }
}
