//! `run`: the command under the lock, from its start to its end.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;

use super::{Shell, end_of, ended, long_time, nothing_is_left, signal, sleepers};
use crate::support::ask;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{eventually, eventually_is};

const LOCK: [&str; 2] = ["default", "lock:job"];

fn run<'a>(command: &[&'a str]) -> Vec<&'a str> {
    [&LOCK, &["--"][..], command].concat()
}

#[tokio::test]
async fn the_commands_own_status_is_passed_on_and_the_lock_released() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    for (script, status) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
    ] {
        let ran = shell.type_in("run", &run(&["sh", "-c", script])).await;
        assert_eq!((ran.status, ran.err.as_str()), (status, ""), "{script}");
        assert!(nothing_is_left(&nodes).await, "{script}");
    }
}

#[tokio::test]
async fn input_output_arguments_and_environment_are_the_commands() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let script = r#"cat; echo "$1|$2|$LOCKKEEPER_KEY|$LOCKKEEPER_TOKEN|$OTHER"; echo err >&2"#;
    let mut command = shell.command("run", &run(&["sh", "-c", script, "sh", "a b", "--json"]));
    let mut running = command
        .env("OTHER", "x")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(b"from stdin\n").await.unwrap();
    let value = eventually("the lock", async || nodes.get(0, LOCK[1].as_bytes()).await).await;
    drop(stdin);
    let ran = ended(running).await;
    let token = String::from_utf8(value).unwrap();
    assert!(
        token.starts_with("lockkeeper:somebody@"),
        "who holds it can be read: {token}"
    );
    assert_eq!(
        ran.out,
        format!("from stdin\na b|--json|lock:job|{token}|x\n")
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, "err\n"));
}

#[tokio::test]
async fn a_command_that_cannot_be_started_leaves_nothing_behind() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    std::fs::write(shell.path("text"), "no program").unwrap();
    for (command, status) in [
        ("no-such-command", 127),
        ("./no/such/file", 127),
        ("", 127),
        ("./text", 126),
        ("/", 126),
    ] {
        let ran = shell.type_in("run", &run(&[command])).await;
        assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{ran:?}");
        assert!(
            ran.err.starts_with(&format!("lockkeeper: {command}")),
            "{ran:?}"
        );
        assert!(nothing_is_left(&nodes).await, "{command}");
    }
    let ran = shell
        .type_in(
            "run",
            &[&LOCK, &["--json", "--", "no-such-command"][..]].concat(),
        )
        .await;
    let problem: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(problem["code"], "command-not-found");
}

#[tokio::test]
async fn two_never_run_at_once_and_the_late_one_ends_with_75() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let first = shell
        .begin(&LOCK, ": > begun; while [ ! -e end ]; do sleep 0.01; done")
        .await;
    let late = shell.type_in("run", &run(&["touch", "late"])).await;
    assert_eq!(late.status, 75, "{late:?}");
    assert!(late.err.contains("held by somebody@"), "{late:?}");
    let wait = [&LOCK, &["--wait", "200ms", "--", "touch", "late"][..]].concat();
    assert_eq!(shell.type_in("run", &wait).await.status, 75);
    assert!(!shell.path("late").exists());

    let patient = [&LOCK, &["--wait", "20s", "--", "touch", "patient"][..]].concat();
    let patient = shell.command("run", &patient).spawn().unwrap();
    std::fs::write(shell.path("end"), "").unwrap();
    assert_eq!(ended(first).await.status, 0);
    assert_eq!(ended(patient).await.status, 0);
    assert!(shell.path("patient").exists());
    assert!(nothing_is_left(&nodes).await);
}

#[tokio::test]
async fn a_run_within_a_run_of_the_same_lock_does_not_get_it() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let me = env!("CARGO_BIN_EXE_lockkeeper");
    let within = [
        me, "run", "default", "lock:job", "--redis", &url, "--", "true",
    ];
    assert_eq!(shell.type_in("run", &run(&within)).await.status, 75);
    // Another lock is another matter, and the token of this one is not used for it.
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
    assert_eq!(shell.type_in("run", &run(&other)).await.status, 0);
    let extend = [
        me, "extend", "default", "lock:job", "--redis", &url, "--ttl", "1m",
    ];
    assert_eq!(
        shell.type_in("run", &run(&extend)).await.status,
        0,
        "its own token is at hand"
    );
}

