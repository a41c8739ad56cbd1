//! Two consoles with the same nodes and one PostgreSQL database share sessions, rate limits and
//! idempotency records.

mod idempotency;
mod outages;
mod sessions;
mod sign_ins;

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::UserConfig;
use lockkeeper::server::config::{AccessConfig, Config, StorageConfig};
use lockkeeper::server::storage::Storage;
use sqlx::Row as _;

use crate::access::{api_token, user_config};
use crate::api::group_config;
use crate::support::console::{ApiClient, ApiResponse, TestConsole};
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;

/// Consoles with the same nodes, database and configuration.
pub struct ConsoleDeployment {
    /// The nodes of the group `orders`, stopped on drop.
    pub nodes: RedisNodes,
    pub postgres: Postgres,
    pub consoles: Vec<TestConsole>,
    /// The `authorization` header of an API token with the role admin.
    pub authorization: String,
    /// The configuration of every console.
    pub config: Config,
}

impl ConsoleDeployment {
    /// Starts two consoles with the admins `alice` and `bob`.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts two consoles with a changed configuration.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let (nodes, postgres) = tokio::join!(RedisNodes::start(3), Postgres::start());
        let (secret, script) = api_token("script", RoleGrant::unrestricted(Role::Admin));
        let mut config = Config {
            storage: StorageConfig::postgres(postgres.url()),
            access: AccessConfig {
                users: ["alice", "bob"].map(admin).to_vec(),
                tokens: vec![script],
                ..AccessConfig::default()
            },
            ..Config::with_groups(vec![group_config("orders", &nodes)])
        };
        change(&mut config);
        let mut deployment = Self {
            nodes,
            postgres,
            consoles: Vec::new(),
            authorization: format!("Bearer {secret}"),
            config,
        };
        deployment.start_another().await;
        deployment.start_another().await;
        deployment
    }

    /// Starts one more console.
    pub async fn start_another(&mut self) {
        let console = TestConsole::start_with_config(self.config.clone(), Clock::system()).await;
        self.consoles.push(console);
    }

    /// Stops all consoles and starts a new one.
    pub async fn restart(&mut self) {
        for console in std::mem::take(&mut self.consoles) {
            console.stop().await;
        }
        self.start_another().await;
    }

    /// A client of the console with this index.
    pub fn api(&self, n: usize) -> ApiClient {
        self.consoles[n].api()
    }

    /// Posts JSON to a console with the API token and an optional idempotency key.
    pub async fn post(&self, n: usize, path: &str, key: Option<&str>, body: &str) -> ApiResponse {
        let mut headers = vec![
            ("content-type", "application/json"),
            ("authorization", self.authorization.as_str()),
        ];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        self.api(n).send("POST", path, &headers, body).await
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

/// A user with the role admin.
pub fn admin(name: &str) -> UserConfig {
    user_config(name, RoleGrant::unrestricted(Role::Admin))
}
