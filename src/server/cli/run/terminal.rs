//! Job control: the command gets the terminal when it wants it, and a stop stops all of us as a shell expects.
//!
//! The command runs in a group of its own, and a terminal listens to one group at a time. A command that has the terminal
//! all to itself gets it at once, so that Ctrl-C reaches it once and from the terminal; beside others in a pipeline it
//! gets the terminal when it reads from it.

use std::fs::File;
use std::io::IsTerminal as _;

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpgrp, getsid, tcgetpgrp, tcsetpgrp};

use super::job::Job;

/// The terminal that this process belongs to.
pub struct Terminal {
    device: Option<File>,
    ours: Pid,
    /// The command had the terminal, or asked for it, when it was last taken back.
    is_wanted: bool,
}

impl Terminal {
    /// Finds it; there is none under cron.
    pub fn find() -> Self {
        Self {
            device: File::open("/dev/tty").ok(),
            ours: getpgrp(),
            is_wanted: false,
        }
    }

    /// Gives the terminal to a command that has it all to itself.
    pub fn give_at_start(&mut self, job: &Job) {
        let is_alone = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        if is_alone {
            self.give(job);
        }
    }

    /// Gives the terminal to the command, if it is ours to give.
    fn give(&mut self, job: &Job) -> bool {
        let is_ours = self.front() == Some(self.ours);
        if is_ours {
            self.set_front(job.group());
        }
        is_ours
    }

    /// Takes the terminal back from the command, if it has it.
    pub fn take_back(&mut self, job: &Job) {
        if self.front() == Some(job.group()) {
            self.is_wanted = true;
            self.set_front(self.ours);
        }
    }

    /// The command was stopped: because it wants the terminal, which it gets; because of Ctrl-Z, which means all of us; or
    /// by somebody who means the command alone.
    pub fn stopped(&mut self, by: Signal, job: &Job, may_go_on: impl Fn() -> bool) {
        match by {
            Signal::SIGTTIN | Signal::SIGTTOU => {
                if self.give(job) {
                    job.signal(Signal::SIGCONT);
                    return;
                }
                self.is_wanted = true;
                self.suspend(job, may_go_on);
            }
            Signal::SIGTSTP => self.suspend(job, may_go_on),
            _ if self.front() == Some(job.group()) => self.suspend(job, may_go_on),
            _ => {}
        }
    }

    /// Stops the command and ourselves until somebody continues us. Nothing is renewed meanwhile, so the command goes on
    /// only if it may.
    pub fn suspend(&mut self, job: &Job, may_go_on: impl Fn() -> bool) {
        self.take_back(job);
        // Without a shell above us nobody would ever continue us; the kernel ignores Ctrl-Z in that case, too.
        if getsid(None) != Ok(self.ours) {
            job.signal(Signal::SIGSTOP);
            let _stops_here = killpg(self.ours, Signal::SIGSTOP);
        }
        if !may_go_on() {
            return;
        }
        if std::mem::take(&mut self.is_wanted) {
            self.give(job);
        }
        job.signal(Signal::SIGCONT);
    }

    fn front(&self) -> Option<Pid> {
        tcgetpgrp(self.device.as_ref()?).ok()
    }

    fn set_front(&self, group: Pid) {
        let Some(device) = &self.device else { return };
        // From the background this stops whoever does it, unless the signal is blocked.
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTTOU);
        let _blocked = mask.thread_block();
        let _stays_otherwise = tcsetpgrp(device, group);
        let _unblocked = mask.thread_unblock();
    }
}

/// Stops ourselves, who have no command yet, as Ctrl-Z does.
pub fn suspend_waiting() {
    let ours = getpgrp();
    if getsid(None) != Ok(ours) {
        let _stops_here = killpg(ours, Signal::SIGSTOP);
    }
}

/// The signal that has just stopped a child, if one has. Does not take its end away from whoever waits for it.
pub fn what_stopped(child: Pid) -> Option<Signal> {
    match waitid(Id::Pid(child), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG) {
        Ok(WaitStatus::Stopped(_, by)) => Some(by),
        Ok(_) | Err(_) => None,
    }
}
