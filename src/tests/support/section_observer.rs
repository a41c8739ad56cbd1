//! Observes a critical section that clients in several programs and languages enter. The record is
//! kept in a separate Redis server.
//!
//! A client sends `RPUSH ready <name>` and waits with `BLPOP go` until all clients are ready. On
//! entering it sends `RPUSH inside <name>`, which must return 1 because no other client is inside;
//! otherwise it sends `RPUSH overlaps <names>`. On leaving it sends `LREM inside 0 <name>` and
//! `RPUSH turns <name>`.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use super::redis_nodes::RedisNode;
use super::wait_until;

/// The Redis server that records the critical sections.
pub struct SectionObserver(RedisNode);

/// A client in this process whose critical sections are recorded.
pub struct ObservedClient {
    name: String,
    observer: MultiplexedConnection,
}

impl SectionObserver {
    /// Starts an observer without records.
    pub async fn start() -> Self {
        Self(RedisNode::start().await)
    }

    /// The port that client programs connect to.
    pub fn port(&self) -> u16 {
        self.0.port()
    }

    /// Registers a client of this process.
    pub async fn register(&self, name: &str) -> ObservedClient {
        let (name, observer) = (name.to_owned(), self.0.client().await);
        ObservedClient { name, observer }
    }

    /// Waits until `clients` clients are ready, then starts all of them.
    pub async fn start_clients(&self, clients: usize) {
        let mut observer = self.0.client().await;
        wait_until("all clients are ready", async || {
            observer.llen::<_, usize>("ready").await.unwrap() == clients
        })
        .await;
        observer
            .rpush::<_, _, ()>("go", vec![1; clients])
            .await
            .unwrap();
    }

    /// The names of the clients that were inside at the same time, one element for each overlap.
    pub async fn overlaps(&self) -> Vec<String> {
        self.list("overlaps").await
    }

    /// The clients that left the section, in order.
    pub async fn turns(&self) -> Vec<String> {
        self.list("turns").await
    }

    /// The number of completed sections of each client.
    pub async fn turns_by_client(&self) -> BTreeMap<String, usize> {
        let mut turns = BTreeMap::new();
        for name in self.turns().await {
            *turns.entry(name).or_default() += 1;
        }
        turns
    }

    async fn list(&self, name: &str) -> Vec<String> {
        self.0.client().await.lrange(name, 0, -1).await.unwrap()
    }
}

impl ObservedClient {
    /// Reports this client as ready and waits until `start_clients` starts it.
    pub async fn wait_until_started(&mut self) {
        self.observer
            .rpush::<_, _, ()>("ready", &self.name)
            .await
            .unwrap();
        // Not BLPOP: its reply would have to arrive within the response timeout of the connection.
        while self
            .observer
            .lpop::<_, Option<u32>>("go", None)
            .await
            .unwrap()
            .is_none()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Enters the section and records an overlap if another client is inside.
    pub async fn enter(&mut self) {
        let inside: usize = self.observer.rpush("inside", &self.name).await.unwrap();
        if inside > 1 {
            let names: Vec<String> = self.observer.lrange("inside", 0, -1).await.unwrap();
            self.observer
                .rpush::<_, _, ()>("overlaps", names.join(" "))
                .await
                .unwrap();
        }
    }

    /// Leaves the section.
    pub async fn leave(&mut self) {
        self.observer
            .lrem::<_, _, ()>("inside", 0, &self.name)
            .await
            .unwrap();
        self.observer
            .rpush::<_, _, ()>("turns", &self.name)
            .await
            .unwrap();
    }
}
