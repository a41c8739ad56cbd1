//! Arguments, help and usage errors.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::hostile_names::is_harmless;
use crate::support::console::ApiClient;

fn lockkeeper(arguments: &[&str], folder: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", folder)
        .output()
        .unwrap()
}

/// Runs a command line, split at spaces.
fn lockkeeper_line(line: &str, folder: &std::path::Path) -> Output {
    lockkeeper(&line.split(' ').collect::<Vec<_>>(), folder)
}

fn status_and_stderr(output: &Output) -> (i32, String) {
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_configuration_error_is_reported_with_its_position_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("lockkeeper.toml"),
        "listen = \"127.0.0.1:0\"\n[[group]]\nnam = \"x\"\n",
    )
    .unwrap();
    for arguments in [&["serve"][..], &["serve", "--config", "lockkeeper.toml"]] {
        let (status, stderr) = status_and_stderr(&lockkeeper(arguments, folder.path()));
        assert_eq!(status, 2, "{stderr}");
        assert!(
            stderr.starts_with("lockkeeper: lockkeeper.toml:3:1: unknown field `nam`"),
            "{stderr}"
        );
    }
}

#[test]
fn a_url_with_another_scheme_is_rejected_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let (status, stderr) = status_and_stderr(&lockkeeper_line(
        "serve --redis http://me:s3cret@h:1",
        folder.path(),
    ));
    assert_eq!(status, 2);
    assert!(
        stderr.contains("--redis URL 1")
            && stderr.contains("not a Redis scheme")
            && !stderr.contains("s3cret"),
        "{stderr}"
    );
}

#[test]
fn a_port_in_use_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let acquired = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = acquired.local_addr().unwrap().to_string();
    let (status, stderr) = status_and_stderr(&lockkeeper_line(
        &format!("serve --redis redis://127.0.0.1:1 --listen {address}"),
        folder.path(),
    ));
    assert_eq!(status, 1);
    assert!(
        stderr.contains(&format!("{address} is already in use")) && stderr.contains("--listen"),
        "{stderr}"
    );
}

#[tokio::test]
async fn the_console_runs_from_any_directory_with_embedded_pages() {
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
    let mut stdout = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(Duration::from_secs(10), stdout.next_line())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let api = ApiClient::new(line.rsplit("http://").next().unwrap().parse().unwrap());
    let page = api.get("/").await;
    assert_eq!(page.status, 200);
    assert!(
        page.text.contains("Lockkeeper") && page.text.contains("/pkg/lockkeeper.js"),
        "{}",
        page.text
    );
    assert_eq!(api.get("/no/such/page").await.status, 404);
    server.kill().await.unwrap();
}

#[test]
fn every_command_reports_a_configuration_error_with_status_2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lockkeeper.toml"), "[[group]]\n").unwrap();
    std::fs::write(folder.path().join("token"), "token").unwrap();
    for subcommand in [
        "list",
        "check",
        "show g k",
        "acquire g k --ttl 1s",
        "extend g k --ttl 1s --token-file token",
        "release g k --token-file token",
        "force-release g k --fingerprint 0123456789abcdef --reason r",
    ] {
        let (status, stderr) = status_and_stderr(&lockkeeper_line(subcommand, folder.path()));
        assert_eq!(status, 2, "{subcommand}: {stderr}");
        let place = "lockkeeper: lockkeeper.toml:1:1: missing field";
        assert!(stderr.starts_with(place), "{subcommand}: {stderr}");
        let output = lockkeeper_line(&format!("{subcommand} --json"), folder.path());
        assert_eq!((output.status.code(), output.stderr.len()), (Some(2), 0));
        let problem: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(problem["code"], "unusable");
    }
    // Standard output belongs to the command, so `run` prints errors on standard error.
    let output = lockkeeper_line("run g k --json -- true", folder.path());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let problem: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(problem["code"], "unusable");
}

/// The subcommands that work with locks.
const COMMANDS: [&str; 8] = [
    "list",
    "show",
    "acquire",
    "extend",
    "release",
    "force-release",
    "clear-restart-hazard",
    "run",
];

