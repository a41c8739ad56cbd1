//! Reloads the configuration on SIGHUP and when the file changes. An invalid file is rejected: the
//! previous settings remain in effect, and the log and the console show the error until the file is
//! corrected.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::no_auth::NoAuthArgs;
use super::options::ConfigSource;
use super::signals::Signals;
use crate::server::config::{Config, ReloadableConfig};

/// How often the file is read and compared. Polling also detects replaced links and mounted
/// secrets, for which file notifications are not reliable.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Watches the configuration file.
pub struct ConfigWatcher {
    /// The source of the configuration.
    pub source: ConfigSource,
    /// Whether --read-only rejects all operations.
    pub read_only: bool,
    /// The options for a console without authentication.
    pub no_auth: NoAuthArgs,
    /// The configuration at startup.
    pub initial: Config,
    /// Receives the reloaded settings.
    pub reloads: watch::Sender<ReloadableConfig>,
}

impl ConfigWatcher {
    /// Watches the file until the console stops.
    pub async fn run(self, mut hangup: Signals) {
        let path = self.source.file_path();
        let mut known = read_bytes(path.clone()).await;
        loop {
            let is_requested = tokio::select! {
                _ = hangup.next() => true,
                () = sleep(POLL_INTERVAL) => false,
            };
            let current = read_bytes(path.clone()).await;
            // A file that is being replaced can be missing briefly.
            let is_changed = current.is_some() && current != known;
            if is_requested || is_changed {
                known = current.or(known);
                self.reload();
            }
        }
    }

    fn reload(&self) {
        let was_auth_disabled = self.initial.access.is_auth_disabled();
        match self.source.clone().reload(was_auth_disabled) {
            Ok(mut config) => {
                if self.read_only {
                    config.set_read_only();
                }
                self.no_auth.apply(&mut config);
                for warning in &config.warnings {
                    tracing::warn!("{warning}");
                }
                let deferred = self.initial.changed_fields_needing_restart(&config);
                if !deferred.is_empty() {
                    tracing::warn!(
                        "changes to {} take effect after a restart",
                        deferred.join(", ")
                    );
                }
                tracing::info!("configuration reloaded");
                self.reloads
                    .send_replace(ReloadableConfig::from_config(&config));
            }
            Err(why) => {
                tracing::error!(
                    "configuration not reloaded, the previous one remains in effect: {why}"
                );
                self.reloads
                    .send_modify(|reloaded| reloaded.error = Some(why.to_string()));
            }
        }
    }
}

async fn read_bytes(path: Option<PathBuf>) -> Option<Vec<u8>> {
    let path = path?;
    tokio::task::spawn_blocking(|| std::fs::read(path).ok())
        .await
        .ok()?
}
