//! `run`: a command that runs while the lock is held.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;

use super::{
    Shell, no_lock_left, output_of, send_signal, sleeping_pids, unique_sleep_seconds,
    wait_for_output,
};
use crate::support::redis_nodes::RedisNodes;
use crate::support::run_command;
use crate::support::{wait_for, wait_until};

const LOCK: [&str; 2] = ["default", "lock:job"];

fn run<'a>(command: &[&'a str]) -> Vec<&'a str> {
    [&LOCK, &["--"][..], command].concat()
}

#[tokio::test]
async fn the_exit_status_of_the_command_is_returned_and_the_lock_is_released() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    for (script, status) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
    ] {
        let output = shell.run("run", &run(&["sh", "-c", script])).await;
        assert_eq!(
            (output.status, output.stderr.as_str()),
            (status, ""),
            "{script}"
        );
        assert!(no_lock_left(&nodes).await, "{script}");
    }
}

#[tokio::test]
async fn input_output_arguments_and_environment_are_passed_to_the_command() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let script = r#"cat; echo "$1|$2|$LOCKKEEPER_KEY|$LOCKKEEPER_TOKEN|$OTHER"; echo err >&2"#;
    let mut command = shell.command("run", &run(&["sh", "-c", script, "sh", "a b", "--json"]));
    let mut child = command
        .env("OTHER", "x")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"from stdin\n").await.unwrap();
    let value = wait_for("the lock", async || nodes.get(0, LOCK[1].as_bytes()).await).await;
    drop(stdin);
    let output = wait_for_output(child).await;
    let token = String::from_utf8(value).unwrap();
    assert!(
        token.starts_with("lockkeeper:alice@"),
        "the token has a readable label: {token}"
    );
    assert_eq!(
        output.stdout,
        format!("from stdin\na b|--json|lock:job|{token}|x\n")
    );
    assert_eq!((output.status, output.stderr.as_str()), (0, "err\n"));
}

#[tokio::test]
async fn a_command_that_cannot_be_started_leaves_no_lock() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    std::fs::write(shell.path("text"), "no program").unwrap();
    for (command, status) in [
        ("no-such-command", 127),
        ("./no/such/file", 127),
        ("", 127),
        ("./text", 126),
        ("/", 126),
    ] {
        let output = shell.run("run", &run(&[command])).await;
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (status, ""),
            "{output:?}"
        );
        assert!(
            output.stderr.starts_with(&format!("lockkeeper: {command}")),
            "{output:?}"
        );
        assert!(no_lock_left(&nodes).await, "{command}");
    }
    let output = shell
        .run(
            "run",
            &[&LOCK, &["--json", "--", "no-such-command"][..]].concat(),
        )
        .await;
    let problem: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!(problem["code"], "command-not-found");
}

#[tokio::test]
async fn two_commands_never_run_at_the_same_time_and_the_second_exits_with_75() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let first = shell
        .start_run(&LOCK, ": > begun; while [ ! -e end ]; do sleep 0.01; done")
        .await;
    let rejected = shell.run("run", &run(&["touch", "late"])).await;
    assert_eq!(rejected.status, 75, "{rejected:?}");
    assert!(rejected.stderr.contains("held by alice@"), "{rejected:?}");
    let wait = [&LOCK, &["--wait", "200ms", "--", "touch", "late"][..]].concat();
    assert_eq!(shell.run("run", &wait).await.status, 75);
    assert!(!shell.path("late").exists());

    let waiting = [&LOCK, &["--wait", "20s", "--", "touch", "patient"][..]].concat();
    let waiting = shell.command("run", &waiting).spawn().unwrap();
    std::fs::write(shell.path("end"), "").unwrap();
    assert_eq!(wait_for_output(first).await.status, 0);
    assert_eq!(wait_for_output(waiting).await.status, 0);
    assert!(shell.path("patient").exists());
    assert!(no_lock_left(&nodes).await);
}

#[tokio::test]
async fn a_nested_run_of_the_same_lock_does_not_acquire_it() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let me = env!("CARGO_BIN_EXE_lockkeeper");
    let nested = [
        me, "run", "default", "lock:job", "--redis", &url, "--", "true",
    ];
    assert_eq!(shell.run("run", &run(&nested)).await.status, 75);
    // A nested command can use another lock; the token of this lock is not used for it.
    let other = [
        me,
        "acquire",
        "default",
        "lock:other",
        "--redis",
        &url,
        "--ttl",
        "1m",
    ];
    assert_eq!(shell.run("run", &run(&other)).await.status, 0);
    let extend = [
        me, "extend", "default", "lock:job", "--redis", &url, "--ttl", "1m",
    ];
    assert_eq!(
        shell.run("run", &run(&extend)).await.status,
        0,
        "LOCKKEEPER_TOKEN has the token of this lock"
    );
}

