//! The signals that a command listens to.

use std::future::poll_fn;
use std::task::Poll;

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;
use super::answer::status;

/// Signals as they come, one at a time.
pub struct Signals(Vec<(Signal, tokio::signal::unix::Signal)>);

impl Signals {
    /// Those that end a command which still has something to clean up.
    pub fn that_end() -> Result<Self, Failure> {
        Self::listen(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])
    }

    /// These signals, except for those that whoever started us wants to be ignored (`nohup`, a shell's `&`).
    pub fn listen(wanted: &[Signal]) -> Result<Self, Failure> {
        let ignored = ignored_from_the_start();
        let mut listening = Vec::new();
        for &which in wanted {
            if ignored & (1 << (which as i32 - 1)) != 0 {
                continue;
            }
            let stream = signal(SignalKind::from_raw(which as i32))
                .map_err(|why| Failure::broken(format!("cannot listen to signals: {why}")))?;
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

/// The exit status that tells of a signal, as shells do it.
pub fn status_of(signal: Signal) -> u8 {
    u8::try_from(signal as i32).map_or(u8::MAX, |number| status::SIGNALLED + number)
}

/// The signals that are ignored in this process, one bit each; none where the system does not tell.
fn ignored_from_the_start() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}
