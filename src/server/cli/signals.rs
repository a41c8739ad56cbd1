//! Signal handling of commands.

use std::future::poll_fn;
use std::task::Poll;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{getpgrp, getsid};
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;
use super::output::status;

/// A stream of signals.
pub struct Signals(Vec<(Signal, tokio::signal::unix::Signal)>);

impl Signals {
    /// The signals that terminate a command: INT, TERM and HUP.
    pub fn termination() -> Result<Self, Failure> {
        Self::listen(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])
    }

    /// Handles these signals, except those that the parent process set to be ignored (`nohup`, a
    /// shell's `&`).
    pub fn listen(requested: &[Signal]) -> Result<Self, Failure> {
        let ignored = ignored_at_start();
        let mut listening = Vec::new();
        for &which in requested {
            if ignored & (1 << (which as i32 - 1)) != 0 {
                continue;
            }
            let stream = signal(SignalKind::from_raw(which as i32)).map_err(|why| {
                Failure::failed(format!("cannot install a signal handler: {why}"))
            })?;
            listening.push((which, stream));
        }
        Ok(Self(listening))
    }

    /// The next signal.
    pub async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (which, stream) in &mut self.0 {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*which);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// The exit status after a signal, as in shells.
pub fn exit_status(signal: Signal) -> u8 {
    u8::try_from(signal as i32).map_or(u8::MAX, |number| status::SIGNAL_BASE + number)
}

/// Stops this process while there is no command yet, as Ctrl-Z does.
pub fn suspend_self() {
    let own_group = getpgrp();
    // A session leader has no shell that could continue it.
    if getsid(None) != Ok(own_group) {
        let _stops_here = killpg(own_group, Signal::SIGSTOP);
    }
}

/// The signals that were ignored when the process started, as a bit mask; 0 if `/proc` is not
/// available.
fn ignored_at_start() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}
