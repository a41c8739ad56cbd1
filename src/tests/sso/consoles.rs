//! Two consoles behind a balancer that share a Redis: a sign-in that begins on one ends on the other.

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StateConfig};

use super::provider::Provider;
use super::{Visitor, access, why};
use crate::access::location;
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

#[tokio::test]
async fn a_sign_in_that_began_on_one_console_ends_on_the_other_and_holds_on_both() {
    let provider = Provider::start().await;
    let (nodes, state) = tokio::join!(RedisNodes::start(1), RedisNode::start_with(&PERSISTENT));
    let config = Config {
        state: Some(StateConfig::at(state.url())),
        access: access(&provider),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let one = TestConsole::start_as(config.clone(), Clock::real()).await;
    let other = TestConsole::start_as(config.clone(), Clock::real()).await;
    let mut alice = Visitor::of(one.person());
    let there = alice.begin("/nodes").await;
    let kept = everything_in(&state).await;
    let back = alice.at_provider(&there, "alice").await;
    alice.person = other.person();
    assert_eq!(location(&alice.get(&back).await), "/nodes");
    assert!(alice.is_in().await);
    alice.person = one.person();
    assert!(alice.is_in().await);
    // Neither takes it a second time.
    assert_eq!(why(&alice.get(&back).await), "expired");
    // What is kept there meanwhile is sealed, and has an end.
    let (name, bytes, left) = kept.iter().find(|kept| kept.0.contains("sign-in")).unwrap();
    let state_parameter = there.split("state=").nth(1).unwrap();
    let state_parameter = state_parameter.split('&').next().unwrap();
    assert!(
        !name.contains(state_parameter) && *left > 0,
        "{name} {left}"
    );
    let bytes = String::from_utf8_lossy(bytes);
    assert!(!bytes.contains("verifier") && !bytes.contains("nonce") && !bytes.contains("/nodes"));
    // A console that starts later knows the session.
    one.stop().await;
    let third = TestConsole::start_as(config, Clock::real()).await;
    alice.person = third.person();
    assert!(alice.is_in().await);
}

/// Name, value and time left of every text in the shared Redis.
async fn everything_in(state: &RedisNode) -> Vec<(String, Vec<u8>, i64)> {
    let mut client = state.client().await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("lockkeeper:sign-in*")
        .query_async(&mut client)
        .await
        .unwrap();
    let mut kept = Vec::new();
    for key in keys {
        // The names of what a client began are a set; it has no values.
        let kind: String = redis::cmd("TYPE")
            .arg(&key)
            .query_async(&mut client)
            .await
            .unwrap();
        if kind != "string" {
            continue;
        }
        let value: Vec<u8> = redis::cmd("GET")
            .arg(&key)
            .query_async(&mut client)
            .await
            .unwrap();
        let left: i64 = redis::cmd("PTTL")
            .arg(&key)
            .query_async(&mut client)
            .await
            .unwrap();
        kept.push((key, value, left));
    }
    kept
}
