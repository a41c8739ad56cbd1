//! The command line as operators and scripts use it: the real program on real servers.

mod access;
mod check;
mod concurrent_jobs;
mod config_lookup;
mod force_release;
mod group_kinds;
mod hostile_names;
mod list;
mod lost_lock;
mod operations;
mod run;
mod terminal;
mod tokens;
mod usage;
mod waiting;

use std::borrow::BorrowMut;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::support::redis_nodes::RedisNodes;
use crate::support::wait_until;

/// The maximum run time of a command. Generous, because the machine may be busy.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// A working directory for commands, and the nodes of their group "default".
pub struct Shell {
    work_dir: TempDir,
    /// The XDG state directory.
    state_dir: TempDir,
    nodes: Vec<String>,
}

/// The exit status and the output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("lockkeeper exits"),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Standard output as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The value of an output line like `token   abc`.
    pub fn field(&self, name: &str) -> &str {
        let value_len = |line: &'_ str| line.strip_prefix(name)?.strip_prefix("  ").map(str::len);
        let line = self.stdout.lines().find(|line| value_len(line).is_some());
        line.unwrap_or_else(|| panic!("no {name} in {self:?}"))[name.len()..].trim()
    }
}

impl Shell {
    pub fn new(nodes: &RedisNodes) -> Self {
        let url = |port: u16| format!("redis://127.0.0.1:{port}");
        Self {
            work_dir: tempfile::tempdir().unwrap(),
            state_dir: tempfile::tempdir().unwrap(),
            nodes: nodes.0.iter().map(|node| url(node.port())).collect(),
        }
    }

    /// A path in the working directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.work_dir.path().join(name)
    }

    /// A path in the state directory.
    pub fn state_path(&self, name: &str) -> PathBuf {
        self.state_dir.path().join(name)
    }

    /// The text of a file in the working directory. Empty if the file does not exist.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A subcommand with the nodes as `--redis` arguments.
    pub fn command<W: AsRef<OsStr>>(&self, subcommand: &str, arguments: &[W]) -> Command {
        let mut command = self.bare_command(&[subcommand]);
        for url in &self.nodes {
            command.args(["--redis", url]);
        }
        command.args(arguments);
        command
    }

    /// A command without arguments for the nodes.
    pub fn bare_command<W: AsRef<OsStr>>(&self, arguments: &[W]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
        command
            .args(arguments)
            .current_dir(self.work_dir.path())
            .env("HOME", self.work_dir.path())
            .env("USER", "alice")
            .env("XDG_STATE_HOME", self.state_dir.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("STATE_DIRECTORY")
            .env_remove("LOCKKEEPER_TOKEN")
            .env_remove("LOCKKEEPER_KEY")
            .env_remove("LOCKKEEPER_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a subcommand on the nodes and waits for its output.
    pub async fn run<W: AsRef<OsStr>>(&self, subcommand: &str, arguments: &[W]) -> CommandOutput {
        output_of(self.command(subcommand, arguments)).await
    }

    /// Runs a command line, split at spaces.
    pub async fn run_line(&self, line: &str) -> CommandOutput {
        let words: Vec<&str> = line.split(' ').collect();
        self.run(words[0], &words[1..]).await
    }

    /// The number of running processes in the working directory: commands, their children and
    /// guards.
    pub fn process_count(&self) -> usize {
        let folder = self.work_dir.path().canonicalize().unwrap();
        let is_in_work_dir =
            |path: &PathBuf| path.join("cwd").read_link().is_ok_and(|cwd| cwd == folder);
        processes().filter(is_in_work_dir).count()
    }

    /// Starts `lockkeeper run` with a shell script and waits until the script creates the file
    /// `begun`.
    pub async fn start_run(&self, options: &[&str], script: &str) -> Child {
        let mut words = options.to_vec();
        // A short lease may expire on a busy machine before it is acquired; then `run` must retry.
        words.extend(["--wait", "20s", "--", "sh", "-c", script]);
        let child = self.command("run", &words).spawn().unwrap();
        wait_until("the script runs", async || self.path("begun").exists()).await;
        child
    }
}

/// Runs a command and waits for its output.
pub async fn output_of(mut command: impl BorrowMut<Command>) -> CommandOutput {
    wait_for_output(command.borrow_mut().spawn().unwrap()).await
}

/// Waits for the output of a command that was started before.
pub async fn wait_for_output(child: Child) -> CommandOutput {
    let output = timeout(COMMAND_TIMEOUT, child.wait_with_output()).await;
    CommandOutput::from(output.expect("the command exits").unwrap())
}

pub fn send_signal(child: &Child, signal: &str) {
    let pid = child.id().expect("the process is running").to_string();
    let sent = std::process::Command::new("kill")
        .args([&format!("-{signal}"), &pid])
        .status();
    assert!(sent.unwrap().success());
}

/// The directories in `/proc` of all processes that are not zombies.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.parse::<u32>().is_ok())
    });
    processes.filter(|path| {
        let stat = std::fs::read(path.join("stat")).unwrap_or_default();
        !String::from_utf8_lossy(&stat).contains(") Z ")
    })
}

/// The PIDs of the processes `sleep <seconds>`.
pub fn sleeping_pids(seconds: &str) -> Vec<u32> {
    let command_line = format!("sleep\0{seconds}\0");
    let sleeping = processes().filter(|path| {
        std::fs::read(path.join("cmdline")).is_ok_and(|found| found == command_line.as_bytes())
    });
    let pid = |path: PathBuf| path.file_name()?.to_str()?.parse().ok();
    sleeping.filter_map(pid).collect()
}

/// A unique argument for `sleep`, a little more than ten minutes.
pub fn unique_sleep_seconds() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("600.{:07}{n:03}", std::process::id())
}

/// Whether no node has a key other than fence counters.
pub async fn no_lock_left(nodes: &RedisNodes) -> bool {
    for n in 0..nodes.0.len() {
        let keys = nodes.dump(n).await;
        if keys
            .keys()
            .any(|key| !key.starts_with(b"lockkeeper:fence:"))
        {
            return false;
        }
    }
    true
}
