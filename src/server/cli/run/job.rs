//! The command's process group, which never outlives us.
//!
//! A guard is its first member: this program once more, holding the read end of a pipe whose write end is ours. However
//! we end, SIGKILL included, the pipe closes, and the guard kills the group and itself with it. While the guard lives, no
//! other group can get the group's number.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, getpid};
use tokio::time::{Instant, sleep};

use crate::server::cli::answer::status;

/// The first argument of a guard; not a word of the command line.
pub const GUARD: &str = "--guard-process-group";

/// What ends in this time after the command needs no mention.
const SHORTLY_AFTER: Duration = Duration::from_millis(200);

/// A process group with its guard.
pub struct Job {
    group: Pid,
    guard: Child,
}

/// How a job came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// The command's own end was the end of all.
    None,
    /// What it had left behind was ended.
    Ended,
}

impl Job {
    /// Starts the guard of a new group.
    pub fn start() -> io::Result<Self> {
        let itself = Path::new("/proc/self/exe");
        // By this name it is found even after it was replaced on disk by a newer version.
        let program = if itself.exists() {
            itself.to_owned()
        } else {
            std::env::current_exe()?
        };
        // The guard inherits the mask: a signal to the group cannot hit it before it is ready.
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        let guard = Command::new(program)
            // `pkill -KILL -f lockkeeper` leaves it to its work.
            .arg0("lk-guard")
            .arg(GUARD)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        before.thread_set_mask()?;
        let guard = guard?;
        let group = i32::try_from(guard.id()).map_err(io::Error::other)?;
        Ok(Self {
            group: Pid::from_raw(group),
            guard,
        })
    }

    /// Its number.
    pub fn group(&self) -> Pid {
        self.group
    }

    /// Sends a signal to everybody in it.
    pub fn signal(&self, signal: Signal) {
        // Whoever is gone already needs no signal.
        let _gone = killpg(self.group, signal);
    }

    /// Ends what the command has left running: TERM, and KILL after `grace`.
    pub async fn end(&mut self, grace: Duration) -> Remains {
        let _it_may_be_dead_already = self.guard.kill();
        let _reaped = self.guard.wait();
        if !self.is_alive() {
            return Remains::None;
        }
        let began = Instant::now();
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
        let mut killed = false;
        while self.is_alive() && (!killed || began.elapsed() < grace + SHORTLY_AFTER) {
            if !killed && began.elapsed() >= grace {
                self.signal(Signal::SIGKILL);
                killed = true;
            }
            sleep(Duration::from_millis(5)).await;
        }
        if began.elapsed() < SHORTLY_AFTER {
            Remains::None
        } else {
            Remains::Ended
        }
    }

    /// Whether anybody in the group still runs. Zombies do not: where nobody reaps orphans, they stay for ever.
    fn is_alive(&self) -> bool {
        killpg(self.group, None).is_ok() && has_living_member(self.group)
    }
}

/// Looks through the process table; yes where there is none to look into.
fn has_living_member(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    let mut is_table = false;
    for process in processes.flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else {
            continue;
        };
        is_table = true;
        // "pid (name) state ppid pgrp …": the name may contain anything, also a parenthesis.
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let mut fields = rest.split_ascii_whitespace();
        let (state, its_group) = (fields.next(), fields.nth(1));
        let is_member = its_group.is_some_and(|text| text.parse() == Ok(group.as_raw()));
        if is_member && !matches!(state, Some("Z" | "X")) {
            return true;
        }
    }
    !is_table
}

/// What the guard does: waits until the one who started it is gone, and ends the group.
pub fn guard() -> ExitCode {
    let _as_inherited = SigSet::all().thread_block();
    if getpgrp() != getpid() {
        // Started by hand: this is not a group to end.
        return ExitCode::from(status::UNUSABLE);
    }
    let mut nothing = [0; 64];
    loop {
        match io::stdin().read(&mut nothing) {
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
