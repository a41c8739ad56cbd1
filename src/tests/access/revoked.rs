//! What ends when that ends which let somebody in: streams, waiting acquires, and locks that are kept for them.

use std::net::{IpAddr, Ipv4Addr};

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::access::ProxyConfig;
use lockkeeper::server::config::{AccessConfig, Config, Later};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::matrix::function;
use super::{token, user};
use crate::api::{group, lock_path};
use crate::support::console::{Answer, Person, TestConsole};
use crate::support::redis_nodes::RedisNodes;
use crate::support::{eventually, eventually_is};

/// A console whose configuration can be changed while it runs.
struct Changing {
    console: TestConsole,
    tell: watch::Sender<Later>,
    nodes: RedisNodes,
}

impl Changing {
    async fn start(access: AccessConfig) -> Self {
        let nodes = RedisNodes::start(1).await;
        let mut config = Config {
            access,
            ..Config::of(vec![group("orders", &nodes)])
        };
        let (tell, later) = watch::channel(Later::of(&config));
        config.later = Some(later);
        let console = TestConsole::start_as(config, Clock::real()).await;
        Self {
            console,
            tell,
            nodes,
        }
    }

    fn now_says(&self, access: AccessConfig) {
        self.tell.send_modify(|later| later.access = access);
    }
}

fn of_tokens(tokens: Vec<lockkeeper::server::config::access::TokenConfig>) -> AccessConfig {
    AccessConfig {
        tokens,
        ..AccessConfig::default()
    }
}

/// Whom a proxy at 127.0.0.1 names is an operator.
fn vouched_for(from: Option<IpAddr>) -> AccessConfig {
    AccessConfig {
        users: vec![user("admin", Rights::everywhere(Role::Admin))],
        proxy: Some(ProxyConfig {
            header: http::HeaderName::from_static("x-user"),
            from: from.into_iter().map(Into::into).collect(),
            others: Some(Role::Operator),
        }),
        ..AccessConfig::default()
    }
}

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

