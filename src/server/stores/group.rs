//! A group of locks: its configuration, its lifetime, and the store that the locks are kept in.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::LockPrefixes;
use super::etcd::Etcd;
use super::postgres::Postgres;
use super::redis::nodes::Group as RedisGroup;
use super::redis::nodes::leases::LeaseTracker;
use super::redis::nodes::restart_history::RestartHistory;
use super::service::Service;
use super::zookeeper::Zookeeper;
use crate::server::clock::Clock;
use crate::server::config::{GroupConfig, ServiceConfig};

/// A group of locks and its store.
pub struct Group {
    /// The group's configuration.
    pub config: GroupConfig,
    clock: Clock,
    stop: CancellationToken,
    closing: CancellationToken,
    cleanup_tasks: TaskTracker,
    prefixes: Arc<LockPrefixes>,
    store: Store,
}

/// The service that a group's locks are kept in.
pub enum Store {
    /// Redis or Valkey: one server, a primary with replicas, a cluster, or independent primaries.
    Redis(Arc<RedisGroup>),
    /// A ZooKeeper server or ensemble.
    Zookeeper(Arc<Zookeeper>),
    /// An etcd member or cluster.
    Etcd(Arc<Etcd>),
    /// A PostgreSQL database.
    Postgres(Arc<Postgres>),
}

/// How a group is started: its lifetime, and what an earlier run observed.
pub struct GroupOptions {
    /// Cancelled when waiting acquires must stop. Operations that have started still complete.
    pub closing: CancellationToken,
    /// Cancelled when the connections to the group's nodes are closed.
    pub stop: CancellationToken,
    /// Restart records of Redis nodes.
    pub history: RestartHistory,
    /// What a group of the same name observed under an earlier configuration.
    pub observations: Observations,
}

/// What a group continues with after its configuration changed.
#[derive(Default)]
pub struct Observations {
    /// The leases observed so far.
    pub leases: LeaseTracker,
    /// The prefixes under which locks were found so far.
    pub prefixes: Arc<LockPrefixes>,
}

impl Group {
    /// Connects to the nodes of a group. The connections are open until `options.stop` is
    /// cancelled.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: GroupConfig, options: GroupOptions, clock: Clock) -> Arc<Self> {
        let GroupOptions {
            closing,
            stop,
            history,
            observations,
        } = options;
        let service = |config: GroupConfig, servers| {
            let tokens = (closing.clone(), stop.clone());
            let prefixes = Arc::clone(&observations.prefixes);
            Service::new(config, clock.clone(), tokens, prefixes, servers)
        };
        let store = match config.service.clone() {
            ServiceConfig::Redis => {
                let options = super::redis::nodes::GroupOptions {
                    closing,
                    stop,
                    history,
                    leases: observations.leases,
                    prefixes: observations.prefixes,
                };
                let redis = RedisGroup::start_with_options(options, config, clock);
                return Arc::new(Self::from(redis));
            }
            ServiceConfig::Zookeeper(zookeeper) => {
                let servers = Zookeeper::server_states(&zookeeper);
                Store::Zookeeper(Zookeeper::start(service(config, servers), zookeeper))
            }
            ServiceConfig::Etcd(etcd) => {
                let servers = Etcd::server_states(&etcd);
                Store::Etcd(Etcd::start(service(config, servers), etcd))
            }
            ServiceConfig::Postgres(postgres) => {
                let servers = Postgres::server_states(&postgres);
                Store::Postgres(Postgres::start(service(config, servers), postgres))
            }
        };
        Arc::new(Self::from_store(store))
    }

    /// A group whose store is not Redis.
    fn from_store(store: Store) -> Self {
        let service = store.service().expect("Redis groups are made by `From`");
        Self {
            config: service.config.clone(),
            clock: service.clock.clone(),
            stop: service.stop.clone(),
            closing: service.closing.clone(),
            cleanup_tasks: service.cleanup_tasks.clone(),
            prefixes: Arc::clone(&service.prefixes),
            store,
        }
    }

    /// The store of the group, for code that exists for one kind of store only.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The clock used for all times of this group.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Cancelled when waiting acquires must stop.
    pub fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Cancelled when the connections to the group's nodes are closed.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Background tasks that still send requests to nodes after their caller has returned. Waiting
    /// for this tracker waits for those nodes.
    pub fn cleanup_tasks(&self) -> &TaskTracker {
        &self.cleanup_tasks
    }

    /// The prefixes under which locks were found.
    pub fn prefixes(&self) -> &Arc<LockPrefixes> {
        &self.prefixes
    }

    /// What a group continues with that replaces this one.
    pub fn observations(&self) -> Observations {
        Observations {
            leases: match &self.store {
                Store::Redis(redis) => redis.leases().carried_over(),
                Store::Zookeeper(_) | Store::Etcd(_) | Store::Postgres(_) => {
                    LeaseTracker::default()
                }
            },
            prefixes: Arc::clone(&self.prefixes),
        }
    }

    /// Whether something besides the caller holds a reference to the group: an operation, a renewed
    /// lock, a scan or a change feed.
    pub fn is_in_use(self: &Arc<Self>) -> bool {
        let is_store_in_use = match &self.store {
            Store::Redis(redis) => Arc::strong_count(redis) > 1,
            Store::Zookeeper(zookeeper) => Arc::strong_count(zookeeper) > 1,
            Store::Etcd(etcd) => Arc::strong_count(etcd) > 1,
            Store::Postgres(postgres) => Arc::strong_count(postgres) > 1,
        };
        Arc::strong_count(self) > 1 || is_store_in_use
    }
}

impl Store {
    /// What all services other than Redis have in common; `None` for Redis.
    pub fn service(&self) -> Option<&Service> {
        match self {
            Self::Redis(_) => None,
            Self::Zookeeper(zookeeper) => Some(zookeeper.service()),
            Self::Etcd(etcd) => Some(etcd.service()),
            Self::Postgres(postgres) => Some(postgres.service()),
        }
    }
}

impl From<Arc<RedisGroup>> for Group {
    fn from(redis: Arc<RedisGroup>) -> Self {
        Self {
            config: redis.config.clone(),
            clock: redis.clock().clone(),
            stop: redis.stop().clone(),
            closing: redis.closing().clone(),
            cleanup_tasks: redis.cleanup_tasks().clone(),
            prefixes: Arc::clone(redis.prefixes()),
            store: Store::Redis(redis),
        }
    }
}
