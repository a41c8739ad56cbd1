//! Where a node is, and what is presented to it there. Both may change while the console runs: a primary behind sentinels is
//! another server after a failover, and files with secrets are read for every connection.

use parking_lot::{Mutex, MutexGuard};
use redis::{ConnectionAddr, ConnectionInfo};
use tokio::sync::watch;

use super::trouble::Trouble;
use crate::domain::{GroupKind, NodeState};
use crate::server::config::{Files, GroupConfig, NodeConfig, RedisUrl};

/// How a node is reached.
pub(super) struct Reach {
    place: Mutex<Place>,
    is_known: watch::Sender<bool>,
    follows_sentinels: bool,
}

struct Place {
    config: NodeConfig,
    /// Why it is not known where the node is, if it is not.
    unknown: Option<String>,
}

impl Reach {
    /// As the configuration says; behind sentinels that is only a name.
    pub(super) fn new(config: NodeConfig, group: &GroupConfig) -> Self {
        let is_sought = group.kind == GroupKind::Sentinel;
        let unknown = is_sought.then(|| "no sentinel has told yet where the primary is".to_owned());
        Self {
            place: Mutex::new(Place { config, unknown }),
            is_known: watch::Sender::new(!is_sought),
            follows_sentinels: is_sought,
        }
    }

    /// Where it is, without credentials.
    pub(super) fn address(&self) -> String {
        let place = self.locked();
        match (&place.unknown, place.config.url.host()) {
            (Some(_), Some(name)) => name.to_owned(),
            (Some(_) | None, _) => place.config.url.address(),
        }
    }

    /// Whether sentinels say where it is.
    pub(super) fn follows_sentinels(&self) -> bool {
        self.follows_sentinels
    }

    /// Waits until it is known where the node is.
    pub(super) async fn is_known(&self) {
        let mut is_known = self.is_known.subscribe();
        drop(is_known.wait_for(|is_known| *is_known).await);
    }

    /// Its host; nothing for a socket of this machine.
    pub(super) fn host(&self) -> Option<String> {
        self.locked().config.url.host().map(str::to_owned)
    }

    /// Its host and port; nothing for a socket of this machine.
    pub(super) fn endpoint(&self) -> Option<(String, u16)> {
        match self.locked().config.url.connection().addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Some((host.clone(), *port))
            }
            _ => None,
        }
    }

    /// The address of the replica that is read from, if there is one.
    pub(super) fn reads_from(&self) -> Option<String> {
        let place = self.locked();
        place.config.read_from.as_ref().map(RedisUrl::address)
    }

    /// Who we are there.
    pub(super) fn acl_user(&self) -> String {
        let place = self.locked();
        let settings = place.config.url.connection().redis_settings();
        settings.username().unwrap_or("default").to_owned()
    }

    /// The number of its database.
    pub(super) fn database(&self) -> i64 {
        self.locked().config.url.database()
    }

    /// Everything needed to connect.
    pub(super) async fn info(&self) -> Result<ConnectionInfo, Trouble> {
        self.with_files(NodeConfig::connection).await
    }

    /// The same for the replica that is read from; nothing where the node itself is.
    pub(super) async fn reading_info(&self) -> Option<Result<ConnectionInfo, Trouble>> {
        let has_one = self.locked().config.read_from.is_some();
        if !has_one {
            return None;
        }
        let read = |config: &NodeConfig| {
            let reading = config.reading_connection();
            reading.unwrap_or_else(|| config.connection())
        };
        Some(self.with_files(read).await)
    }

    /// Notes where the node is now. The address where it was until then, if it was known and is another.
    pub(super) fn is_at(&self, host: &str, port: u16) -> Moved {
        let mut place = self.locked();
        let there = place.config.at(host, port);
        let (before, now) = (place.config.url.address(), there.url.address());
        let was_unknown = place.unknown.take().is_some();
        place.config = there;
        drop(place);
        self.is_known.send_replace(true);
        match (was_unknown, before == now) {
            (true, _) => Moved::Found,
            (false, true) => Moved::No,
            (false, false) => Moved::From(before),
        }
    }

    /// Notes why it is not known where the node is, unless it is.
    pub(super) fn is_not_known(&self, why: String) {
        let mut place = self.locked();
        if place.unknown.is_some() {
            place.unknown = Some(why);
        }
    }

    async fn with_files(
        &self,
        read: impl FnOnce(&NodeConfig) -> Result<ConnectionInfo, String> + Send + 'static,
    ) -> Result<ConnectionInfo, Trouble> {
        let config = {
            let place = self.locked();
            if let Some(why) = &place.unknown {
                return Err(Trouble::down(why.clone()));
            }
            place.config.clone()
        };
        let has_files = config.files != Files::default();
        let info = if has_files {
            // A file may be on a disk that is away.
            let reading = tokio::task::spawn_blocking(move || read(&config));
            reading
                .await
                .unwrap_or_else(|why| Err(format!("its files could not be read: {why}")))
        } else {
            read(&config)
        };
        let info = info.map_err(|reason| Trouble {
            state: NodeState::Refused,
            reason,
        })?;
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        Ok(info.set_tcp_settings(tcp))
    }

    fn locked(&self) -> MutexGuard<'_, Place> {
        self.place.lock()
    }
}

/// What became of a node when it was told where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// It is where it was.
    No,
    /// That was not known before.
    Found,
    /// It was at this address.
    From(String),
}