async fn acquire(person: &Person, authorization: &str, body: Value) -> Answer {
    let headers = [
        ("authorization", authorization),
        ("content-type", "application/json"),
    ];
    let path = lock_path("orders", b"lock:a", "/acquire");
    person.send("POST", &path, &headers, body.to_string()).await
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_exchanged_for_another() {
    let (old, before) = token("watcher", Rights::everywhere(Role::Viewer));
    let changing = Changing::start(of_tokens(vec![before])).await;
    let person = changing.console.person();
    let bearer = format!("Bearer {old}");
    let headers = [("authorization", bearer.as_str())];
    let mut stream = person.watch_with("", &headers).await;
    stream.until(|told| told.event == "ping").await;
    let (_new, after) = token("watcher", Rights::everywhere(Role::Viewer));
    changing.now_says(of_tokens(vec![after]));
    let mut pings = 0;
    while let Some(told) = stream.next().await {
        pings += u32::from(told.event == "ping");
        assert!(
            pings < 4,
            "the stream goes on after the token was exchanged"
        );
    }
}

#[tokio::test]
async fn a_stream_of_an_open_console_ends_when_people_have_to_sign_in() {
    let changing = Changing::start(AccessConfig::default()).await;
    let person = changing.console.person();
    let mut stream = person.watch("", None).await;
    stream.until(|told| told.event == "ping").await;
    let (_, config) = token("watcher", Rights::everywhere(Role::Viewer));
    changing.now_says(of_tokens(vec![config]));
    let mut pings = 0;
    while let Some(told) = stream.next().await {
        pings += u32::from(told.event == "ping");
        assert!(pings < 4, "the stream goes on after people have to sign in");
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_proxy_is_listed_no_more() {
    let changing = Changing::start(vouched_for(Some(HERE))).await;
    let person = changing.console.person();
    let mut stream = person.watch_with("", &[("x-user", "carol")]).await;
    stream.until(|told| told.event == "ping").await;
    changing.now_says(vouched_for(Some([10, 0, 0, 1].into())));
    let mut pings = 0;
    while let Some(told) = stream.next().await {
        pings += u32::from(told.event == "ping");
        assert!(pings < 4, "the stream goes on after its proxy was removed");
    }
}

#[tokio::test]
async fn whoever_waits_with_a_token_that_is_exchanged_gets_no_lock() {
    let (old, before) = token("deploy", Rights::everywhere(Role::Operator));
    let (other, stays) = token("other", Rights::everywhere(Role::Operator));
    let changing = Changing::start(of_tokens(vec![before, stays.clone()])).await;
    let person = changing.console.person();
    let other = format!("Bearer {other}");
    let taken = acquire(&person, &other, json!({"ttl_ms": 60_000})).await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    let waiting = tokio::spawn({
        let (person, old) = (person.clone(), format!("Bearer {old}"));
        async move { acquire(&person, &old, json!({"ttl_ms": 60_000, "wait_ms": 8_000})).await }
    });
    eventually_is("it waits", async || {
        let headers = [("authorization", other.as_str())];
        let page = person.send("GET", "/metrics", &headers, "").await.text;
        page.contains("lockkeeper_requests_in_progress{kind=\"waiting\"} 1\n")
    })
    .await;
    let (_new, after) = token("deploy", Rights::everywhere(Role::Operator));
    changing.now_says(of_tokens(vec![after, stays]));
    let ended = waiting.await.unwrap();
    assert_eq!(ended.code(), "sign-in-required", "{}", ended.text);
    let held = changing.nodes.get(0, b"lock:a").await;
    let token = taken.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(held.as_deref(), Some(token.as_bytes()));
}

#[tokio::test]
async fn a_lock_that_is_kept_for_a_token_is_renewed_no_more_when_that_is_revoked() {
    let (secret, before) = token("deploy", Rights::everywhere(Role::Operator));
    let (_, stays) = token("other", Rights::everywhere(Role::Operator));
    let changing = Changing::start(of_tokens(vec![before, stays.clone()])).await;
    let person = changing.console.person();
    let body = json!({"ttl_ms": 1_500, "auto_renew": true});
    let taken = acquire(&person, &format!("Bearer {secret}"), body).await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    changing.now_says(of_tokens(vec![stays]));
    eventually_is("the lock ends with its lease", async || {
        changing.nodes.get(0, b"lock:a").await.is_none()
    })
    .await;
}

#[tokio::test]
async fn a_token_is_handed_out_and_an_answer_given_again_only_to_who_may_still_act() {
    let acts = |role| user("alice", Rights::everywhere(role));
    let people = |role| AccessConfig {
        users: vec![acts(role)],
        ..AccessConfig::default()
    };
    // The same password all the time: the session goes on.
    let operator = people(Role::Operator);
    let mut viewer = operator.clone();
    viewer.users[0].rights = Rights::everywhere(Role::Viewer);
    let changing = Changing::start(operator.clone()).await;
    let person = changing.console.person();
    let cookie = super::sign_in(&person, "alice").await;
    let send = async |path: &str, body: Value| {
        let headers = [
            ("cookie", cookie.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "first"),
        ];
        person.send("POST", path, &headers, body.to_string()).await
    };
    let path = lock_path("orders", b"lock:a", "/acquire");
    let body = json!({"ttl_ms": 60_000});
    let first = send(&path, body.clone()).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let mine = json!({"group": "orders", "key": {"key": "lock:b"}, "format": "plain", "ttl_ms": 60_000, "wait_ms": 0, "label": null, "auto_renew": false});
    assert_eq!(send(&function("acquire"), mine).await.status, 200);
    let again = send(&path, body.clone()).await;
    assert_eq!(
        (again.status, again.json()["token"].clone()),
        (201, first.json()["token"].clone())
    );
    let replays = async || {
        let entries = crate::support::audit::entries(&changing.console.storage_file()).await;
        entries
            .iter()
            .filter(|line| {
                line["act"] == "acquire" && line["key"] == "lock:a" && line["line"] == "end"
            })
            .count()
    };
    eventually_is("the second answer is written down", async || {
        replays().await == 2
    })
    .await;
    changing.now_says(viewer);
    eventually("alice may only look", async || {
        let refused = send(&lock_path("orders", b"lock:c", "/acquire"), body.clone()).await;
        (refused.status == 403).then_some(())
    })
    .await;
    assert_eq!(send(&path, body.clone()).await.code(), "forbidden");
    let id = json!({"id": {"group": "orders", "key": "lock:b"}});
    let token = send(&function("take_token"), id).await;
    assert_eq!(token.json()["code"], "forbidden", "{}", token.text);
}
