//! Two consoles that share a PostgreSQL: a sign-in that begins on one ends on the other.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StorageConfig};

use super::provider::Provider;
use super::{Visitor, access, why};
use crate::access::location;
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::postgres::Postgres;
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn a_sign_in_that_began_on_one_console_ends_on_the_other_and_holds_on_both() {
    let provider = Provider::start().await;
    let (nodes, postgres) = tokio::join!(RedisNodes::start(1), Postgres::start());
    let config = Config {
        storage: StorageConfig::postgres(postgres.url()),
        access: access(&provider),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let one = TestConsole::start_as(config.clone(), Clock::real()).await;
    let other = TestConsole::start_as(config, Clock::real()).await;
    let mut alice = Visitor::of(one.person());
    let there = alice.begin("/nodes").await;
    // What the browser keeps meanwhile is sealed.
    let kept = format!("{:?}", alice.cookies.0);
    let state = there.split("state=").nth(1).unwrap();
    let state = state.split('&').next().unwrap();
    assert!(!kept.contains(state) && !kept.contains("nonce") && !kept.contains("/nodes"));
    let back = alice.at_provider(&there, "alice").await;
    alice.person = other.person();
    assert_eq!(location(&alice.get(&back).await), "/nodes");
    assert!(alice.is_in().await);
    alice.person = one.person();
    assert!(alice.is_in().await);
    // Neither takes it a second time.
    assert_eq!(why(&alice.get(&back).await), "expired");
}
