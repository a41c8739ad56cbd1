//! `run` in a terminal: Ctrl-C, Ctrl-Z, and a command that asks questions.
//!
//! The commands are bash's, because dash starts programs by `vfork`: stopped between that and `exec`, the child holds up its
//! parent, which never counts as stopped, whichever shell is above it.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::Shell;
use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// An interactive shell in a terminal of its own (`script` makes one), and what is on its screen.
struct Typist {
    screen: Arc<Mutex<String>>,
    keyboard: ChildStdin,
    lockkeeper: String,
    _terminal: Child,
}

impl Typist {
    async fn sit_down(shell: &Shell, nodes: &RedisNodes) -> Self {
        let mut script = Command::new("script");
        script
            .args(["-q", "-f", "-c", "bash --norc --noprofile -i", "/dev/null"])
            .current_dir(shell.path("."))
            .env("PS1", "$ ")
            .env("XDG_STATE_HOME", shell.state("."))
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut terminal = script
            .spawn()
            .expect("the tests need script, of util-linux");
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut output, seen) = (terminal.stdout.take().unwrap(), Arc::clone(&screen));
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes).await {
                seen.lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
        let mut typist = Self {
            screen,
            keyboard: terminal.stdin.take().unwrap(),
            lockkeeper: format!(
                "{} run --redis {url} default lock:tty",
                env!("CARGO_BIN_EXE_lockkeeper")
            ),
            _terminal: terminal,
        };
        // What is typed is echoed; what is meant must differ from it.
        typist.enter("echo read''y").await;
        typist.sees("ready").await;
        typist
    }

    async fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).await.unwrap();
    }

    async fn enter(&mut self, line: &str) {
        self.press(&format!("{line}\n")).await;
    }

    async fn run(&mut self, more: &str) {
        let line = format!("{} {more}", self.lockkeeper);
        self.enter(&line).await;
    }

    /// Waits for a text, and forgets everything up to its end.
    async fn sees(&self, text: &str) -> String {
        let mut before = String::new();
        eventually_is(text, async || {
            let mut screen = self.screen.lock().unwrap();
            let Some(at) = screen.find(text) else {
                return false;
            };
            let rest = screen.split_off(at + text.len());
            before = std::mem::replace(&mut *screen, rest);
            true
        })
        .await;
        before
    }
}

#[tokio::test]
async fn ctrl_c_reaches_the_command_once() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let mut typist = Typist::sit_down(&shell, &nodes).await;
    let script = "trap 'n=$((n+1)); echo in''t $n' INT; echo o''n; while [ ! -e end ]; do sleep 0.01; done; echo al''l $n";
    typist
        .run(&format!(
            "-- bash -c \"{}\"; echo statu''s $?",
            script.replace('$', "\\$")
        ))
        .await;
    typist.sees("on\r\n").await;
    typist.press("\x03").await;
    typist.sees("int 1\r\n").await;
    std::fs::write(shell.path("end"), "").unwrap();
    typist.sees("all 1\r\n").await;
    typist.sees("status 0\r\n").await;
    assert!(super::nothing_is_left(&nodes).await);
}

#[tokio::test]
async fn ctrl_z_stops_everything_and_fg_goes_on() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let mut typist = Typist::sit_down(&shell, &nodes).await;
    let ticking =
        "i=0; while [ ! -e end ]; do echo tic''k $i; i=$((i+1)); sleep 0.05; done; exit 4";
    for pipe in ["", " | cat"] {
        let quoted = ticking.replace('$', "\\$");
        typist
            .run(&format!(
                "-- bash -c \"{quoted}\"{pipe}; echo statu''s ${{PIPESTATUS[0]}}"
            ))
            .await;
        typist.sees("tick 2\r\n").await;
        typist.press("\x1a").await;
        typist.sees("Stopped").await;
        typist.enter("echo promp''t").await;
        typist.sees("prompt\r\n").await;
        let now = typist.sees("$ ").await;
        assert!(!now.contains("tick"), "nothing runs: {now}");
        typist.enter("fg; echo statu''s ${PIPESTATUS[0]}").await;
        typist.sees("tick ").await;
        std::fs::write(shell.path("end"), "").unwrap();
        typist.sees("status ").await;
        std::fs::remove_file(shell.path("end")).unwrap();
        eventually_is("released", async || super::nothing_is_left(&nodes).await).await;
    }
}

#[tokio::test]
async fn a_command_that_was_stopped_for_longer_than_its_lease_does_not_go_on() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let mut typist = Typist::sit_down(&shell, &nodes).await;
    typist
        .run("--ttl 3s --wait 9s -- bash -c \"trap '' TERM; echo o''n; sleep 0.2; while :; do : > moved; sleep 0.01; done\"")
        .await;
    typist.sees("on\r\n").await;
    eventually_is("it works", async || shell.path("moved").exists()).await;
    typist.press("\x1a").await;
    typist.sees("Stopped").await;
    eventually_is("the lease is over", async || {
        nodes.get(0, b"lock:tty").await.is_none()
    })
    .await;
    std::fs::remove_file(shell.path("moved")).unwrap();
    typist.enter("fg; echo statu''s $?").await;
    typist.sees("the lock is lost").await;
    typist.sees("status 76").await;
    assert!(!shell.path("moved").exists(), "not one step further");
}

#[tokio::test]
async fn a_command_may_ask_questions_also_in_a_pipeline() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::on(&nodes);
    let mut typist = Typist::sit_down(&shell, &nodes).await;
    for (script, pipe) in [("read x", ""), ("read x </dev/tty", " | cat")] {
        typist
            .run(&format!(
                "-- bash -c \"echo as''k; {script}; echo go''t \\$x\"{pipe}"
            ))
            .await;
        typist.sees("ask\r\n").await;
        typist.enter("an answer").await;
        typist.sees("got an answer\r\n").await;
        typist.enter("echo promp''t").await;
        typist.sees("prompt\r\n").await;
    }
}

#[tokio::test]
async fn colours_are_for_terminals_and_only_for_those_who_want_them() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"lockkeeper:x:00", None).await;
    let shell = Shell::on(&nodes);
    let mut typist = Typist::sit_down(&shell, &nodes).await;
    let list = typist
        .lockkeeper
        .replace(" run ", " list ")
        .replace(" default lock:tty", "");
    typist.enter(&format!("{list}; echo don''e")).await;
    let coloured = typist.sees("done\r\n").await;
    assert!(coloured.contains("\x1b[32mheld\x1b[0m"), "{coloured:?}");
    typist
        .enter(&format!("NO_COLOR=1 {list}; echo don''e"))
        .await;
    let plain = typist.sees("done\r\n").await;
    let table = plain.split("GROUP").nth(1).unwrap();
    assert!(
        table.contains("held") && !table.contains("\x1b[32m"),
        "{plain:?}"
    );
}
