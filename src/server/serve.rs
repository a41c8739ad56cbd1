//! The life of the server: its parts are built, its tasks run, requests are answered, and at the end everything is brought to an end.
//!
//! It ends in two steps. `stop` ends what waits or goes on for ever: no connection is accepted any more, streams and waiting
//! acquires end. `last` ends the connections to the nodes, once they were told of what has to be taken back.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::access::{Access, Actor};
use super::audit::Audit;
use super::clock::Clock;
use super::config::{Config, LimitsConfig, StorageConfig};
use super::connections::{self, GRACE_PERIOD};
use super::index::Index;
use super::limits::Limits;
use super::operations::Operations;
use super::operations::idempotency::Repeats;
use super::reload::{How, Running};
use super::restarts::{self, RestartFile};
use super::state::{AppState, Handles};
use super::storage::{Storage, delete_expired};
use super::tls::ServerTls;
use super::webhooks::Webhooks;
use super::{leptos_options, router};
use crate::domain::LockId;

/// How often it is checked whether those still may have locks renewed for whom that is done.
const REVOCATION_INTERVAL: Duration = Duration::from_secs(1);

/// Serves console and API on `listener` until `stop` is cancelled; then ends every stream and task.
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
    let console = Console::start(config, clock, stop);
    if let Some(tls) = tls {
        console.until_stop(tls.follow());
    }
    console.answer(listener, encryption, &limits).await?;
    console.end().await;
    Ok(())
}

/// What runs.
struct Console {
    state: AppState,
    audit: Audit,
    webhooks: Webhooks,
    stop: CancellationToken,
    last: CancellationToken,
    /// Tasks that end with `stop`.
    tasks: TaskTracker,
    /// Groups that are gone, until nobody acts on them any more.
    leaving: TaskTracker,
    /// However this ends, the nodes are let go.
    _let_go: DropGuard,
}

impl Console {
    /// Builds the parts and starts their tasks.
    fn start(config: Config, clock: Clock, stop: CancellationToken) -> Self {
        warn_of_clear_text(&config);
        let storage = Storage::new(&config.storage, true);
        let audit = Audit::new(&config.audit, storage.clone(), clock.clone());
        let access = Access::new(
            &config.access,
            config.listen.ip(),
            &storage,
            clock.clone(),
            audit.clone(),
        );
        let (tasks, leaving) = (TaskTracker::new(), TaskTracker::new());
        let last = CancellationToken::new();
        let restarts = config
            .restarts
            .map(|path| RestartFile::new(path, clock.clone()));
        let running = Running::start(
            config.groups,
            How {
                clock: clock.clone(),
                stop: stop.clone(),
                last: last.clone(),
                tasks: tasks.clone(),
                leaving: leaving.clone(),
                restarts: restarts.clone(),
            },
        );
        let groups = running.groups();
        let index = Index::quiet(&groups, clock.clone(), &stop, &tasks);
        running.watch(&index);
        let webhooks = Webhooks::new(config.webhooks);
        webhooks.start(&index, &clock, &stop, &tasks);
        let heads = webhooks.clone();
        let operations = Operations::new(groups, index, audit.clone()).telling(webhooks);
        let state = AppState::from(Handles {
            leptos: leptos_options(),
            operations: Arc::new(operations),
            access,
            repeats: Repeats::new(
                config.limits.remembered_answers,
                storage.clone(),
                clock.clone(),
            ),
            limits: Arc::new(Limits::new(config.limits)),
            stop: stop.clone(),
        });
        let counted = [state.access.collector()];
        state.operations.telemetry().register(counted);
        let console = Self {
            state,
            audit,
            webhooks: heads,
            stop,
            _let_go: last.clone().drop_guard(),
            last,
            tasks,
            leaving,
        };
        console.start_tasks(restarts);
        console.watch_audit(config.storage);
        console.until_stop(delete_expired(storage, clock));
        if let Some(later) = config.later {
            console.until_stop(running.follow(console.state.clone(), later));
        }
        console
    }

    /// Checks the audit, tells where its chain stands and removes what is old.
    fn watch_audit(&self, config: StorageConfig) {
        let (told, old) = (self.audit.clone(), self.audit.clone());
        let webhooks = self.webhooks.clone();
        self.until_stop(async move {
            told.check_storage().await;
            told.tell_heads(&webhooks).await;
        });
        self.until_stop(async move { old.remove_old(&config).await });
    }

    /// Starts what is done beside answering requests.
    fn start_tasks(&self, restarts: Option<RestartFile>) {
        let (state, audit) = (self.state.clone(), self.audit.clone());
        if let Some(restarts) = restarts {
            let operations = Arc::clone(&state.operations);
            self.tasks
                .spawn(restarts::keep(restarts, operations, self.last.clone()));
        }
        let operations = Arc::clone(&state.operations);
        self.until_stop(async move { operations.close_what_was_left().await });
        self.until_stop(async move { audit.write_what_is_counted().await });
        let looking = state.clone();
        self.until_stop(async move { looking.access.look_at_provider().await });
        self.until_stop(stop_renewing_for_revoked(state));
    }

    /// Runs a task that is cut off when the server is told to stop.
    fn until_stop<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(stop.run_until_cancelled_owned(task));
    }

    /// Answers requests until `stop` is cancelled.
    async fn answer(
        &self,
        listener: TcpListener,
        encryption: Option<axum_server::tls_rustls::RustlsConfig>,
        limits: &LimitsConfig,
    ) -> io::Result<()> {
        let state = self.state.clone();
        let is_proxy = move |address: IpAddr| state.access.is_proxy(address);
        let router = router(self.state.clone());
        connections::serve(listener, encryption, router, limits, is_proxy, &self.stop).await
    }

    /// Brings to an end what was begun: what failed is taken back, and nodes are told of releases, before the connections to
    /// them end.
    async fn end(self) {
        self.leaving.close();
        let groups = self.state.operations.running_groups();
        let errands = join_all(groups.iter().map(|group| group.errands().wait()));
        let ending = async { tokio::join!(errands, self.leaving.wait()) };
        if timeout(GRACE_PERIOD, ending).await.is_err() {
            tracing::warn!(
                "some nodes were not told in time to release what is not held any more: it ends with its lease"
            );
        }
        self.last.cancel();
        self.tasks.close();
        // Tasks end at the next point where they look at `stop`; one that hangs in a dead node is not waited for.
        let _late = timeout(GRACE_PERIOD, self.tasks.wait()).await;
        self.audit.settle().await;
        self.audit.tell_last_head(&self.webhooks).await;
    }
}

fn warn_of_clear_text(config: &Config) {
    if config.is_in_clear() {
        tracing::warn!(
            "passwords and tokens cross the network unencrypted at {}: name `tls_certificate_file` and `tls_key_file`, or listen on \
             127.0.0.1 behind a proxy that ends TLS",
            config.listen
        );
    }
}

/// Ends the auto-renewal of locks whose owner's token or rights were revoked.
async fn stop_renewing_for_revoked(state: AppState) {
    let mut tick = interval(REVOCATION_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let is_out = |actor: &Actor, id: &LockId| !state.access.still_renews_for(actor, id);
        state.operations.stop_renewing_for(is_out);
    }
}
