//! Starts the server, runs it, and shuts it down.
//!
//! Shutdown has two steps. `stop` closes the listener and ends event streams and waiting
//! acquires. `close_nodes` closes the connections to the nodes, after pending rollbacks and
//! releases were sent.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::access::{AccessControl, Principal};
use super::audit::AuditLog;
use super::clock::Clock;
use super::config::{Config, LimitsConfig, StorageConfig};
use super::connections::{self, GRACE_PERIOD};
use super::history::{HistoryReader, Recorder};
use super::index::Index;
use super::limits::RequestLimits;
use super::operations::Operations;
use super::operations::idempotency::IdempotencyStore;
use super::prefixes::{self, PrefixStore};
use super::reload::{GroupManager, GroupRuntime};
use super::state::{AppHandles, AppState};
use super::storage::{Storage, delete_expired};
use super::stores::redis::restarts::{self, RestartFile};
use super::team_views::TeamViewStore;
use super::tls::ServerTls;
use super::webhooks::Webhooks;
use super::{default_leptos_options, router};
use crate::domain::LockId;

/// How often the principals of renewed locks are checked for revoked permissions.
const REVOCATION_INTERVAL: Duration = Duration::from_secs(1);

/// Serves the console and the API on `listener` until `stop` is cancelled, then shuts down.
pub async fn serve(
    listener: TcpListener,
    config: Config,
    clock: Clock,
    stop: CancellationToken,
) -> io::Result<()> {
    let limits = config.limits.clone();
    let tls = config.tls.clone().map(ServerTls::new).transpose();
    let tls = tls.map_err(io::Error::other)?;
    let encryption = tls.as_ref().map(ServerTls::config);
    let server = Server::start(config, clock, stop);
    if let Some(tls) = tls {
        server.spawn_until_stop(tls.reload_on_change());
    }
    server.serve_requests(listener, encryption, &limits).await?;
    server.shut_down().await;
    Ok(())
}

/// The running server and its tasks.
struct Server {
    state: AppState,
    audit: AuditLog,
    webhooks: Webhooks,
    stop: CancellationToken,
    close_nodes: CancellationToken,
    tasks: TaskTracker,
    /// Removed groups that still have running operations or cleanup jobs.
    draining: TaskTracker,
    /// Closes the connections to nodes also if the server ends with an error.
    _close_nodes_on_drop: DropGuard,
}

impl Server {
    /// Creates all components and starts their tasks.
    fn start(config: Config, clock: Clock, stop: CancellationToken) -> Self {
        warn_about_cleartext(&config);
        let storage = Storage::new(&config.storage, true);
        let audit = AuditLog::new(&config.audit, storage.clone(), clock.clone());
        let access = AccessControl::new(
            &config.access,
            config.listen.ip(),
            &storage,
            clock.clone(),
            audit.clone(),
        );
        let (tasks, draining) = (TaskTracker::new(), TaskTracker::new());
        let close_nodes = CancellationToken::new();
        let restart_file = config
            .restarts_file
            .map(|path| RestartFile::new(path, clock.clone()));
        let manager = GroupManager::start(
            config.groups,
            GroupRuntime {
                clock: clock.clone(),
                stop: stop.clone(),
                close_nodes: close_nodes.clone(),
                tasks: tasks.clone(),
                draining: draining.clone(),
                restart_file: restart_file.clone(),
            },
        );
        let groups = manager.groups();
        let index = Index::without_watchers(&groups, clock.clone(), &stop, &tasks);
        let recorder = Recorder::new(&index, storage.clone(), clock.clone(), &config.storage);
        manager.watch_all(&index);
        let webhooks = Webhooks::new(config.webhooks);
        webhooks.start(&index, &clock, &stop, &tasks);
        let audit_webhooks = webhooks.clone();
        let prefix_store = PrefixStore::new(storage.clone());
        let operations = Operations::new(groups, index, audit.clone())
            .with_webhooks(webhooks)
            .with_prefix_store(prefix_store.clone())
            .with_team_views(TeamViewStore::new(storage.clone()))
            .with_history(
                HistoryReader::new(storage.clone()).with_made_up_until(config.made_up_until),
            );
        let state = AppState::from(AppHandles {
            leptos: default_leptos_options(),
            operations: Arc::new(operations),
            access,
            idempotency: IdempotencyStore::new(
                config.limits.idempotency_cache_size,
                storage.clone(),
                clock.clone(),
            ),
            limits: Arc::new(RequestLimits::new(config.limits)),
            stop: stop.clone(),
        });
        let collectors = [state.access.collector()];
        state.operations.telemetry().register(collectors);
        let server = Self {
            state,
            audit,
            webhooks: audit_webhooks,
            stop,
            _close_nodes_on_drop: close_nodes.clone().drop_guard(),
            close_nodes,
            tasks,
            draining,
        };
        server.start_tasks(restart_file);
        let operations = Arc::clone(&server.state.operations);
        let stop = server.close_nodes.clone();
        let sync = prefixes::sync_prefixes(prefix_store, operations, stop);
        server.tasks.spawn(sync);
        if let Some(recorder) = recorder {
            let recording = recorder.run(server.close_nodes.clone());
            server.tasks.spawn(recording);
        }
        server.start_audit_tasks(config.storage);
        server.spawn_until_stop(delete_expired(storage, clock));
        if let Some(reloads) = config.reloads {
            server.spawn_until_stop(manager.apply_reloads(server.state.clone(), reloads));
        }
        server
    }

