//! Lock names, labels and user names with control characters and shell syntax.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use lockkeeper::domain::LockKey;
use serde_json::json;

use super::{Shell, no_lock_left, output_of};
use crate::support::audit::entries;
use crate::support::redis_nodes::RedisNodes;

fn hostile_names() -> Vec<(Vec<u8>, &'static str)> {
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

/// Whether the text has no control characters other than line feeds, and no right-to-left override.
pub fn is_harmless(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\n' || !c.is_control() && c != '\u{202e}')
}

#[tokio::test]
async fn every_name_is_used_byte_for_byte_and_displayed_escaped() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    for (name, displayed) in hostile_names() {
        let name = OsStr::from_bytes(&name);
        let os_str = OsStr::new;
        let acquire = [
            os_str("default"),
            name,
            os_str("--ttl"),
            os_str("1m"),
            os_str("--token-file"),
            os_str("token"),
        ];
        let acquired = shell.run("acquire", &acquire).await;
        assert_eq!(acquired.status, 0, "{name:?}: {acquired:?}");
        assert!(nodes.get(0, name.as_bytes()).await.is_some(), "{name:?}");
        let shown = shell.run("show", &[os_str("default"), name]).await;
        assert_eq!(shown.field("lock"), displayed, "{name:?}");
        let listed = shell.run_line("list --q alice@").await;
        let held = shell.run("acquire", &acquire[..4]).await;
        assert_eq!(held.status, 75, "{held:?}");
        let json = shell
            .run("show", &[os_str("default"), name, os_str("--json")])
            .await
            .json();
        let key: LockKey = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(key.as_bytes(), name.as_bytes(), "{json}");
        for text in [
            &acquired.stdout,
            &shown.stdout,
            &listed.stdout,
            &listed.stderr,
            &held.stderr,
        ] {
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
        assert_eq!(shell.run("release", &release).await.status, 0, "{name:?}");
        assert!(no_lock_left(&nodes).await, "{name:?}");
        std::fs::remove_file(shell.path("token")).unwrap();
    }
}

#[tokio::test]
async fn a_name_of_10_kb_is_accepted_and_one_of_20_kb_is_rejected() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let long = format!("lock:{}", "x".repeat(10_000));
    let acquired = shell
        .run("acquire", &["default", &long, "--ttl", "1m"])
        .await;
    assert_eq!(acquired.status, 0);
    let listed = shell.run_line("list").await;
    assert!(
        listed.stdout.contains(&long),
        "the list does not shorten names, for scripts"
    );
    let held = shell.run("run", &["default", &long, "--", "true"]).await;
    assert_eq!(held.status, 75);
    assert!(
        held.stderr.len() < 1_000,
        "messages shorten long names: {}",
        held.stderr
    );
    let longer = "x".repeat(20_000);
    let rejected = shell
        .run("acquire", &["default", &longer, "--ttl", "1m"])
        .await;
    assert_eq!(rejected.status, 2, "{rejected:?}");
    assert!(rejected.stderr.len() < 1_000);
}

#[tokio::test]
async fn names_can_be_passed_percent_encoded() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    for (encoded, bytes) in [
        ("lock%00zero", &b"lock\0zero"[..]),
        ("%2D%2Dhelp", b"--help"),
    ] {
        let script = "printf %s \"$LOCKKEEPER_KEY\" > key; lockkeeper_holds=1";
        let arguments = [
            "default",
            "--key-encoded",
            encoded,
            "--",
            "sh",
            "-c",
            script,
        ];
        let output = shell.run("run", &arguments).await;
        assert_eq!(output.status, 0, "{output:?}");
        // An environment variable cannot contain a NUL byte, so such a name stays encoded.
        let expected = if bytes.contains(&0) {
            encoded.as_bytes()
        } else {
            bytes
        };
        assert_eq!(std::fs::read(shell.path("key")).unwrap(), expected);
    }
    let separated = shell.run_line("acquire --ttl 1m -- default --help").await;
    assert_eq!(separated.status, 0, "{separated:?}");
    assert!(nodes.get(0, b"--help").await.is_some());
}

#[tokio::test]
async fn a_command_receives_the_name_byte_for_byte() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    for (name, _) in hostile_names() {
        let mut arguments: Vec<OsString> = vec!["default".into(), OsString::from_vec(name.clone())];
        let script = "printf %s \"$LOCKKEEPER_KEY\" > key";
        arguments.extend(["--", "sh", "-c", script].map(OsString::from));
        let output = output_of(shell.command("run", &arguments)).await;
        assert_eq!(output.status, 0, "{output:?}");
        assert_eq!(std::fs::read(shell.path("key")).unwrap(), name);
    }
}

#[tokio::test]
async fn control_characters_in_values_of_other_clients_are_escaped() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let key = "job-lock:default:lock:report";
    let hostile = "evil\x1b[31m\nhost\u{202e}";
    for value in [
        format!("ADDED:2026-11-20T18:00:00.000Z@{hostile}"),
        format!("lockkeeper:{hostile}:9f86d081884c7d659a2feaa0c55ad015"),
        hostile.to_owned(),
    ] {
        nodes
            .set(0, key.as_bytes(), value.as_bytes(), Some(60_000))
            .await;
        let listed = shell.run_line("list").await;
        assert!(listed.stdout.contains(key), "{listed:?}");
        let shown = shell.run("show", &["default", key]).await;
        let held = shell.run("acquire", &["default", key, "--ttl", "1m"]).await;
        assert_eq!(held.status, 75);
        for text in [&listed.stdout, &listed.stderr, &shown.stdout, &held.stderr] {
            assert!(is_harmless(text), "{text:?}");
        }
    }
}

#[tokio::test]
async fn a_hostile_user_name_cannot_forge_audit_entries() {
    let nodes = RedisNodes::start(1).await;
    let forged = "\n{\"seq\":1,\"action\":\"release\",\"actor\":\"root\"}\n\u{1b}[2J\u{202e}";
    let long = "x".repeat(10_000);
    for (user, displayed) in [
        (forged, "\\n{\"seq\":1"),
        ("\u{202e}toor", "\\u{202e}toor@"),
        (long.as_str(), "xxxxxxxx"),
        ("", "uid"),
    ] {
        let shell = Shell::new(&nodes);
        let acquire = ["default", "lock:a", "--ttl", "1m", "--token-file", "token"];
        let release = ["default", "lock:a", "--token-file", "token"];
        for (subcommand, arguments) in [("acquire", &acquire[..]), ("release", &release)] {
            let mut command = shell.command(subcommand, arguments);
            command.env("USER", user).env_remove("LOGNAME");
            let output = output_of(command).await;
            assert_eq!(output.status, 0, "{user:?}: {output:?}");
            assert!(is_harmless(&output.stdout) && is_harmless(&output.stderr));
        }
        let lines = entries(&shell.state_path("lockkeeper/lockkeeper.db")).await;
        let audit = json!(lines).to_string();
        assert!(is_harmless(&audit), "{audit:?}");
        assert_eq!(
            lines.len(),
            4,
            "two operations with a start and an end: {audit}"
        );
        for line in lines {
            let principal = line["actor"].as_str().unwrap();
            assert!(
                principal.starts_with(displayed) && principal.chars().count() <= 48,
                "{principal:?}"
            );
            assert_eq!(line["auth_method"], "command-line");
        }
    }
}
