//! Take, show, extend, release, force-release: what they say, and with what status they end.

use lockkeeper::domain::LockKey;
use serde_json::Value;

use super::{Shell, end_of, nothing_is_left};
use crate::support::console::TestConsole;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

const LOCK: [&str; 2] = ["default", "lock:payout/eu"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [LOCK.as_slice(), more].concat()
}

/// The names of an object's fields.
fn fields(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[tokio::test]
async fn a_lock_goes_through_its_life_in_words() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let taken = shell
        .type_in("acquire", &with(&["--ttl", "30s", "--label", "deploy"]))
        .await;
    assert_eq!((taken.status, taken.err.as_str()), (0, ""));
    let token = taken.fact("token");
    let key = LockKey::from(LOCK[1]);
    let there: Vec<_> = nodes.values(0..3, &key).await;
    assert_eq!(there, vec![Some(token.as_bytes().to_vec()); 3]);
    assert!(taken.fact("nodes").contains("a acquired"), "{taken:?}");

    let shown = shell.type_in("show", &LOCK).await;
    assert_eq!((shown.status, shown.err.as_str()), (0, ""));
    assert_eq!(shown.fact("fingerprint"), taken.fact("fingerprint"));
    assert!(
        shown.out.contains("on 3 of 3 nodes") && shown.out.contains("deploy"),
        "{shown:?}"
    );
    assert!(!shown.out.contains(token), "a token is shown once");

    std::fs::write(shell.path("token"), format!("{token}\n")).unwrap();
    let extended = shell
        .type_in("extend", &with(&["--ttl", "10m", "--token-file", "token"]))
        .await;
    assert_eq!((extended.status, extended.err.as_str()), (0, ""));
    assert!(extended.fact("valid for").starts_with("9m"), "{extended:?}");

    let mut release = shell.command("release", &LOCK);
    let released = end_of(release.env("LOCKKEEPER_TOKEN", token)).await;
    assert_eq!((released.status, released.err.as_str()), (0, ""));
    // A quorum is enough for the answer; the last node may not have answered by then.
    let on_nodes: Vec<&str> = released.fact("nodes").split(", ").collect();
    let done = on_nodes.iter().filter(|node| node.ends_with(" released"));
    assert!(on_nodes.len() == 3 && done.count() >= 2, "{released:?}");
    eventually_is("nothing is left", async || nothing_is_left(&nodes).await).await;
}

#[tokio::test]
async fn in_json_it_speaks_like_the_api() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let mut group = nodes.config();
    group.name = "default".into();
    let console = TestConsole::start(vec![group]).await;
    let person = console.person();
    let path = "/api/v1/groups/default/locks/lock%3Apayout%2Feu";
    let body = |token: &Value| serde_json::json!({"token": token, "ttl_ms": 30_000});
    let post = async |act: &str, body: Value| person.post(&format!("{path}/{act}"), body).await;

    let api = post("acquire", serde_json::json!({"ttl_ms": 30_000}))
        .await
        .json();
    let api_extended = post("extend", body(&api["token"])).await.json();
    let api_shown = person.get(path).await.json();
    let api_listed = person.get("/api/v1/locks").await.json();
    let api_refused = post("acquire", serde_json::json!({"ttl_ms": 30_000}))
        .await
        .json();
    let api_released = post("release", serde_json::json!({"token": api["token"]}))
        .await
        .json();
    console.stop().await;

    let json = async |verb: &str, more: &[&str]| {
        let ended = shell
            .type_in(verb, &[&with(more), ["--json"].as_slice()].concat())
            .await;
        assert_eq!(ended.err, "", "one document on standard output is all");
        ended
    };
    let taken = json("acquire", &["--ttl", "30s"]).await.json();
    assert_eq!(fields(&taken), fields(&api));
    std::fs::write(shell.path("token"), taken["token"].as_str().unwrap()).unwrap();
    let extended = json("extend", &["--ttl", "30s", "--token-file", "token"])
        .await
        .json();
    assert_eq!(fields(&extended), fields(&api_extended));
    let shown = json("show", &[]).await.json();
    let mut seen_now = fields(&api_shown);
    // Who held it before is known to a console, which was there.
    seen_now.retain(|field| *field != "history");
    assert_eq!(fields(&shown), seen_now);
    assert_eq!(shown["owner"]["fingerprint"], taken["fingerprint"]);
    let listed = shell.types("list --json").await.json();
    let mut more = fields(&listed);
    more.retain(|field| !["complete", "groups"].contains(field));
    assert_eq!(more, fields(&api_listed));
    assert_eq!(fields(&listed["locks"][0]), fields(&shown));
    let refused = json("acquire", &["--ttl", "30s"]).await;
    assert_eq!(refused.status, 75);
    let refused = refused.json();
    assert_eq!(refused["code"], "held");
    assert_eq!(refused["owner"]["fingerprint"], taken["fingerprint"]);
    for fact in [
        "detail",
        "advice",
        "owner",
        "lease_ms",
        "retry_after_ms",
        "nodes",
    ] {
        assert!(
            !api_refused[fact].is_null() && !refused[fact].is_null(),
            "{fact}: {refused}"
        );
    }
    let released = json("release", &["--token-file", "token"]).await.json();
    assert_eq!(fields(&released), fields(&api_released));
}

