//! The command line as people type it, mistakes included.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::hostile::is_harmless;
use crate::support::console::Person;

fn lockkeeper(arguments: &[&str], folder: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", folder)
        .output()
        .unwrap()
}

/// The same for a line of words that spaces stand between.
fn types(line: &str, folder: &std::path::Path) -> Output {
    lockkeeper(&line.split(' ').collect::<Vec<_>>(), folder)
}

fn complaint(output: &Output) -> (i32, String) {
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_mistake_in_the_configuration_is_told_with_its_place_and_ends_with_status_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("lockkeeper.toml"),
        "listen = \"127.0.0.1:0\"\n[[group]]\nnam = \"x\"\n",
    )
    .unwrap();
    for arguments in [&["serve"][..], &["serve", "--config", "lockkeeper.toml"]] {
        let (status, said) = complaint(&lockkeeper(arguments, folder.path()));
        assert_eq!(status, 2, "{said}");
        assert!(
            said.starts_with("lockkeeper: lockkeeper.toml:3:1: unknown field `nam`"),
            "{said}"
        );
    }
}

#[test]
fn a_url_that_is_not_redis_is_refused_without_repeating_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let (status, said) = complaint(&types("serve --redis http://me:s3cret@h:1", folder.path()));
    assert_eq!(status, 2);
    assert!(
        said.contains("--redis number 1") && said.contains("not Redis") && !said.contains("s3cret"),
        "{said}"
    );
}

#[test]
fn a_port_in_use_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, said) = complaint(&types(
        &format!("serve --redis redis://127.0.0.1:1 --listen {address}"),
        folder.path(),
    ));
    assert_eq!(status, 1);
    assert!(
        said.contains(&format!("{address} is in use")) && said.contains("--listen"),
        "{said}"
    );
}

#[tokio::test]
async fn it_runs_from_any_folder_and_carries_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = tokio::process::Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
        .args("serve --redis redis://127.0.0.1:1 --listen 127.0.0.1:0".split(' '))
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(Duration::from_secs(10), said.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let person = Person::of(line.rsplit("http://").next().unwrap().parse().unwrap());
    let page = person.get("/").await;
    assert_eq!(page.status, 200);
    assert!(
        page.text.contains("Lockkeeper") && page.text.contains("/pkg/lockkeeper.js"),
        "{}",
        page.text
    );
    assert_eq!(person.get("/no/such/page").await.status, 404);
    server.kill().await.unwrap();
}

#[test]
fn every_verb_tells_a_mistake_in_the_configuration_and_ends_with_status_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lockkeeper.toml"), "[[group]]\n").unwrap();
    std::fs::write(folder.path().join("token"), "token").unwrap();
    for verb in [
        "list",
        "check",
        "show g k",
        "acquire g k --ttl 1s",
        "extend g k --ttl 1s --token-file token",
        "release g k --token-file token",
        "force-release g k --fingerprint 0123456789abcdef --reason r",
    ] {
        let (status, said) = complaint(&types(verb, folder.path()));
        assert_eq!(status, 2, "{verb}: {said}");
        let place = "lockkeeper: lockkeeper.toml:1:1: missing field";
        assert!(said.starts_with(place), "{verb}: {said}");
        let output = types(&format!("{verb} --json"), folder.path());
        assert_eq!((output.status.code(), output.stderr.len()), (Some(2), 0));
        let problem: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(problem["code"], "unusable");
    }
    // Standard output is the command's, so `run` tells on standard error.
    let output = types("run g k --json -- true", folder.path());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let problem: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(problem["code"], "unusable");
}

/// What locks are looked at and worked on with.
const VERBS: [&str; 9] = [
    "list",
    "show",
    "acquire",
    "extend",
    "release",
    "force-release",
    "force-releases",
    "vouch",
    "run",
];

