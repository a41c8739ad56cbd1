//! Sign-ins that begin at the console and never end take bounded room, and those of others go on.

use futures::future::join_all;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{Config, StateConfig};

use super::provider::Provider;
use super::{GRANTS, Sso, Visitor, access, why};
use crate::access::location;
use crate::api::group;
use crate::support::console::TestConsole;
use crate::support::process::Process;
use crate::support::redis_nodes::{PERSISTENT, RedisNode, RedisNodes};

const MB: u64 = 1024 * 1024;

#[tokio::test]
async fn where_somebody_wants_to_go_has_two_kilobytes() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    for (length, is_kept) in [(2_048, true), (2_049, false)] {
        let mut alice = sso.visitor();
        let next = format!("/nodes?q={}", "a".repeat(length - "/nodes?q=".len()));
        let there = alice
            .begin(&next.replace('?', "%3F").replace('=', "%3D"))
            .await;
        let back = alice.at_provider(&there, "alice").await;
        let answer = alice.get(&back).await;
        let expected = if is_kept { next.as_str() } else { "/" };
        assert_eq!(location(&answer), expected, "{length}");
    }
}

#[tokio::test]
async fn one_client_has_twenty_sign_ins_under_way_and_pushes_out_its_own_alone() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let mut other = Visitor::of(sso.console.person().calling_from([127, 0, 0, 2]));
    let there = other.begin("/").await;
    let others = other.at_provider(&there, "alice").await;
    let mut many = sso.visitor();
    let first = many.begin("/").await;
    let first = many.at_provider(&first, "alice").await;
    for _ in 0..20 {
        many.begin("/").await;
    }
    let last = many.begin("/").await;
    let last = many.at_provider(&last, "alice").await;
    assert_eq!(why(&many.get(&first).await), "expired");
    assert_eq!(location(&many.get(&last).await), "/");
    assert_eq!(location(&other.get(&others).await), "/");
}

#[tokio::test]
async fn sign_ins_that_are_shared_by_consoles_are_as_few() {
    let provider = Provider::start().await;
    let (nodes, state) = tokio::join!(RedisNodes::start(1), RedisNode::start_with(&PERSISTENT));
    let config = Config {
        state: Some(StateConfig::at(state.url())),
        access: access(&provider),
        ..Config::of(vec![group("orders", &nodes)])
    };
    let one = TestConsole::start_as(config.clone(), Clock::real()).await;
    let other = TestConsole::start_as(config, Clock::real()).await;
    let mut alice = Visitor::of(one.person());
    for _ in 0..30 {
        alice.begin("/nodes").await;
        alice.person = other.person();
    }
    let mut client = state.client().await;
    let kept: Vec<String> = redis::cmd("KEYS")
        .arg("lockkeeper:sign-in:*")
        .query_async(&mut client)
        .await
        .unwrap();
    assert_eq!(kept.len(), 20);
    let there = alice.begin("/nodes").await;
    let back = alice.at_provider(&there, "alice").await;
    alice.person = one.person();
    assert_eq!(location(&alice.get(&back).await), "/nodes");
}

#[tokio::test]
async fn whoever_begins_again_and_again_is_slowed_down_and_others_are_not() {
    let provider = Provider::start().await;
    let clock = Clock::by_hand(Clock::real().now());
    let sso = Sso::console(access(&provider), clock).await;
    let (mut many, mut later) = (sso.visitor(), 0);
    for _ in 0..100 {
        let answer = many.get("/sign-in/provider?next=%2F").await;
        later += usize::from(location(&answer).contains("why=later"));
    }
    assert_eq!(later, 39, "of a hundred");
    let mut other = Visitor::of(sso.console.person().calling_from([127, 0, 0, 2]));
    assert_eq!(location(&other.sign_in("alice").await), "/nodes");
}

#[tokio::test]
async fn a_sign_in_that_comes_too_soon_is_not_written_down() {
    let provider = Provider::start().await;
    let clock = Clock::by_hand(Clock::real().now());
    let sso = Sso::console(access(&provider), clock).await;
    let mut nobody = sso.visitor();
    let mut later = 0;
    for n in 0..40 {
        let answer = nobody.get(&format!("/sign-in/back?code=a&state={n}")).await;
        later += usize::from(why(&answer).contains("later"));
    }
    assert_eq!(later, 19);
    let written = sso.audited();
    let too_many = written
        .iter()
        .filter(|line| line["detail"].to_string().contains("too many"));
    assert_eq!(too_many.count(), 0, "entries for what was not looked at");
}

#[tokio::test]
async fn sign_ins_that_only_begin_take_no_memory() {
    let provider = Provider::start().await;
    let nodes = RedisNodes::start(1).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lockkeeper.toml");
    let text = format!(
        "{}{GRANTS}\n[[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
        provider.table(),
        nodes.0[0].port()
    );
    std::fs::write(&file, text).unwrap();
    let console = Process::serve(&["--config", file.to_str().unwrap()]).await;
    let path = |n: usize| format!("/sign-in/provider?next=/{n}{}", "a".repeat(50_000));
    let first = console.person.get(&path(0)).await;
    assert!(location(&first).contains("://127.0.0.1:"), "{first:?}");
    let before = console.memory();
    for at_once in 0..20 {
        let asking = (0..100).map(|n| {
            let (person, path) = (console.person.clone(), path(at_once * 100 + n));
            async move { person.get(&path).await.status }
        });
        join_all(asking).await;
    }
    let more = console.memory().saturating_sub(before) / MB;
    eprintln!("2,000 sign-ins that only begin take {more} MB");
    assert!(more < 20, "{more} MB");
}
