//! Reads the configuration again: when HUP comes, and when its file is another one. With a mistake in it, everything stays as it
//! was, the log says why, and so does the page until it is mended.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::openness::Openness;
use super::options::Nodes;
use super::signals::Signals;
use crate::server::config::{Config, Later};

/// How often the file is looked at. It is read whole and compared: that finds what editors, links and mounted secrets do alike,
/// where being told of changes misses some.
const EVERY: Duration = Duration::from_secs(2);

/// Who reads it again.
pub struct Reader {
    /// Where it is read from.
    pub nodes: Nodes,
    /// The command line has every act refused.
    pub read_only: bool,
    /// Whom the command line lets in.
    pub openness: Openness,
    /// What the console was started with.
    pub began_with: Config,
    /// Told what is to hold.
    pub tell: watch::Sender<Later>,
}

impl Reader {
    /// Reads again whenever there is a reason to, for as long as the console runs.
    pub async fn follow(self, mut hangup: Signals) {
        let path = self.nodes.path();
        let mut known = read(path.clone()).await;
        loop {
            let is_asked = tokio::select! {
                _ = hangup.next() => true,
                () = sleep(EVERY) => false,
            };
            let now = read(path.clone()).await;
            // A file that is being replaced may be missing for a moment.
            let is_another = now.is_some() && now != known;
            if is_asked || is_another {
                known = now.or(known);
                self.read_again();
            }
        }
    }

    fn read_again(&self) {
        let was_open = self.began_with.access.is_open();
        match self.nodes.clone().read_again(was_open) {
            Ok(mut config) => {
                if self.read_only {
                    config.refuse_acts();
                }
                self.openness.apply(&mut config);
                for warning in &config.warnings {
                    tracing::warn!("{warning}");
                }
                let waits = self.began_with.waits_for_a_restart(&config);
                if !waits.is_empty() {
                    tracing::warn!(
                        "what the configuration says of {} now holds when the console is started again",
                        waits.join(", ")
                    );
                }
                tracing::info!("the configuration was read again");
                self.tell.send_replace(Later::of(&config));
            }
            Err(why) => {
                tracing::error!("the configuration stays as it was: {why}");
                self.tell
                    .send_modify(|later| later.trouble = Some(why.to_string()));
            }
        }
    }
}

async fn read(path: Option<PathBuf>) -> Option<Vec<u8>> {
    let path = path?;
    tokio::task::spawn_blocking(|| std::fs::read(path).ok())
        .await
        .ok()?
}