/// What is typed, and what the answer says.
const MISTAKES: &str = "
acquire g k --ttl 30 => write 500ms, 30s
acquire g k => --ttl
acquire g k --ttl 1s --format etcd => a format: it is one of plain
show => <[GROUP] KEY>
show g --key-encoded %zz => two hex digits
run g k => <COMMAND>
run g k true => no more were expected
force-release g k --reason r --fingerprint xyz => 16 hex digits
list --verdict free => held, partial, split, unknown
list --verdict größer => 'größer'
extend g k --ttl 1s --token secret => --token-file
completions cobol => cobol
serve --redis redis://h --config x => cannot be used with
serve --config nowhere.toml => lockkeeper: nowhere.toml: cannot be read
";

#[test]
fn what_cannot_be_meant_is_refused_with_the_way_to_write_it() {
    let folder = tempfile::tempdir().unwrap();
    for line in MISTAKES.trim().lines() {
        let (typed, says) = line.split_once(" => ").unwrap();
        let (status, said) = complaint(&types(typed, folder.path()));
        assert_eq!(status, 2, "{typed}: {said}");
        assert!(said.contains(says), "{typed}: {said}");
    }
}

#[test]
fn help_teaches_by_example_and_tells_every_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    for verb in VERBS {
        let output = lockkeeper(&[verb, "--help"], folder.path());
        let help = String::from_utf8(output.stdout).unwrap();
        let example = format!("  lockkeeper {verb} ");
        assert!(
            help.contains("Examples:") && help.contains(&example),
            "{help}"
        );
        assert!(
            help.contains("Exit status:") && help.contains("--json"),
            "{help}"
        );
        // Every example can be typed as it stands: what it says after the verb is known.
        for line in help
            .lines()
            .filter(|line| line.trim_start().starts_with(example.trim_start()))
        {
            for option in line
                .split_whitespace()
                .take_while(|word| *word != "--" && *word != "#")
            {
                let is_told = |line: &str| {
                    line.trim_start().starts_with('-')
                        && line.split([' ', ',', '=']).any(|word| word == option)
                };
                let is_known = !option.starts_with("--") || help.lines().any(is_told);
                assert!(is_known, "{option} in {line}");
            }
        }
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_examples_as_they_are_typed() {
    let folder = tempfile::tempdir().unwrap();
    let written = lockkeeper(&["man", "--into", "."], folder.path());
    assert!(written.status.success(), "{written:?}");
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let first = page("lockkeeper.1");
    for verb in ["serve", "list", "acquire", "force-release", "run", "man"] {
        let named = verb.replace('-', "\\-");
        assert!(
            first.contains(&format!("lockkeeper\\-{named}")),
            "{verb} in {first}"
        );
        assert!(page(&format!("lockkeeper-{verb}.1")).contains("\n.nf\nExamples:\n"));
    }
    let shown = lockkeeper(&["man"], folder.path());
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), first);
}

#[test]
fn shells_get_completions_for_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = lockkeeper(&["completions", shell], folder.path());
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        for verb in VERBS {
            assert!(script.contains(verb), "{shell} {verb}");
        }
        assert!(!script.contains("guard"), "{shell}");
    }
}

#[test]
fn what_was_typed_wrong_is_repeated_without_doing_anything_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let typed = "a\u{202e}b\u{1b}[31mc\nerror: d";
    let seen = "a\\u{202e}b\\u{1b}[31mc\\nerror: d";
    let (option, search) = (format!("--{typed}"), format!("lease<{typed}"));
    for words in [
        &["acquire", "g", "k", "--ttl", typed][..],
        &["list", "--verdict", typed],
        &["list", "--q", &search],
        &["list", typed],
        &["list", &option],
        &["run", "g", "k", &option],
        &["serve", "--log-format", typed],
        &["serve", "--listen", typed],
        &["completions", typed],
        &[typed],
    ] {
        let (status, said) = complaint(&lockkeeper(words, folder.path()));
        assert_eq!(status, 2, "{words:?}: {said}");
        assert!(is_harmless(&said), "{words:?}: {said:?}");
        assert!(said.contains(seen), "{words:?}: {said}");
        assert_eq!(
            said.lines()
                .filter(|line| line.starts_with("error:"))
                .count(),
            1,
            "{said}"
        );
    }
}
