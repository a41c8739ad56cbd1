//! Runs operations directly on the nodes, without a running console.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::ConfigSource;
use super::{Failure, identity, output};
use crate::domain::{LockId, OperationError};
use crate::server::access::Principal;
use crate::server::audit::AuditLog;
use crate::server::clock::Clock;
use crate::server::config::{AuditConfig, GroupConfig, StorageConfig};
use crate::server::index::Index;
use crate::server::operations::Operations;
use crate::server::prefixes::PrefixStore;
use crate::server::storage::{Storage, StorageError};
use crate::server::stores::redis::restarts::RestartFile;
use crate::server::stores::{Group, GroupOptions, Observations};

/// How long the storage may delay a command that works without it.
const MAX_STORAGE_WAIT: Duration = Duration::from_secs(2);
/// How long background work may delay the end of a command.
const MAX_BACKGROUND_WAIT: Duration = Duration::from_millis(300);

/// The operations on the groups of a command.
pub struct Standalone {
    pub operations: Arc<Operations>,
    /// The user who runs the command.
    pub principal: Principal,
    pub groups: Vec<Arc<Group>>,
    audit: AuditLog,
    /// The storage, if it exists.
    pub storage: Option<Storage>,
    /// The restart history of nodes, shared with the console.
    pub restarts: Option<RestartFile>,
    /// The listen address of the console, if it accepts passwords and tokens unencrypted.
    pub cleartext_address: Option<SocketAddr>,
    /// The warnings of the configuration.
    pub warnings: Vec<String>,
}

impl Standalone {
    /// Starts all groups of the configuration, or only the named one.
    pub fn start(source: ConfigSource, group: Option<&str>) -> Result<Self, Failure> {
        let config = source.load()?;
        let cleartext_address = config.exposes_credentials().then_some(config.listen);
        let audit = config.audit.for_command_line(&config.storage);
        let mut configs = config.groups;
        if let Some(name) = group {
            let known: Vec<String> = configs.iter().map(|group| group.name.clone()).collect();
            configs.retain(|config| config.name == name);
            if configs.is_empty() {
                let error = OperationError::UnknownGroup {
                    group: name.to_owned(),
                };
                return Err(Failure::from(&error)
                    .with_advice(format!("The configuration has: {}.", known.join(", "))));
            }
        }
        Ok(Self {
            cleartext_address,
            warnings: config.warnings,
            ..Self::from_parts(configs, &audit, &config.storage, config.restarts_file)
        })
    }

    fn from_parts(
        configs: Vec<GroupConfig>,
        audit: &AuditConfig,
        storage: &StorageConfig,
        restarts: Option<PathBuf>,
    ) -> Self {
        let (clock, stop) = (Clock::system(), CancellationToken::new());
        let restarts = restarts.map(|path| RestartFile::new(path, clock.clone()));
        let history = restarts.as_ref().map(RestartFile::load);
        // The age of the configuration is unknown here, so its history is not used to detect new
        // nodes.
        let history = history.unwrap_or_default().ignoring_membership();
        let start = |config| {
            let options = GroupOptions {
                closing: stop.clone(),
                stop: stop.clone(),
                history: history.clone(),
                observations: Observations::default(),
            };
            Group::start(config, options, clock.clone())
        };
        let groups: Vec<Arc<Group>> = configs.into_iter().map(start).collect();
        let storage_exists = storage.url.path().is_none_or(|path| path.exists());
        let storage = Storage::new(storage, false);
        let audit = AuditLog::new(audit, storage.clone(), clock.clone());
        let index = Index::without_watchers(&groups, clock, &stop, &TaskTracker::new());
        Self {
            operations: Arc::new(Operations::new(groups.clone(), index, audit.clone())),
            audit,
            principal: Principal::command_line(identity::user_at_host()),
            groups,
            storage: storage_exists.then_some(storage),
            restarts,
            cleartext_address: None,
            warnings: Vec::new(),
        }
    }

    /// Waits for the first connection attempt to every node, at most `connect_timeout`. For
    /// operations that should reach all nodes.
    pub async fn wait_for_all_nodes(&self) {
        for group in &self.groups {
            group.wait_for_first_attempts().await;
        }
    }

    /// Applies what admins decided about prefixes, if the storage exists: locks with an excluded
    /// prefix are not listed.
    ///
    /// # Errors
    /// The storage cannot be read in time. Prefixes of the remaining groups are not excluded then.
    pub async fn load_prefix_settings(&self) -> Result<(), StorageError> {
        let Some(storage) = self.storage.clone() else {
            return Ok(());
        };
        let store = PrefixStore::new(storage);
        let loading = async {
            for group in &self.groups {
                let settings = store.load_settings(&group.config.name).await?;
                group.prefixes().add_stored(settings);
            }
            Ok(())
        };
        let timed_out =
            |_| StorageError::Unavailable(format!("no reply within {MAX_STORAGE_WAIT:?}"));
        timeout(MAX_STORAGE_WAIT, loading)
            .await
            .map_err(timed_out)?
    }

    /// Waits until a quorum of nodes is up, or every node was tried. A hanging node then causes no
    /// delay.
    ///
    /// Otherwise the connection time would count towards the node timeout, which is a share of the
    /// lease.
    pub async fn wait_for_quorum(&self) {
        for group in &self.groups {
            group.wait_for_quorum().await;
        }
    }

    /// Waits briefly for background work such as rollbacks, because the runtime ends with the
    /// command. A lock that a failed acquire left on a node would block other clients until its
    /// lease expires.
    pub async fn finish_background_work(&self) {
        let cleanup_jobs = self.groups.iter().map(|group| group.cleanup_tasks().wait());
        let _timed_out = timeout(MAX_BACKGROUND_WAIT, join_all(cleanup_jobs)).await;
        self.audit.flush().await;
    }
}

/// Converts the error of an operation on a lock into a failure.
pub fn lock_failure(id: &LockId) -> impl Fn(OperationError) -> Failure {
    move |error| output::Failure::for_lock(&error, id)
}
