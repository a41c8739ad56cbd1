//! `run` in a terminal: Ctrl-C, Ctrl-Z and interactive commands.
//!
//! The commands run in bash, because dash starts programs with `vfork`: if the child is stopped
//! before `exec`, its parent is blocked and is never reported as stopped.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::Shell;
use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// An interactive shell in a pseudo-terminal (created by `script`), and its screen.
struct Terminal {
    screen: Arc<Mutex<String>>,
    keyboard: ChildStdin,
    lockkeeper: String,
    _process: Child,
}

impl Terminal {
    async fn start(shell: &Shell, nodes: &RedisNodes) -> Self {
        let mut script = Command::new("script");
        script
            .args(["-q", "-f", "-c", "bash --norc --noprofile -i", "/dev/null"])
            .current_dir(shell.path("."))
            .env("PS1", "$ ")
            .env("XDG_STATE_HOME", shell.state_path("."))
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
        let (mut output, screen_writer) = (terminal.stdout.take().unwrap(), Arc::clone(&screen));
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes).await {
                screen_writer
                    .lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        let url = format!("redis://127.0.0.1:{}", nodes.0[0].port());
        let mut terminal = Self {
            screen,
            keyboard: terminal.stdin.take().unwrap(),
            lockkeeper: format!(
                "{} run --redis {url} default lock:tty",
                env!("CARGO_BIN_EXE_lockkeeper")
            ),
            _process: terminal,
        };
        // The terminal echoes the input, so the expected output must differ from the command line.
        terminal.send_line("echo read''y").await;
        terminal.wait_for_text("ready").await;
        terminal
    }

    async fn send_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).await.unwrap();
    }

    async fn send_line(&mut self, line: &str) {
        self.send_keys(&format!("{line}\n")).await;
    }

    async fn run_under_lock(&mut self, more: &str) {
        let line = format!("{} {more}", self.lockkeeper);
        self.send_line(&line).await;
    }

    /// Waits for a text on the screen. Removes everything up to its end and returns what was before
    /// it.
    async fn wait_for_text(&self, text: &str) -> String {
        let mut before = String::new();
        wait_until(text, async || {
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
    let shell = Shell::new(&nodes);
    let mut terminal = Terminal::start(&shell, &nodes).await;
    let script = "trap 'n=$((n+1)); echo in''t $n' INT; echo o''n; while [ ! -e end ]; do sleep 0.01; done; echo al''l $n";
    terminal
        .run_under_lock(&format!(
            "-- bash -c \"{}\"; echo statu''s $?",
            script.replace('$', "\\$")
        ))
        .await;
    terminal.wait_for_text("on\r\n").await;
    terminal.send_keys("\x03").await;
    terminal.wait_for_text("int 1\r\n").await;
    std::fs::write(shell.path("end"), "").unwrap();
    terminal.wait_for_text("all 1\r\n").await;
    terminal.wait_for_text("status 0\r\n").await;
    assert!(super::no_lock_left(&nodes).await);
}

#[tokio::test]
async fn ctrl_z_stops_the_command_and_fg_resumes_it() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let mut terminal = Terminal::start(&shell, &nodes).await;
    let tick_script =
        "i=0; while [ ! -e end ]; do echo tic''k $i; i=$((i+1)); sleep 0.05; done; exit 4";
    for pipe in ["", " | cat"] {
        let quoted = tick_script.replace('$', "\\$");
        terminal
            .run_under_lock(&format!(
                "-- bash -c \"{quoted}\"{pipe}; echo statu''s ${{PIPESTATUS[0]}}"
            ))
            .await;
        terminal.wait_for_text("tick 2\r\n").await;
        terminal.send_keys("\x1a").await;
        terminal.wait_for_text("Stopped").await;
        terminal.send_line("echo promp''t").await;
        terminal.wait_for_text("prompt\r\n").await;
        let after_prompt = terminal.wait_for_text("$ ").await;
        assert!(
            !after_prompt.contains("tick"),
            "the command still runs: {after_prompt}"
        );
        terminal
            .send_line("fg; echo statu''s ${PIPESTATUS[0]}")
            .await;
        terminal.wait_for_text("tick ").await;
        std::fs::write(shell.path("end"), "").unwrap();
        terminal.wait_for_text("status ").await;
        std::fs::remove_file(shell.path("end")).unwrap();
        wait_until("the lock is released", async || {
            super::no_lock_left(&nodes).await
        })
        .await;
    }
}

#[tokio::test]
async fn a_command_that_was_stopped_for_longer_than_its_lease_is_not_resumed() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let mut terminal = Terminal::start(&shell, &nodes).await;
    terminal
        .run_under_lock("--ttl 3s --wait 9s -- bash -c \"trap '' TERM; echo o''n; sleep 0.2; while :; do : > moved; sleep 0.01; done\"")
        .await;
    terminal.wait_for_text("on\r\n").await;
    wait_until("the command runs", async || shell.path("moved").exists()).await;
    terminal.send_keys("\x1a").await;
    terminal.wait_for_text("Stopped").await;
    wait_until("the lease has expired", async || {
        nodes.get(0, b"lock:tty").await.is_none()
    })
    .await;
    std::fs::remove_file(shell.path("moved")).unwrap();
    terminal.send_line("fg; echo statu''s $?").await;
    terminal.wait_for_text("the lock was lost").await;
    terminal.wait_for_text("status 76").await;
    assert!(!shell.path("moved").exists(), "the command was resumed");
}

#[tokio::test]
async fn a_command_can_read_from_the_terminal_also_in_a_pipeline() {
    let nodes = RedisNodes::start(1).await;
    let shell = Shell::new(&nodes);
    let mut terminal = Terminal::start(&shell, &nodes).await;
    for (script, pipe) in [("read x", ""), ("read x </dev/tty", " | cat")] {
        terminal
            .run_under_lock(&format!(
                "-- bash -c \"echo as''k; {script}; echo go''t \\$x\"{pipe}"
            ))
            .await;
        terminal.wait_for_text("ask\r\n").await;
        terminal.send_line("an answer").await;
        terminal.wait_for_text("got an answer\r\n").await;
        terminal.send_line("echo promp''t").await;
        terminal.wait_for_text("prompt\r\n").await;
    }
}

#[tokio::test]
async fn colors_are_used_on_terminals_unless_no_color_is_set() {
    let nodes = RedisNodes::start(1).await;
    nodes.set(0, b"lock:a", b"lockkeeper:x:00", None).await;
    let shell = Shell::new(&nodes);
    let mut terminal = Terminal::start(&shell, &nodes).await;
    let list = terminal
        .lockkeeper
        .replace(" run ", " list ")
        .replace(" default lock:tty", "");
    terminal.send_line(&format!("{list}; echo don''e")).await;
    let colored = terminal.wait_for_text("done\r\n").await;
    assert!(colored.contains("\x1b[32mheld\x1b[0m"), "{colored:?}");
    terminal
        .send_line(&format!("NO_COLOR=1 {list}; echo don''e"))
        .await;
    let plain = terminal.wait_for_text("done\r\n").await;
    let table = plain.split("GROUP").nth(1).unwrap();
    assert!(
        table.contains("held") && !table.contains("\x1b[32m"),
        "{plain:?}"
    );
}