#[tokio::test]
async fn the_lease_is_renewed_for_as_long_as_the_command_runs() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let options = [&LOCK, &["--ttl", "1s"][..]].concat();
    let running = shell
        .begin(
            &options,
            ": > begun; while [ ! -e end ]; do sleep 0.01; done",
        )
        .await;
    let began = Instant::now();
    let first = nodes.get(0, LOCK[1].as_bytes()).await;
    while began.elapsed() < Duration::from_secs(3) {
        let now = nodes.get(0, LOCK[1].as_bytes()).await;
        assert!(
            now.is_some() && now == first,
            "held by the same one all the time"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    std::fs::write(shell.path("end"), "").unwrap();
    let ran = ended(running).await;
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(nothing_is_left(&nodes).await);
}

#[tokio::test]
async fn signals_are_passed_on_to_the_command() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    for name in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] {
        let script = format!(
            "trap 'echo {name} >> heard; exit 9' {name}; : > begun; while :; do sleep 0.01; done"
        );
        let running = shell.begin(&LOCK, &script).await;
        signal(&running, name);
        let ran = ended(running).await;
        assert_eq!(
            (ran.status, shell.read("heard")),
            (9, format!("{name}\n")),
            "{ran:?}"
        );
        assert!(nothing_is_left(&nodes).await, "{name}");
        std::fs::remove_file(shell.path("heard")).unwrap();
        std::fs::remove_file(shell.path("begun")).unwrap();
    }
}

#[tokio::test]
async fn told_to_end_it_ends_the_command_with_all_it_started_and_releases() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let time = long_time();
    let running = shell
        .begin(
            &LOCK,
            &format!(": > begun; sleep {time} | sleep {time}; true"),
        )
        .await;
    eventually_is("both sleep", async || sleepers(&time).len() == 2).await;
    signal(&running, "TERM");
    let ran = ended(running).await;
    assert_eq!((ran.status, ran.err.as_str()), (143, ""));
    assert_eq!(sleepers(&time), Vec::<u32>::new());
    assert!(nothing_is_left(&nodes).await);
}

#[tokio::test]
async fn killed_itself_it_leaves_no_orphan() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let time = long_time();
    let script = format!("trap '' TERM INT HUP; : > begun; sleep {time} & sleep {time}; true");
    let mut running = shell.begin(&LOCK, &script).await;
    eventually_is("both sleep", async || sleepers(&time).len() == 2).await;
    assert_eq!(shell.processes(), 5, "run, guard, script and two sleepers");
    running.start_kill().unwrap();
    running.wait().await.unwrap();
    eventually_is("no orphan", async || sleepers(&time).is_empty()).await;
    eventually_is("no guard and no script", async || shell.processes() == 0).await;
    let left = nodes.get(0, LOCK[1].as_bytes()).await;
    assert!(
        left.is_some(),
        "the lock ends with its lease: nobody was there to release it"
    );
}

