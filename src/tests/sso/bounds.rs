//! Sign-ins that begin at the console and never end take bounded room, and those of others go on.

use futures::future::join_all;
use lockkeeper::server::clock::Clock;

use super::provider::Provider;
use super::{GRANTS, Sso, Visitor, access, why};
use crate::access::location;
use crate::support::process::Process;
use crate::support::redis_nodes::RedisNodes;

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
async fn a_browser_has_some_sign_ins_under_way_and_forgets_those_of_before() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let mut alice = sso.visitor();
    let first = alice.begin("/").await;
    let first = alice.at_provider(&first, "alice").await;
    for _ in 0..5 {
        alice.begin("/").await;
    }
    assert!(alice.cookies.0.len() <= 5, "{:?}", alice.cookies.0.keys());
    let last = alice.begin("/").await;
    let last = alice.at_provider(&last, "alice").await;
    assert_eq!(why(&alice.get(&first).await), "expired");
    assert_eq!(location(&alice.get(&last).await), "/");
}

#[tokio::test]
async fn whoever_begins_again_and_again_is_slowed_down_and_others_are_not() {
    let provider = Provider::start().await;
    let sso = Sso::console(access(&provider), Clock::real()).await;
    let (mut many, mut later) = (sso.visitor(), 0);
    for n in 0..1_000 {
        let answer = many.get("/sign-in/provider?next=%2F").await;
        later += usize::from(location(&answer).contains("why=later"));
        if later > 0 {
            assert!(n >= 60, "{n}");
            break;
        }
    }
    assert_eq!(later, 1, "of a thousand");
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
    let written = sso.audited().await;
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
