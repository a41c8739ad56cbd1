//! Names and labels that mean harm, or only look like it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use lockkeeper::domain::LockKey;
use serde_json::json;

use super::{Shell, end_of, nothing_is_left};
use crate::support::audit::entries;
use crate::support::redis_nodes::RedisNodes;

fn hostile() -> Vec<(Vec<u8>, &'static str)> {
    vec![
        (
            b"lock:\x1b[2J\x1b]0;owned\x07".to_vec(),
            "lock:\\u{1b}[2J\\u{1b}]0;owned\\u{7}",
        ),
        (b"lock:a\nlock:b\r\tc".to_vec(), "lock:a\\nlock:b\\r\\tc"),
        (
            "lock:\u{202e}gnp.exe\u{200b}".into(),
            "lock:\\u{202e}gnp.exe\\u{200b}",
        ),
        ("lock:🔒 münchen 锁".into(), "lock:🔒 münchen 锁"),
        (b"lock:\xff\xfe\x80".to_vec(), "lock%3A%FF%FE%80"),
        (b"lock:' ; rm -rf / #".to_vec(), "lock:' ; rm -rf / #"),
        (b"lock:{}%s%n%00".to_vec(), "lock:{}%s%n%00"),
    ]
}

/// Nothing but text and line ends.
pub fn is_harmless(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\n' || !c.is_control() && c != '\u{202e}')
}

#[tokio::test]
async fn every_name_is_taken_byte_for_byte_and_shown_without_harm() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    for (name, seen) in hostile() {
        let name = OsStr::from_bytes(&name);
        let word = OsStr::new;
        let acquire = [
            word("default"),
            name,
            word("--ttl"),
            word("1m"),
            word("--token-file"),
            word("token"),
        ];
        let taken = shell.type_in("acquire", &acquire).await;
        assert_eq!(taken.status, 0, "{name:?}: {taken:?}");
        assert!(nodes.get(0, name.as_bytes()).await.is_some(), "{name:?}");
        let shown = shell.type_in("show", &[word("default"), name]).await;
        assert_eq!(shown.fact("lock"), seen, "{name:?}");
        let listed = shell.types("list --q somebody@").await;
        let held = shell.type_in("acquire", &acquire[..4]).await;
        assert_eq!(held.status, 75, "{held:?}");
        let json = shell
            .type_in("show", &[word("default"), name, word("--json")])
            .await
            .json();
        let key: LockKey = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(key.as_bytes(), name.as_bytes(), "{json}");
        for text in [&taken.out, &shown.out, &listed.out, &listed.err, &held.err] {
            assert!(is_harmless(text), "{name:?}: {text:?}");
        }
        let encoded = LockKey::new(name.as_bytes()).encoded();
        let release = [
            "default",
            "--key-encoded",
            &encoded,
            "--token-file",
            "token",
        ];
        assert_eq!(
            shell.type_in("release", &release).await.status,
            0,
            "{name:?}"
        );
        assert!(nothing_is_left(&nodes).await, "{name:?}");
        std::fs::remove_file(shell.path("token")).unwrap();
    }
}

#[tokio::test]
async fn a_name_of_10_kb_is_fine_and_one_of_20_kb_is_refused() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let long = format!("lock:{}", "x".repeat(10_000));
    let taken = shell
        .type_in("acquire", &["default", &long, "--ttl", "1m"])
        .await;
    assert_eq!(taken.status, 0);
    let listed = shell.types("list").await;
    assert!(
        listed.out.contains(&long),
        "a script may be reading: names stay whole"
    );
    let held = shell
        .type_in("run", &["default", &long, "--", "true"])
        .await;
    assert_eq!(held.status, 75);
    assert!(
        held.err.len() < 1_000,
        "and in a sentence the middle is left out: {}",
        held.err
    );
    let longer = "x".repeat(20_000);
    let refused = shell
        .type_in("acquire", &["default", &longer, "--ttl", "1m"])
        .await;
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.err.len() < 1_000);
}

