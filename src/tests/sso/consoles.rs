//! Two consoles that share a PostgreSQL database: a sign-in begins on one and is completed on the
//! other.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};

use super::provider::Provider;
use super::{Browser, access, error_code};
use crate::access::location;
use crate::api::group_config;
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_sign_in_that_began_on_one_console_is_completed_on_the_other() {
    let provider = Provider::start().await;
    let (nodes, postgres) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let config = Config {
        storage: StorageConfig::postgres(postgres.url()),
        access: access(&provider),
        ..Config::with_groups(vec![group_config("orders", &nodes)])
    };
    let first = TestConsole::start_with_config(config.clone(), Clock::system()).await;
    let second = TestConsole::start_with_config(config, Clock::system()).await;
    let mut alice = Browser::new(first.api());
    let authorization_url = alice.begin_sign_in("/nodes").await;
    // The cookie of the pending sign-in is encrypted.
    let cookies = format!("{:?}", alice.cookies.0);
    let state = authorization_url.split("state=").nth(1).unwrap();
    let state = state.split('&').next().unwrap();
    assert!(!cookies.contains(state) && !cookies.contains("nonce") && !cookies.contains("/nodes"));
    let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    alice.api = second.api();
    assert_eq!(location(&alice.get(&callback).await), "/nodes");
    assert!(alice.check_session().await);
    alice.api = first.api();
    assert!(alice.check_session().await);
    // Neither console accepts the callback a second time.
    assert_eq!(error_code(&alice.get(&callback).await), "expired");
}