/// Status, code and what is typed: while nobody has the lock, then while somebody has.
const REFUSALS: [&str; 2] = [
    "
6 not-observed show
3 not-held extend --token-file token --ttl 30s
3 not-held release --token-file token
3 not-held force-release --fingerprint 0123456789abcdef --reason test
",
    "
75 held acquire --ttl 30s
4 not-owner extend --token-file token --ttl 30s
4 not-owner release --token-file token
5 owner-changed force-release --fingerprint 0123456789abcdef --reason test
2 impossible acquire --ttl 2h
2 impossible acquire --ttl 1ms
2 unusable release
2 unusable release --token-file empty
2 unusable release --token-file binary
2 unusable release --token-file huge
2 unusable release --token-file nowhere
2 unusable release --token-file /
",
];

#[tokio::test]
async fn every_refusal_has_a_status_of_its_own() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    std::fs::write(shell.path("token"), "somebody-else").unwrap();
    std::fs::write(shell.path("empty"), "\n").unwrap();
    std::fs::write(shell.path("binary"), b"\xff\xfe").unwrap();
    std::fs::write(shell.path("huge"), "x".repeat(100_000)).unwrap();
    let lock = LOCK[1].as_bytes();
    let say = async |typed: &str| {
        let (verb, more) = typed.split_once(' ').unwrap_or((typed, ""));
        let more = more.split_whitespace().chain(["--json"]);
        let line: Vec<&str> = LOCK.into_iter().chain(more).collect();
        let ended = shell.type_in(verb, &line).await;
        let code = ended.json()["code"].as_str().unwrap().to_owned();
        (ended.status.to_string(), code)
    };
    for (refusals, is_held) in REFUSALS.into_iter().zip([false, true]) {
        for n in 0..3 {
            if is_held {
                nodes.set(n, lock, b"the-owner", Some(60_000)).await;
            }
        }
        for line in refusals.trim().lines() {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            let expected = (parts.next().unwrap(), parts.next().unwrap());
            assert_eq!(say(&parts.next().unwrap()).await, expected, "{line}");
        }
    }
    let unknown = shell.types("show orders lock:a --json").await;
    assert_eq!(unknown.status, 2);
    assert_eq!(unknown.json()["code"], "unknown-group");
    let advice = unknown.json()["advice"].to_string();
    assert!(advice.contains("default"), "{unknown:?}");
    for n in 0..3 {
        assert_eq!(nodes.get(n, lock).await.unwrap(), b"the-owner");
        nodes.delete(n, lock).await;
        nodes.hash(n, lock, b"a", b"b").await;
    }
    let wrong_type = ("1".to_owned(), "wrong-type".to_owned());
    assert_eq!(say("acquire --ttl 30s").await, wrong_type);
}

#[tokio::test]
async fn somebody_elses_lock_is_freed_by_its_fingerprint() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    nodes.set_first(3, LOCK[1].as_bytes(), b"stuck", None).await;
    let shown = shell.type_in("show", &LOCK).await;
    let force = [
        "--fingerprint",
        shown.fact("fingerprint"),
        "--reason",
        "its host is gone",
    ];
    let freed = shell.type_in("force-release", &with(&force)).await;
    assert_eq!((freed.status, freed.err.as_str()), (0, ""));
    assert!(freed.out.contains("does not stop the process"), "{freed:?}");
    assert!(nothing_is_left(&nodes).await);
}

#[tokio::test]
async fn production_wants_the_name_once_more_and_read_only_refuses_every_act() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let group = |name: &str, more: &str| {
        let port = nodes.0[0].port();
        format!(
            "[[group]]\nname = \"{name}\"\n{more}\nnode = [{{ url = \"redis://127.0.0.1:{port}\" }}]\n"
        )
    };
    let config =
        group("live", "environment = \"production\"") + &group("frozen", "read_only = true");
    std::fs::write(shell.path("lockkeeper.toml"), config).unwrap();
    nodes.set(0, b"lock:a", b"stuck", None).await;
    let shown = end_of(shell.bare(&["show", "live", "lock:a", "--json"]))
        .await
        .json();
    let fingerprint = shown["owner"]["fingerprint"].as_str().unwrap();
    let words = [
        "force-release",
        "live",
        "lock:a",
        "--reason",
        "r",
        "--fingerprint",
        fingerprint,
    ];
    for confirm in [&[][..], &["--confirm", "lock:b"]] {
        let refused = end_of(shell.bare(&[words.as_slice(), confirm].concat())).await;
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.err.contains("--confirm"), "{refused:?}");
    }
    let frozen = end_of(shell.bare(&["acquire", "frozen", "lock:b", "--ttl", "1s"])).await;
    assert_eq!(frozen.status, 2, "{frozen:?}");
    assert!(frozen.err.contains("read-only"), "{frozen:?}");
    let freed = [words.as_slice(), &["--confirm", "lock:a"]].concat();
    assert_eq!(end_of(shell.bare(&freed)).await.status, 0);
    assert!(nothing_is_left(&nodes).await);
}