    /// Starts the tasks of the audit log: the startup check, head reports and retention.
    fn start_audit_tasks(&self, config: StorageConfig) {
        let (reporter, retention) = (self.audit.clone(), self.audit.clone());
        let webhooks = self.webhooks.clone();
        self.spawn_until_stop(async move {
            reporter.check_storage().await;
            reporter.report_heads(&webhooks).await;
        });
        self.spawn_until_stop(async move { retention.run_retention(&config).await });
    }

    /// Starts the background tasks.
    fn start_tasks(&self, restart_file: Option<RestartFile>) {
        let (state, audit) = (self.state.clone(), self.audit.clone());
        if let Some(restart_file) = restart_file {
            let operations = Arc::clone(&state.operations);
            self.tasks.spawn(restarts::sync_restart_file(
                restart_file,
                move || operations.running_groups(),
                self.close_nodes.clone(),
            ));
        }
        let operations = Arc::clone(&state.operations);
        self.spawn_until_stop(async move { operations.close_orphaned_operations().await });
        let operations = Arc::clone(&state.operations);
        self.spawn_until_stop(async move { operations.sample_trends().await });
        self.spawn_until_stop(async move { audit.flush_counted_rejections().await });
        let provider_state = state.clone();
        self.spawn_until_stop(async move { provider_state.access.discover_provider().await });
        self.spawn_until_stop(stop_renewing_for_revoked(state));
    }

    /// Spawns a task that is dropped when the server starts to shut down.
    fn spawn_until_stop<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(stop.run_until_cancelled_owned(task));
    }

    /// Serves requests until `stop` is cancelled.
    async fn serve_requests(
        &self,
        listener: TcpListener,
        encryption: Option<axum_server::tls_rustls::RustlsConfig>,
        limits: &LimitsConfig,
    ) -> io::Result<()> {
        let state = self.state.clone();
        let is_proxy = move |address: IpAddr| state.access.is_trusted_proxy(address);
        let router = router(self.state.clone());
        connections::serve(listener, encryption, router, limits, is_proxy, &self.stop).await
    }

    /// Shuts down: waits for rollbacks and releases to reach the nodes, then closes the
    /// connections and flushes the audit log.
    async fn shut_down(self) {
        self.draining.close();
        let groups = self.state.operations.running_groups();
        let cleanup = join_all(groups.iter().map(|group| group.cleanup_tasks().wait()));
        let pending = async { tokio::join!(cleanup, self.draining.wait()) };
        if timeout(GRACE_PERIOD, pending).await.is_err() {
            tracing::warn!(
                "some releases did not reach their node within the shutdown grace period; those locks expire with their lease"
            );
        }
        // Only now: cleanup jobs need the connections.
        self.close_nodes.cancel();
        self.tasks.close();
        // Tasks end the next time they check `stop`. A task that hangs on an unresponsive node
        // is not waited for.
        let _late = timeout(GRACE_PERIOD, self.tasks.wait()).await;
        // Last, because operations that end during shutdown still write entries.
        self.audit.flush().await;
        self.audit.report_final_head(&self.webhooks).await;
    }
}

fn warn_about_cleartext(config: &Config) {
    if config.exposes_credentials() {
        tracing::warn!(
            "passwords and tokens are sent unencrypted to {}. Set `tls_certificate_file` and `tls_key_file`, or listen on \
             127.0.0.1 behind a TLS-terminating proxy",
            config.listen
        );
    }
}

/// Stops the auto-renewal of locks whose principal lost its token or permission.
async fn stop_renewing_for_revoked(state: AppState) {
    let mut tick = interval(REVOCATION_INTERVAL);
    // After a suspend of the machine one check is enough.
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let is_revoked =
            |principal: &Principal, id: &LockId| !state.access.can_still_renew(principal, id);
        state.operations.revoke_renewals(is_revoked);
    }
}
