//! Two consoles in front of the same nodes with one PostgreSQL: whoever is let in by one is let in by the other, and nothing is done
//! twice.

mod outages;
mod repeats;
mod sessions;
mod sign_ins;

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::UserConfig;
use lockkeeper::server::config::{AccessConfig, Config, StorageConfig};
use lockkeeper::server::storage::Storage;
use sqlx::Row as _;

use crate::access::{token, user};
use crate::api::group;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;

/// Two consoles, and what they share.
pub struct Pair {
    /// The nodes of the group `orders`: they end with it.
    _nodes: RedisNodes,
    /// What they share.
    pub postgres: Postgres,
    /// The consoles.
    pub consoles: Vec<TestConsole>,
    /// The token of a script that may do everything.
    pub token: String,
    /// What each is started with.
    pub config: Config,
}

impl Pair {
    /// Alice and Bob may do everything, and so may a script.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// The same, with something changed in the configuration of both.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let (nodes, postgres) = tokio::join!(RedisNodes::start(3), Postgres::start());
        let (secret, script) = token("script", Rights::everywhere(Role::Admin));
        let mut config = Config {
            storage: StorageConfig::postgres(postgres.url()),
            access: AccessConfig {
                users: ["alice", "bob"].map(everything).to_vec(),
                tokens: vec![script],
                ..AccessConfig::default()
            },
            ..Config::of(vec![group("orders", &nodes)])
        };
        change(&mut config);
        let mut pair = Self {
            _nodes: nodes,
            postgres,
            consoles: Vec::new(),
            token: format!("Bearer {secret}"),
            config,
        };
        pair.start_another().await;
        pair.start_another().await;
        pair
    }

    /// Starts one more console.
    pub async fn start_another(&mut self) {
        let console = TestConsole::start_as(self.config.clone(), Clock::real()).await;
        self.consoles.push(console);
    }

    /// Stops all of them and starts another.
    pub async fn restart(&mut self) {
        for console in std::mem::take(&mut self.consoles) {
            console.stop().await;
        }
        self.start_another().await;
    }

    /// Somebody who talks to one of them.
    pub fn person(&self, n: usize) -> Person {
        self.consoles[n].person()
    }

    /// Posts JSON with the script's token.
    pub async fn post(&self, n: usize, path: &str, key: Option<&str>, body: &str) -> Answer {
        let mut headers = vec![
            ("content-type", "application/json"),
            ("authorization", self.token.as_str()),
        ];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        self.person(n).send("POST", path, &headers, body).await
    }

    /// Every row of a table, as text.
    pub async fn rows(&self, table: &'static str) -> Vec<String> {
        let storage = Storage::new(&self.config.storage, false);
        let mut db = storage.read().await.unwrap();
        let select = match table {
            "session" => "SELECT CAST(session AS TEXT) FROM session",
            "sign_in_attempt" => "SELECT CAST(sign_in_attempt AS TEXT) FROM sign_in_attempt",
            "idempotency_record" => {
                "SELECT CAST(idempotency_record AS TEXT) FROM idempotency_record"
            }
            other => panic!("{other}"),
        };
        let rows = sqlx::query(select).fetch_all(&mut *db).await.unwrap();
        rows.iter().map(|row| row.try_get(0).unwrap()).collect()
    }
}

/// Somebody who may do everything.
pub fn everything(name: &str) -> UserConfig {
    user(name, Rights::everywhere(Role::Admin))
}