#[tokio::test]
async fn the_lease_is_renewed_while_the_command_runs() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let options = [&LOCK, &["--ttl", "1s"][..]].concat();
    let child = shell
        .start_run(
            &options,
            ": > begun; while [ ! -e end ]; do sleep 0.01; done",
        )
        .await;
    let started = Instant::now();
    let first = nodes.get(0, LOCK[1].as_bytes()).await;
    while started.elapsed() < Duration::from_secs(3) {
        let now = nodes.get(0, LOCK[1].as_bytes()).await;
        assert!(
            now.is_some() && now == first,
            "held with the same token all the time"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    std::fs::write(shell.path("end"), "").unwrap();
    let output = wait_for_output(child).await;
    assert_eq!((output.status, output.stderr.as_str()), (0, ""));
    assert!(no_lock_left(&nodes).await);
}

#[tokio::test]
async fn signals_are_passed_on_to_the_command() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    for name in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] {
        let script = format!(
            "trap 'echo {name} >> received; exit 9' {name}; : > begun; while :; do sleep 0.01; done"
        );
        let child = shell.start_run(&LOCK, &script).await;
        send_signal(&child, name);
        let output = wait_for_output(child).await;
        assert_eq!(
            (output.status, shell.read("received")),
            (9, format!("{name}\n")),
            "{output:?}"
        );
        assert!(no_lock_left(&nodes).await, "{name}");
        std::fs::remove_file(shell.path("received")).unwrap();
        std::fs::remove_file(shell.path("begun")).unwrap();
    }
}

#[tokio::test]
async fn sigterm_ends_the_command_with_its_children_and_releases_the_lock() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let time = unique_sleep_seconds();
    let child = shell
        .start_run(
            &LOCK,
            &format!(": > begun; sleep {time} | sleep {time}; true"),
        )
        .await;
    wait_until("both processes sleep", async || {
        sleeping_pids(&time).len() == 2
    })
    .await;
    send_signal(&child, "TERM");
    let output = wait_for_output(child).await;
    assert_eq!((output.status, output.stderr.as_str()), (143, ""));
    assert_eq!(sleeping_pids(&time), Vec::<u32>::new());
    assert!(no_lock_left(&nodes).await);
}

#[tokio::test]
async fn killing_run_leaves_no_orphan_process() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let time = unique_sleep_seconds();
    let script = format!("trap '' TERM INT HUP; : > begun; sleep {time} & sleep {time}; true");
    let mut child = shell.start_run(&LOCK, &script).await;
    wait_until("both processes sleep", async || {
        sleeping_pids(&time).len() == 2
    })
    .await;
    assert_eq!(
        shell.process_count(),
        5,
        "run, guard, script and two sleep processes"
    );
    child.start_kill().unwrap();
    child.wait().await.unwrap();
    wait_until("no orphan process", async || {
        sleeping_pids(&time).is_empty()
    })
    .await;
    wait_until("no guard and no script", async || {
        shell.process_count() == 0
    })
    .await;
    let left = nodes.get(0, LOCK[1].as_bytes()).await;
    assert!(
        left.is_some(),
        "the lock is not released and expires with its lease"
    );
}

#[tokio::test]
async fn background_processes_of_the_command_are_ended_before_the_release() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let time = unique_sleep_seconds();
    let output = shell
        .run(
            "run",
            &run(&["sh", "-c", &format!("sleep {time} & exit 4")]),
        )
        .await;
    assert_eq!((output.status, output.stderr.as_str()), (4, ""));
    assert_eq!(sleeping_pids(&time), Vec::<u32>::new());

    // A process that ignores SIGTERM keeps the lock until --kill-after.
    let script = format!(
        "(trap '' TERM; : > deaf; exec sleep {time}) & while [ ! -e deaf ]; do sleep 0.01; done; exit 4"
    );
    let options = ["--kill-after", "3s", "--ttl", "2s", "--wait", "10s"];
    let arguments = [&LOCK, &options[..], &["--", "sh", "-c", &script]].concat();
    let child = shell.command("run", &arguments).spawn().unwrap();
    wait_until("the process is in the background", async || {
        sleeping_pids(&time).len() == 1
    })
    .await;
    wait_until("the process is killed while the lock is held", async || {
        let held = nodes.get(0, LOCK[1].as_bytes()).await.is_some();
        let runs = !sleeping_pids(&time).is_empty();
        assert!(held || !runs);
        !runs
    })
    .await;
    let output = wait_for_output(child).await;
    assert_eq!(output.status, 4);
    assert!(
        output.stderr.contains("terminated before the release"),
        "{output:?}"
    );
    assert!(no_lock_left(&nodes).await);

    // A process in its own session is a daemon and is not ended.
    let script = format!(
        "setsid sh -c ': > apart; exec sleep {time} >/dev/null 2>&1' & while [ ! -e apart ]; do sleep 0.01; done; exit 4"
    );
    let output = shell.run("run", &run(&["sh", "-c", &script])).await;
    assert_eq!(output.status, 4);
    let daemon = wait_for("the daemon", async || sleeping_pids(&time).first().copied()).await;
    let daemon = daemon.to_string();
    assert!(
        std::process::Command::new("kill")
            .arg(daemon)
            .status()
            .unwrap()
            .success()
    );
}

