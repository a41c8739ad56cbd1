//! The command line as people and scripts use it: the real program on real servers.

mod access;
mod check;
mod cron;
mod forcing;
mod found;
mod hostile;
mod kinds;
mod listing;
mod losing;
mod running;
mod terminal;
mod tokens;
mod usage;
mod verbs;
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

use crate::support::eventually_is;
use crate::support::redis_nodes::RedisNodes;

/// Far longer than any command here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A working folder, and the nodes that commands typed there are about: the group "default".
pub struct Shell {
    folder: TempDir,
    /// Where programs keep what must outlive them.
    state: TempDir,
    nodes: Vec<String>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("lockkeeper is not killed"),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// The one JSON document on standard output.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The value of a line like `token   abc`.
    pub fn fact(&self, name: &str) -> &str {
        let fact = |line: &'_ str| line.strip_prefix(name)?.strip_prefix("  ").map(str::len);
        let line = self.out.lines().find(|line| fact(line).is_some());
        line.unwrap_or_else(|| panic!("no {name} in {self:?}"))[name.len()..].trim()
    }
}

impl Shell {
    /// With these nodes in reach.
    pub fn on(nodes: &RedisNodes) -> Self {
        let url = |port: u16| format!("redis://127.0.0.1:{port}");
        Self {
            folder: tempfile::tempdir().unwrap(),
            state: tempfile::tempdir().unwrap(),
            nodes: nodes.0.iter().map(|node| url(node.port())).collect(),
        }
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file among those that must outlive programs.
    pub fn state(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    /// What a file in the folder has in it; nothing while it is not there.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A command on the nodes.
    pub fn command<W: AsRef<OsStr>>(&self, verb: &str, words: &[W]) -> Command {
        let mut command = self.bare(&[verb]);
        for url in &self.nodes {
            command.args(["--redis", url]);
        }
        command.args(words);
        command
    }

    /// A command that says itself where the nodes are.
    pub fn bare<W: AsRef<OsStr>>(&self, words: &[W]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockkeeper"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("USER", "somebody")
            .env("XDG_STATE_HOME", self.state.path())
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

    /// Types a command and waits for its end.
    pub async fn type_in<W: AsRef<OsStr>>(&self, verb: &str, words: &[W]) -> Ended {
        end_of(self.command(verb, words)).await
    }

    /// The same for a line of words that spaces stand between.
    pub async fn types(&self, line: &str) -> Ended {
        let words: Vec<&str> = line.split(' ').collect();
        self.type_in(words[0], &words[1..]).await
    }

    /// How many processes were started here and still run: commands, what they started, and guards.
    pub fn processes(&self) -> usize {
        let folder = self.folder.path().canonicalize().unwrap();
        let is_here = |path: &PathBuf| path.join("cwd").read_link().is_ok_and(|cwd| cwd == folder);
        processes().filter(is_here).count()
    }

    /// Starts `lockkeeper run` with a shell script and waits until the script says that it runs: `: > begun`.
    pub async fn begin(&self, options: &[&str], script: &str) -> Child {
        let mut words = options.to_vec();
        // A busy machine may need a second try within a short lease.
        words.extend(["--wait", "20s", "--", "sh", "-c", script]);
        let child = self.command("run", &words).spawn().unwrap();
        eventually_is("the script runs", async || self.path("begun").exists()).await;
        child
    }
}

/// Waits for the end of a command.
pub async fn end_of(mut command: impl BorrowMut<Command>) -> Ended {
    ended(command.borrow_mut().spawn().unwrap()).await
}

/// Waits for the end of a command that was started before.
pub async fn ended(child: Child) -> Ended {
    let output = timeout(PATIENCE, child.wait_with_output()).await;
    Ended::from(output.expect("it ends").unwrap())
}

/// Sends a signal to a process.
pub fn signal(child: &Child, signal: &str) {
    let pid = child.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill")
        .args([&format!("-{signal}"), &pid])
        .status();
    assert!(sent.unwrap().success());
}

/// Every process that is not a zombie.
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

/// The processes that sleep for this time.
pub fn sleepers(time: &str) -> Vec<u32> {
    let line = format!("sleep\0{time}\0");
    let sleeping = processes().filter(|path| {
        std::fs::read(path.join("cmdline")).is_ok_and(|found| found == line.as_bytes())
    });
    let pid = |path: PathBuf| path.file_name()?.to_str()?.parse().ok();
    sleeping.filter_map(pid).collect()
}

/// An argument of `sleep` that nobody else uses: ten minutes and a bit.
pub fn long_time() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("600.{:07}{n:03}", std::process::id())
}

/// Whether no node has any key but counters, which are no locks.
pub async fn nothing_is_left(nodes: &RedisNodes) -> bool {
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
