//! Sees who is in a critical section, for clients in several programs and languages: a Redis server of its own.
//!
//! Every client says `RPUSH inside <name>` when it enters and has to be told 1: nobody else is there. Otherwise it says so
//! with `RPUSH overlaps <names>`. When it leaves it says `LREM inside 0 <name>` and `RPUSH turns <name>`. Before all that
//! it says `RPUSH ready <name>` and waits with `BLPOP go` until everybody is there.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::AsyncCommands as _;
use redis::aio::MultiplexedConnection;

use super::eventually_is;
use super::redis_nodes::RedisNode;

/// The witness.
pub struct Witness(RedisNode);

/// A client of ours, as the witness knows it.
pub struct Watched {
    name: String,
    witness: MultiplexedConnection,
}

impl Witness {
    /// Starts one who has seen nothing yet.
    pub async fn start() -> Self {
        Self(RedisNode::start().await)
    }

    /// Where other programs find it.
    pub fn port(&self) -> u16 {
        self.0.port()
    }

    /// Introduces a client of this program.
    pub async fn watch(&self, name: &str) -> Watched {
        let (name, witness) = (name.to_owned(), self.0.client().await);
        Watched { name, witness }
    }

    /// Lets everybody begin as soon as that many are there.
    pub async fn begin(&self, clients: usize) {
        let mut witness = self.0.client().await;
        eventually_is("all clients are ready", async || {
            witness.llen::<_, usize>("ready").await.unwrap() == clients
        })
        .await;
        witness
            .rpush::<_, _, ()>("go", vec![1; clients])
            .await
            .unwrap();
    }

    /// Who met whom inside.
    pub async fn overlaps(&self) -> Vec<String> {
        self.list("overlaps").await
    }

    /// Who was inside, one after the other.
    pub async fn turns(&self) -> Vec<String> {
        self.list("turns").await
    }

    /// How often each was inside.
    pub async fn rounds(&self) -> BTreeMap<String, usize> {
        let mut rounds = BTreeMap::new();
        for name in self.turns().await {
            *rounds.entry(name).or_default() += 1;
        }
        rounds
    }

    async fn list(&self, name: &str) -> Vec<String> {
        self.0.client().await.lrange(name, 0, -1).await.unwrap()
    }
}

impl Watched {
    /// Waits until everybody is there.
    pub async fn is_ready(&mut self) {
        self.witness
            .rpush::<_, _, ()>("ready", &self.name)
            .await
            .unwrap();
        // Not BLPOP: this client gives up on an answer that takes half a second.
        while self
            .witness
            .lpop::<_, Option<u32>>("go", None)
            .await
            .unwrap()
            .is_none()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Enters.
    pub async fn enters(&mut self) {
        let inside: usize = self.witness.rpush("inside", &self.name).await.unwrap();
        if inside > 1 {
            let names: Vec<String> = self.witness.lrange("inside", 0, -1).await.unwrap();
            self.witness
                .rpush::<_, _, ()>("overlaps", names.join(" "))
                .await
                .unwrap();
        }
    }

    /// Leaves.
    pub async fn leaves(&mut self) {
        self.witness
            .lrem::<_, _, ()>("inside", 0, &self.name)
            .await
            .unwrap();
        self.witness
            .rpush::<_, _, ()>("turns", &self.name)
            .await
            .unwrap();
    }
}