#[tokio::test]
async fn names_that_cannot_be_typed_are_given_percent_encoded() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    for (encoded, bytes) in [
        ("lock%00zero", &b"lock\0zero"[..]),
        ("%2D%2Dhelp", b"--help"),
    ] {
        let script = "printf %s \"$LOCKKEEPER_KEY\" > key; lockkeeper_holds=1";
        let words = [
            "default",
            "--key-encoded",
            encoded,
            "--",
            "sh",
            "-c",
            script,
        ];
        let ran = shell.type_in("run", &words).await;
        assert_eq!(ran.status, 0, "{ran:?}");
        // No variable can have a zero byte: such a name stays encoded.
        let expected = if bytes.contains(&0) {
            encoded.as_bytes()
        } else {
            bytes
        };
        assert_eq!(std::fs::read(shell.path("key")).unwrap(), expected);
    }
    let separated = shell.types("acquire --ttl 1m -- default --help").await;
    assert_eq!(separated.status, 0, "{separated:?}");
    assert!(nodes.get(0, b"--help").await.is_some());
}

#[tokio::test]
async fn a_command_sees_the_name_byte_for_byte() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    for (name, _) in hostile() {
        let mut words: Vec<OsString> = vec!["default".into(), OsString::from_vec(name.clone())];
        let script = "printf %s \"$LOCKKEEPER_KEY\" > key";
        words.extend(["--", "sh", "-c", script].map(OsString::from));
        let ran = end_of(shell.command("run", &words)).await;
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(std::fs::read(shell.path("key")).unwrap(), name);
    }
}

#[tokio::test]
async fn what_stands_in_somebody_elses_value_does_no_harm() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let key = "job-lock:default:lock:report";
    let evil = "evil\x1b[31m\nhost\u{202e}";
    for value in [
        format!("ADDED:2026-11-20T18:00:00.000Z@{evil}"),
        format!("lockkeeper:{evil}:9f86d081884c7d659a2feaa0c55ad015"),
        evil.to_owned(),
    ] {
        nodes
            .set(0, key.as_bytes(), value.as_bytes(), Some(60_000))
            .await;
        let listed = shell.types("list").await;
        assert!(listed.out.contains(key), "{listed:?}");
        let shown = shell.type_in("show", &["default", key]).await;
        let held = shell
            .type_in("acquire", &["default", key, "--ttl", "1m"])
            .await;
        assert_eq!(held.status, 75);
        for text in [&listed.out, &listed.err, &shown.out, &held.err] {
            assert!(is_harmless(text), "{text:?}");
        }
    }
}

#[tokio::test]
async fn whoever_calls_themselves_oddly_is_one_line_of_the_audit_and_no_other() {
    let nodes = RedisNodes::start(1).await;
    let forged = "\n{\"seq\":1,\"act\":\"release\",\"who\":\"root\"}\n\u{1b}[2J\u{202e}";
    let long = "x".repeat(10_000);
    for (user, seen) in [
        (forged, "\\n{\"seq\":1"),
        ("\u{202e}toor", "\\u{202e}toor@"),
        (long.as_str(), "xxxxxxxx"),
        ("", "uid"),
    ] {
        let shell = Shell::on(&nodes);
        let acquire = ["default", "lock:a", "--ttl", "1m", "--token-file", "token"];
        let release = ["default", "lock:a", "--token-file", "token"];
        for (verb, words) in [("acquire", &acquire[..]), ("release", &release)] {
            let mut command = shell.command(verb, words);
            command.env("USER", user).env_remove("LOGNAME");
            let ended = end_of(command).await;
            assert_eq!(ended.status, 0, "{user:?}: {ended:?}");
            assert!(is_harmless(&ended.out) && is_harmless(&ended.err));
        }
        let lines = entries(&shell.state("lockkeeper/lockkeeper.db")).await;
        let audit = json!(lines).to_string();
        assert!(is_harmless(&audit), "{audit:?}");
        assert_eq!(lines.len(), 4, "two acts, each begun and ended: {audit}");
        for line in lines {
            let who = line["who"].as_str().unwrap();
            assert!(
                who.starts_with(seen) && who.chars().count() <= 48,
                "{who:?}"
            );
            assert_eq!(line["via"], "command-line");
        }
    }
}
