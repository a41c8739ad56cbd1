//! The process group of the command, which never outlives this process.
//!
//! The first member of the group is a guard: another instance of this program with the read end of
//! a pipe whose write end this process holds. When this process ends, even by SIGKILL, the pipe is
//! closed and the guard kills the group including itself. While the guard is alive, the id of the
//! group cannot be reused.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, getpid};
use tokio::time::{Instant, sleep};

use crate::server::cli::output::status;

/// The first argument of a guard process; not part of the documented command line.
pub const GUARD_ARGUMENT: &str = "--guard-process-group";

/// Processes that end within this time after the command are not reported.
const EXIT_TOLERANCE: Duration = Duration::from_millis(200);

/// A process group with its guard.
pub struct ProcessGroup {
    id: Pid,
    guard: Child,
}

/// Whether the command left processes running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// No process was left.
    None,
    /// Remaining processes were terminated.
    Terminated,
}

impl ProcessGroup {
    /// Starts the guard of a new group.
    pub fn start() -> io::Result<Self> {
        let own_executable = Path::new("/proc/self/exe");
        // This path works even if the file was replaced on disk by an upgrade.
        let program = if own_executable.exists() {
            own_executable.to_owned()
        } else {
            std::env::current_exe()?
        };
        // The guard inherits the mask, so a signal to the group cannot kill it before it is ready.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        let guard = Command::new(program)
            // With this name, `pkill -KILL -f lockkeeper` does not kill the guard.
            .arg0("lk-guard")
            .arg(GUARD_ARGUMENT)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        before.thread_set_mask()?;
        let guard = guard?;
        let id = i32::try_from(guard.id()).map_err(io::Error::other)?;
        Ok(Self {
            id: Pid::from_raw(id),
            guard,
        })
    }

    /// The id of the group.
    pub fn id(&self) -> Pid {
        self.id
    }

    /// Sends a signal to all members.
    pub fn signal(&self, signal: Signal) {
        // It fails only if the group has no members left.
        let _empty = killpg(self.id, signal);
    }

    /// Terminates the processes that the command left running: TERM, and KILL after `grace`.
    pub async fn terminate(&mut self, grace: Duration) -> Leftovers {
        let _already_dead = self.guard.kill();
        let _reaped = self.guard.wait();
        if !self.has_live_processes() {
            return Leftovers::None;
        }
        let started = Instant::now();
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
        let mut killed = false;
        while self.has_live_processes() && (!killed || started.elapsed() < grace + EXIT_TOLERANCE) {
            if !killed && started.elapsed() >= grace {
                self.signal(Signal::SIGKILL);
                killed = true;
            }
            sleep(Duration::from_millis(5)).await;
        }
        if started.elapsed() < EXIT_TOLERANCE {
            Leftovers::None
        } else {
            Leftovers::Terminated
        }
    }

    /// Whether a member still runs. Zombies do not count: without a reaping init process they
    /// remain forever.
    fn has_live_processes(&self) -> bool {
        killpg(self.id, None).is_ok() && has_live_member(self.id)
    }
}

/// Searches the process table for a live member; `true` without `/proc`.
fn has_live_member(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    let mut has_processes = false;
    for process in processes.flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else {
            continue;
        };
        has_processes = true;
        // "pid (name) state ppid pgrp …": the name may contain any character, including
        // parentheses.
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let mut fields = rest.split_ascii_whitespace();
        let (state, process_group) = (fields.next(), fields.nth(1));
        let is_member = process_group.is_some_and(|text| text.parse() == Ok(group.as_raw()));
        if is_member && !matches!(state, Some("Z" | "X")) {
            return true;
        }
    }
    !has_processes
}

/// Runs the guard: waits until the parent process ends, then kills the group.
pub fn run_guard() -> ExitCode {
    let _as_inherited = SigSet::all().thread_block();
    if getpgrp() != getpid() {
        // Started manually: the group is not the guard's own and must not be killed.
        return ExitCode::from(status::INVALID_INPUT);
    }
    let mut buffer = [0; 64];
    loop {
        match io::stdin().read(&mut buffer) {
            Ok(0) => break,
            Ok(_) => {}
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ends_here = killpg(getpgrp(), Signal::SIGKILL);
    let _or_here = kill(getpid(), Signal::SIGKILL);
    ExitCode::FAILURE
}