#[tokio::test]
async fn too_few_nodes_are_told_from_a_lock_that_is_held() {
    let mut nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    nodes.0[2].kill().await;
    let taken = shell
        .type_in("acquire", &with(&["--ttl", "30s", "--json"]))
        .await;
    assert_eq!(taken.status, 0, "{taken:?}");
    std::fs::write(shell.path("token"), taken.json()["token"].as_str().unwrap()).unwrap();
    nodes.0[1].kill().await;
    let token = ["--token-file", "token"];
    for (verb, more, code) in [
        ("show", &[][..], "unreachable"),
        ("acquire", &["--ttl", "30s"], "no-quorum"),
        (
            "extend",
            &[&token[..], &["--ttl", "30s"]].concat(),
            "no-quorum",
        ),
    ] {
        let refused = shell
            .type_in(verb, &[&with(more), &["--json"][..]].concat())
            .await;
        let problem = refused.json();
        // The lock stands on one node: seen there, it is not known what it is worth.
        if verb == "show" && refused.status == 0 {
            assert_eq!(problem["verdict"], "unknown", "{refused:?}");
            continue;
        }
        assert_eq!(
            (refused.status, problem["code"].as_str()),
            (1, Some(code)),
            "{refused:?}"
        );
    }
    let words = shell.types("acquire default lock:b --ttl 30s").await;
    assert!(
        words.err.contains("node b: connection refused"),
        "{words:?}"
    );
    assert_eq!(
        nodes.get(0, b"lock:b").await,
        None,
        "nothing stays on the one that is left"
    );
}

#[tokio::test]
async fn a_release_that_reaches_a_minority_has_a_status_of_its_own() {
    let mut nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let taken = shell.type_in("acquire", &with(&["--ttl", "10m"])).await;
    let (token, fingerprint) = (taken.fact("token"), taken.fact("fingerprint"));
    let fingerprint = fingerprint.replace(' ', "");
    nodes.0[1].kill().await;
    nodes.0[2].kill().await;
    let words = ["--fingerprint", &fingerprint, "--reason", "stuck"];
    let forced = shell.type_in("force-release", &with(&words)).await;
    assert_eq!(forced.status, 7, "{forced:?}");
    assert!(
        forced.err.contains("the release reaches 1 of 3 nodes") && forced.err.contains("node b: "),
        "{forced:?}"
    );
    nodes
        .set(0, LOCK[1].as_bytes(), token.as_bytes(), None)
        .await;
    let mut release = shell.command("release", &with(&["--json"]));
    let released = end_of(release.env("LOCKKEEPER_TOKEN", token)).await;
    assert_eq!(released.status, 7, "{released:?}");
    assert_eq!(released.json()["code"], "partly-released", "{released:?}");
}

#[tokio::test]
async fn the_group_may_be_left_out_while_there_is_only_one() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let key = LOCK[1];
    let taken = shell.type_in("acquire", &[key, "--ttl", "30s"]).await;
    assert_eq!(taken.status, 0, "{taken:?}");
    let token = taken.fact("token");
    let shown = shell.type_in("show", &[key]).await;
    assert_eq!(shown.status, 0, "{shown:?}");
    std::fs::write(shell.path("token"), token).unwrap();
    for words in [
        &["extend", key, "--ttl", "20s", "--token-file", "token"][..],
        &["release", key, "--token-file", "token"],
        &["run", key, "--", "true"],
        &["run", "default", key, "--", "true"],
    ] {
        let done = shell.type_in(words[0], &words[1..]).await;
        assert_eq!(done.status, 0, "{done:?}");
    }

    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let group = |name: &str| {
        format!(
            "[[group]]\nname = \"{name}\"\nkind = \"standalone\"\nnode = [{{ url = \"{url}\" }}]\n"
        )
    };
    let file = ["orders", "billing"].map(group).concat();
    std::fs::write(shell.path("lockkeeper.toml"), file).unwrap();
    let several = end_of(shell.bare(&["show", key])).await;
    assert_eq!(several.status, 2, "{several:?}");
    assert!(
        several.err.contains("orders, billing") && several.err.contains("GROUP"),
        "{several:?}"
    );
    let named = end_of(shell.bare(&["show", "orders", key])).await;
    assert_eq!(named.status, 6, "{named:?}");
}

#[tokio::test]
async fn a_lock_without_a_name_is_a_mistake() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    for words in [
        &["acquire", "default", "", "--ttl", "30s"][..],
        &["show", "default", ""],
        &["run", "default", "", "--", "true"],
    ] {
        let refused = shell.type_in(words[0], &words[1..]).await;
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.err.contains("KEY is empty"), "{refused:?}");
    }
    assert!(nothing_is_left(&nodes).await);
}