#[tokio::test]
async fn signals_that_are_ignored_at_startup_stay_ignored() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let mut nohup = tokio::process::Command::new("sh");
    let script = "trap '' HUP; exec \"$@\"";
    let job = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 5";
    let me = env!("CARGO_BIN_EXE_lockkeeper");
    nohup.args([
        "-c", script, "sh", me, "run", "default", "lock:job", "--redis", &url,
    ]);
    let child = nohup
        .args(["--", "sh", "-c", job])
        .current_dir(shell.path("."))
        .spawn()
        .unwrap();
    wait_until("the script runs", async || shell.path("begun").exists()).await;
    send_signal(&child, "HUP");
    std::fs::write(shell.path("end"), "").unwrap();
    let status = { child }.wait().await.unwrap();
    assert_eq!(status.code(), Some(5));
}

#[tokio::test]
async fn a_failed_release_is_reported_and_does_not_change_the_exit_status() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let script = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 6";
    let child = shell.start_run(&LOCK, script).await;
    nodes.delete(0, LOCK[1].as_bytes()).await;
    std::fs::write(shell.path("end"), "").unwrap();
    let output = wait_for_output(child).await;
    assert_eq!(output.status, 6);
    assert!(
        output.stderr.contains("may have run without the lock"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_hanging_node_does_not_delay_the_start() {
    let nodes = RedisNodes::start(5).await;
    let shell = Shell::new(&nodes);
    // A hanging node may delay an acquire by a share of the lease, but not by the connection
    // timeout.
    nodes.0[4].pause().await;
    let started = Instant::now();
    let arguments = [&LOCK, &["--ttl", "2s", "--", "true"][..]].concat();
    let output = output_of(shell.command("run", &arguments)).await;
    let took = started.elapsed();
    nodes.0[4].resume().await;
    assert_eq!(output.status, 0, "{output:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn a_lock_that_another_owner_acquired_on_a_quorum_is_reported_at_the_end() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::new(&nodes);
    let script = ": > begun; until test -e go-on; do sleep 0.05; done";
    let child = shell
        .start_run(&["default", "lock:job", "--ttl", "1h"], script)
        .await;
    for n in [1, 2] {
        nodes.set(n, LOCK[1].as_bytes(), b"other owner", None).await;
    }
    std::fs::write(shell.path("go-on"), "").unwrap();
    let output = wait_for_output(child).await;
    assert_eq!(output.status, 0, "{output:?}");
    assert!(
        output
            .stderr
            .contains("the command may have run without the lock at the end"),
        "{output:?}"
    );
    assert_eq!(nodes.get(0, LOCK[1].as_bytes()).await, None);
}

#[tokio::test]
async fn run_supports_redisson_and_legacy_formats() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    for (format, expected_type) in [
        ("redisson", "hash"),
        ("redisson-fair", "hash"),
        ("legacy-timestamp", "string"),
        ("plain", "string"),
    ] {
        let arguments = ["default", "lock:job", "--format", format, "--ttl", "2s"];
        let _begun = std::fs::remove_file(shell.path("begun"));
        let child = shell
            .start_run(
                &arguments,
                ": > begun; while [ ! -e end ]; do sleep 0.05; done",
            )
            .await;
        let kind_on_node: String =
            run_command(&mut nodes.0[0].client().await, "TYPE lock:job").await;
        assert_eq!(kind_on_node, expected_type, "{format}");
        std::fs::write(shell.path("end"), "").unwrap();
        let output = wait_for_output(child).await;
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{format}");
        let left = nodes.0[0].client().await;
        assert!(
            !redis::AsyncCommands::exists::<_, bool>(&mut { left }, "lock:job")
                .await
                .unwrap()
        );
        std::fs::remove_file(shell.path("end")).unwrap();
    }
}
