//! Two consoles in front of the same nodes that share one Redis: whoever is let in by one is let in by the other, and nothing is
//! done twice.

mod audit;
mod killed;

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::UserConfig;
use lockkeeper::server::config::{AccessConfig, Config, StateConfig};

use crate::access::{token, user};
use crate::api::group;
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

/// Two consoles, and what they share.
pub struct Pair {
    /// The nodes of the group `orders`.
    pub nodes: RedisNodes,
    /// What they share.
    pub state: RedisNode,
    /// The consoles.
    pub consoles: Vec<TestConsole>,
    /// The token of a script that may do everything.
    pub token: String,
    config: Config,
}

impl Pair {
    /// Alice and Bob may do everything, and so may a script; with something changed in the configuration of both.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let (nodes, state) = tokio::join!(RedisNodes::start(3), RedisNode::start_with(&PERSISTENT));
        let (secret, script) = token("script", Rights::everywhere(Role::Admin));
        let mut config = Config {
            state: Some(StateConfig::at(state.url())),
            access: AccessConfig {
                users: ["alice", "bob"].map(everything).to_vec(),
                tokens: vec![script],
                ..AccessConfig::default()
            },
            ..Config::of(vec![group("orders", &nodes)])
        };
        change(&mut config);
        let mut pair = Self {
            nodes,
            state,
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
}

fn everything(name: &str) -> UserConfig {
    user(name, Rights::everywhere(Role::Admin))
}