/// Command lines and a part of their error message.
const USAGE_ERRORS: &str = "
acquire g k --ttl 30 => write 500ms, 30s
acquire g k => --ttl
acquire g k --ttl 1s --format etcd => must be one of plain
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
fn usage_errors_are_rejected_with_the_correct_syntax() {
    let folder = tempfile::tempdir().unwrap();
    for line in USAGE_ERRORS.trim().lines() {
        let (command_line, expected) = line.split_once(" => ").unwrap();
        let (status, stderr) = status_and_stderr(&lockkeeper_line(command_line, folder.path()));
        assert_eq!(status, 2, "{command_line}: {stderr}");
        assert!(stderr.contains(expected), "{command_line}: {stderr}");
    }
}

#[test]
fn help_has_examples_and_exit_statuses() {
    let folder = tempfile::tempdir().unwrap();
    for subcommand in COMMANDS {
        let output = lockkeeper(&[subcommand, "--help"], folder.path());
        let help = String::from_utf8(output.stdout).unwrap();
        let example = format!("  lockkeeper {subcommand} ");
        assert!(
            help.contains("Examples:") && help.contains(&example),
            "{help}"
        );
        assert!(
            help.contains("Exit status:") && help.contains("--json"),
            "{help}"
        );
        // Every option in an example must be documented.
        for line in help
            .lines()
            .filter(|line| line.trim_start().starts_with(example.trim_start()))
        {
            for option in line
                .split_whitespace()
                .take_while(|word| *word != "--" && *word != "#")
            {
                let documents = |line: &str| {
                    line.trim_start().starts_with('-')
                        && line.split([' ', ',', '=']).any(|word| word == option)
                };
                let is_documented = !option.starts_with("--") || help.lines().any(documents);
                assert!(is_documented, "{option} in {line}");
            }
        }
    }
}

#[test]
fn every_command_has_a_manual_page_with_verbatim_examples() {
    let folder = tempfile::tempdir().unwrap();
    let written = lockkeeper(&["man", "--out-dir", "."], folder.path());
    assert!(written.status.success(), "{written:?}");
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let index_page = page("lockkeeper.1");
    for subcommand in ["serve", "list", "acquire", "force-release", "run", "man"] {
        let named = subcommand.replace('-', "\\-");
        assert!(
            index_page.contains(&format!("lockkeeper\\-{named}")),
            "{subcommand} in {index_page}"
        );
        assert!(page(&format!("lockkeeper-{subcommand}.1")).contains("\n.nf\nExamples:\n"));
    }
    let shown = lockkeeper(&["man"], folder.path());
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), index_page);
}

#[test]
fn completions_contain_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = lockkeeper(&["completions", shell], folder.path());
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        for subcommand in COMMANDS {
            assert!(script.contains(subcommand), "{shell} {subcommand}");
        }
        assert!(!script.contains("guard"), "{shell}");
    }
}

#[test]
fn invalid_arguments_are_repeated_with_escaped_control_characters() {
    let folder = tempfile::tempdir().unwrap();
    let command_line = "a\u{202e}b\u{1b}[31mc\nerror: d";
    let escaped = "a\\u{202e}b\\u{1b}[31mc\\nerror: d";
    let (option, search) = (format!("--{command_line}"), format!("lease<{command_line}"));
    for arguments in [
        &["acquire", "g", "k", "--ttl", command_line][..],
        &["list", "--verdict", command_line],
        &["list", "--q", &search],
        &["list", command_line],
        &["list", &option],
        &["run", "g", "k", &option],
        &["serve", "--log-format", command_line],
        &["serve", "--listen", command_line],
        &["completions", command_line],
        &[command_line],
    ] {
        let (status, stderr) = status_and_stderr(&lockkeeper(arguments, folder.path()));
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        assert!(is_harmless(&stderr), "{arguments:?}: {stderr:?}");
        assert!(stderr.contains(escaped), "{arguments:?}: {stderr}");
        assert_eq!(
            stderr
                .lines()
                .filter(|line| line.starts_with("error:"))
                .count(),
            1,
            "{stderr}"
        );
    }
}
