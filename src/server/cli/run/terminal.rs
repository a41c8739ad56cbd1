//! Job control: gives the command the terminal when it needs it, and stops the command and this
//! process together, as a shell expects.
//!
//! The command runs in its own process group, and a terminal has one foreground group at a time. A
//! command whose standard streams are all the terminal becomes the foreground group at once, so
//! that it receives Ctrl-C exactly once and from the terminal. In a pipeline it becomes the
//! foreground group when it reads from the terminal.

use std::fs::File;
use std::io::IsTerminal as _;

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpgrp, getsid, tcgetpgrp, tcsetpgrp};

use super::process_group::ProcessGroup;

/// The controlling terminal of this process.
pub struct Terminal {
    device: Option<File>,
    own_group: Pid,
    /// Whether the command was, or requested to be, in the foreground when the terminal was last
    /// taken back.
    command_wants_foreground: bool,
}

impl Terminal {
    /// Opens the controlling terminal. Under cron there is none.
    pub fn open() -> Self {
        Self {
            device: File::open("/dev/tty").ok(),
            own_group: getpgrp(),
            command_wants_foreground: false,
        }
    }

    /// Moves the command to the foreground if all standard streams are the terminal.
    pub fn hand_over_at_start(&mut self, group: &ProcessGroup) {
        let has_terminal_only = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        if has_terminal_only {
            self.hand_over(group);
        }
    }

    /// Moves the command to the foreground if this process is in the foreground. Returns whether it
    /// was.
    fn hand_over(&mut self, group: &ProcessGroup) -> bool {
        let is_foreground = self.foreground_group() == Some(self.own_group);
        if is_foreground {
            self.set_foreground_group(group.id());
        }
        is_foreground
    }

    /// Moves this process to the foreground if the command is there.
    pub fn take_back(&mut self, group: &ProcessGroup) {
        if self.foreground_group() == Some(group.id()) {
            self.command_wants_foreground = true;
            self.set_foreground_group(self.own_group);
        }
    }

    /// Handles a stop of the command. If it needs the terminal, it gets it. On Ctrl-Z this process
    /// stops too. A stop signal sent to the command alone is left as it is.
    pub fn on_command_stopped(
        &mut self,
        signal: Signal,
        group: &ProcessGroup,
        may_continue: impl Fn() -> bool,
    ) {
        match signal {
            Signal::SIGTTIN | Signal::SIGTTOU => {
                if self.hand_over(group) {
                    group.signal(Signal::SIGCONT);
                    return;
                }
                self.command_wants_foreground = true;
                self.suspend(group, may_continue);
            }
            Signal::SIGTSTP => self.suspend(group, may_continue),
            _ if self.foreground_group() == Some(group.id()) => self.suspend(group, may_continue),
            _ => {}
        }
    }

    /// Stops the command and this process until it is continued. The lock is not renewed meanwhile,
    /// so the command continues only if `may_continue`.
    pub fn suspend(&mut self, group: &ProcessGroup, may_continue: impl Fn() -> bool) {
        self.take_back(group);
        // A session leader has no shell that could continue it; the kernel ignores Ctrl-Z in that
        // case too.
        if getsid(None) != Ok(self.own_group) {
            group.signal(Signal::SIGSTOP);
            let _stops_here = killpg(self.own_group, Signal::SIGSTOP);
        }
        if !may_continue() {
            return;
        }
        if std::mem::take(&mut self.command_wants_foreground) {
            self.hand_over(group);
        }
        group.signal(Signal::SIGCONT);
    }

    fn foreground_group(&self) -> Option<Pid> {
        tcgetpgrp(self.device.as_ref()?).ok()
    }

    fn set_foreground_group(&self, group: Pid) {
        let Some(device) = &self.device else { return };
        // A background process that calls `tcsetpgrp` receives SIGTTOU, which would stop it.
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGTTOU);
        let _blocked = mask.thread_block();
        let _unchanged_on_error = tcsetpgrp(device, group);
        let _unblocked = mask.thread_unblock();
    }
}

/// The signal that has just stopped a child, if any. The exit status of the child is not consumed.
pub fn stop_signal(child: Pid) -> Option<Signal> {
    match waitid(Id::Pid(child), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG) {
        Ok(WaitStatus::Stopped(_, by)) => Some(by),
        Ok(_) | Err(_) => None,
    }
}
