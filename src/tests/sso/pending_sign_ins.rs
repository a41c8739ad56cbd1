//! Sign-ins that are never completed use bounded memory and do not affect other users.

use futures::future::join_all;
use lockkeeper::server::clock::Clock;

use super::provider::Provider;
use super::{ROLE_MAPPINGS, SsoConsole, access, error_code};
use crate::access::location;
use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::RedisNodes;

const MB: u64 = 1024 * 1024;

#[tokio::test]
async fn the_requested_page_is_kept_up_to_two_kilobytes() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    for (length, is_kept) in [(2_048, true), (2_049, false)] {
        let mut alice = console.browser();
        let next = format!("/nodes?q={}", "a".repeat(length - "/nodes?q=".len()));
        let authorization_url = alice
            .begin_sign_in(&next.replace('?', "%3F").replace('=', "%3D"))
            .await;
        let callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
        let response = alice.get(&callback).await;
        let expected = if is_kept { next.as_str() } else { "/" };
        assert_eq!(location(&response), expected, "{length}");
    }
}

#[tokio::test]
async fn a_browser_has_a_bounded_number_of_pending_sign_ins_and_drops_the_oldest() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let mut alice = console.browser();
    let authorization_url = alice.begin_sign_in("/").await;
    let first_callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    for _ in 0..5 {
        alice.begin_sign_in("/").await;
    }
    assert!(alice.cookies.0.len() <= 5, "{:?}", alice.cookies.0.keys());
    let authorization_url = alice.begin_sign_in("/").await;
    let last_callback = alice.sign_in_at_provider(&authorization_url, "alice").await;
    assert_eq!(error_code(&alice.get(&first_callback).await), "expired");
    assert_eq!(location(&alice.get(&last_callback).await), "/");
}

#[tokio::test]
async fn repeatedly_begun_sign_ins_are_rate_limited_per_address() {
    let provider = Provider::start().await;
    let console = SsoConsole::start(access(&provider), Clock::system()).await;
    let (mut repeating, mut limited) = (console.browser(), 0);
    for n in 0..1_000 {
        let response = repeating.get("/sign-in/provider?next=%2F").await;
        limited += usize::from(location(&response).contains("why=later"));
        if limited > 0 {
            assert!(n >= 60, "{n}");
            break;
        }
    }
    assert_eq!(limited, 1, "no request was rate-limited");
    let mut other_address = console.browser_from([127, 0, 0, 2]);
    assert_eq!(location(&other_address.sign_in("alice").await), "/nodes");
}

#[tokio::test]
async fn a_rate_limited_sign_in_has_no_audit_entry() {
    let provider = Provider::start().await;
    let clock = Clock::manual(Clock::system().now());
    let console = SsoConsole::start(access(&provider), clock).await;
    let mut attacker = console.browser();
    let mut limited = 0;
    for n in 0..40 {
        let response = attacker
            .get(&format!("/sign-in/callback?code=a&state={n}"))
            .await;
        limited += usize::from(error_code(&response).contains("later"));
    }
    assert_eq!(limited, 19);
    let entries = console.audit_entries().await;
    let rate_limited = entries
        .iter()
        .filter(|entry| entry["detail"].to_string().contains("too many"));
    assert_eq!(
        rate_limited.count(),
        0,
        "a rate-limited sign-in has an entry"
    );
}

#[tokio::test]
async fn sign_ins_that_only_begin_use_no_memory() {
    let provider = Provider::start().await;
    let nodes = RedisNodes::start(1).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lockkeeper.toml");
    let text = format!(
        "{}{ROLE_MAPPINGS}\n[[group]]\nname = \"orders\"\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
        provider.table(),
        nodes.0[0].port()
    );
    std::fs::write(&file, text).unwrap();
    let console = ConsoleProcess::start(&["--config", file.to_str().unwrap()]).await;
    let path = |n: usize| format!("/sign-in/provider?next=/{n}{}", "a".repeat(50_000));
    let first = console.api.get(&path(0)).await;
    assert!(location(&first).contains("://127.0.0.1:"), "{first:?}");
    let before = console.resident_bytes();
    for batch in 0..20 {
        let requests = (0..100).map(|n| {
            let (api, path) = (console.api.clone(), path(batch * 100 + n));
            async move { api.get(&path).await.status }
        });
        join_all(requests).await;
    }
    let growth = console.resident_bytes().saturating_sub(before) / MB;
    eprintln!("2,000 sign-ins that only begin use {growth} MB");
    assert!(growth < 20, "{growth} MB");
}