#[tokio::test]
async fn what_the_command_leaves_running_is_ended_before_the_release() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let time = long_time();
    let ran = shell
        .type_in(
            "run",
            &run(&["sh", "-c", &format!("sleep {time} & exit 4")]),
        )
        .await;
    assert_eq!((ran.status, ran.err.as_str()), (4, ""));
    assert_eq!(sleepers(&time), Vec::<u32>::new());

    // One that does not want to end keeps the lock for as long as it is given.
    let script = format!(
        "(trap '' TERM; : > deaf; exec sleep {time}) & while [ ! -e deaf ]; do sleep 0.01; done; exit 4"
    );
    let options = ["--kill-after", "3s", "--ttl", "2s", "--wait", "10s"];
    let words = [&LOCK, &options[..], &["--", "sh", "-c", &script]].concat();
    let running = shell.command("run", &words).spawn().unwrap();
    eventually_is("it was left", async || sleepers(&time).len() == 1).await;
    eventually_is("held while it runs, and then killed", async || {
        let held = nodes.get(0, LOCK[1].as_bytes()).await.is_some();
        let runs = !sleepers(&time).is_empty();
        assert!(held || !runs);
        !runs
    })
    .await;
    let ran = ended(running).await;
    assert_eq!(ran.status, 4);
    assert!(ran.err.contains("ended before the release"), "{ran:?}");
    assert!(nothing_is_left(&nodes).await);

    // What starts a session of its own means to stay.
    let script = format!(
        "setsid sh -c ': > apart; exec sleep {time} >/dev/null 2>&1' & while [ ! -e apart ]; do sleep 0.01; done; exit 4"
    );
    let ran = shell.type_in("run", &run(&["sh", "-c", &script])).await;
    assert_eq!(ran.status, 4);
    let daemon = eventually("the daemon", async || sleepers(&time).first().copied()).await;
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
async fn signals_that_are_ignored_from_the_start_stay_ignored() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
    let mut nohup = tokio::process::Command::new("sh");
    let script = "trap '' HUP; exec \"$@\"";
    let job = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 5";
    let me = env!("CARGO_BIN_EXE_lockkeeper");
    nohup.args([
        "-c", script, "sh", me, "run", "default", "lock:job", "--redis", &url,
    ]);
    let running = nohup
        .args(["--", "sh", "-c", job])
        .current_dir(shell.path("."))
        .spawn()
        .unwrap();
    eventually_is("the script runs", async || shell.path("begun").exists()).await;
    signal(&running, "HUP");
    std::fs::write(shell.path("end"), "").unwrap();
    let status = { running }.wait().await.unwrap();
    assert_eq!(status.code(), Some(5));
}

#[tokio::test]
async fn a_release_that_fails_is_told_and_changes_no_status() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let script = ": > begun; while [ ! -e end ]; do sleep 0.01; done; exit 6";
    let running = shell.begin(&LOCK, script).await;
    nodes.delete(0, LOCK[1].as_bytes()).await;
    std::fs::write(shell.path("end"), "").unwrap();
    let ran = ended(running).await;
    assert_eq!(ran.status, 6);
    assert!(ran.err.contains("may have run without it"), "{ran:?}");
}

#[tokio::test]
async fn its_start_takes_a_moment() {
    let nodes = RedisNodes::start(5).await;
    let shell = Shell::on(&nodes);
    // A node that hangs costs a share of the lease at most, not the time limit of a connection.
    nodes.0[4].stop().await;
    let began = Instant::now();
    let words = [&LOCK, &["--ttl", "2s", "--", "true"][..]].concat();
    let ran = end_of(shell.command("run", &words)).await;
    let took = began.elapsed();
    nodes.0[4].go_on().await;
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn a_lock_that_somebody_else_took_on_a_quorum_before_the_end_is_told_at_the_end() {
    let nodes = RedisNodes::start(3).await;
    let shell = Shell::on(&nodes);
    let script = ": > begun; until test -e go-on; do sleep 0.05; done";
    let running = shell
        .begin(&["default", "lock:job", "--ttl", "1h"], script)
        .await;
    for n in [1, 2] {
        nodes
            .set(n, LOCK[1].as_bytes(), b"somebody else", None)
            .await;
    }
    std::fs::write(shell.path("go-on"), "").unwrap();
    let ran = ended(running).await;
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.err
            .contains("the command may have run without it at the end"),
        "{ran:?}"
    );
    assert_eq!(nodes.get(0, LOCK[1].as_bytes()).await, None);
}

#[tokio::test]
async fn it_holds_a_lock_that_redissons_and_legacy_clients_respect() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    for (format, kind) in [
        ("redisson", "hash"),
        ("redisson-fair", "hash"),
        ("legacy-timestamp", "string"),
        ("plain", "string"),
    ] {
        let words = ["default", "lock:job", "--format", format, "--ttl", "2s"];
        let _begun = std::fs::remove_file(shell.path("begun"));
        let running = shell
            .begin(&words, ": > begun; while [ ! -e end ]; do sleep 0.05; done")
            .await;
        let there: String = ask(&mut nodes.0[0].client().await, "TYPE lock:job").await;
        assert_eq!(there, kind, "{format}");
        std::fs::write(shell.path("end"), "").unwrap();
        let ran = ended(running).await;
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{format}");
        let left = nodes.0[0].client().await;
        assert!(
            !redis::AsyncCommands::exists::<_, bool>(&mut { left }, "lock:job")
                .await
                .unwrap()
        );
        std::fs::remove_file(shell.path("end")).unwrap();
    }
}
