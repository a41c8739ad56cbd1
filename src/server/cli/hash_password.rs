//! `lockkeeper hash-password`: creates the password hash for a `[[user]]`.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::Args;
use nix::sys::termios::{self, LocalFlags, SetArg};

use super::Failure;
use super::output::print_stdout;
use crate::server::access::password;

/// The minimum length of a password, in characters.
const MIN_CHARS: usize = 8;
/// The maximum length that the console accepts, in bytes.
const MAX_BYTES: usize = 1024;

/// The arguments of `hash-password`: none. The password is not an argument, because other users of
/// the machine can read arguments.
#[derive(Args)]
pub struct HashPasswordArgs {}

pub fn run() -> Result<(), Failure> {
    let password = if io::stdin().is_terminal() {
        let first = prompt("Password: ")?;
        if prompt("Again: ")? != first {
            return Err(Failure::invalid_input(
                "the passwords do not match; run the command again",
            ));
        }
        first
    } else {
        read_line()?
    };
    if password.chars().count() < MIN_CHARS || password.len() > MAX_BYTES {
        return Err(Failure::invalid_input(format!(
            "the password must have at least {MIN_CHARS} characters and at most {MAX_BYTES} bytes"
        )));
    }
    let hash = password::hash_password(&password).map_err(Failure::failed)?;
    print_stdout(&format!("{hash}\n"))
}

fn prompt(question: &str) -> Result<String, Failure> {
    let written = io::stderr().write_all(question.as_bytes());
    written.map_err(|why| Failure::failed(format!("standard error: {why}")))?;
    let silence = EchoOff::start()?;
    let line = read_line();
    drop(silence);
    // Echo is off, so the typed line end was not displayed.
    let _displayed = io::stderr().write_all(b"\n");
    line
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|why| Failure::invalid_input(format!("the password cannot be read: {why}")))?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// Turns off the terminal's echo until it is dropped.
struct EchoOff(termios::Termios);

impl EchoOff {
    fn start() -> Result<Self, Failure> {
        let failure = |why| Failure::failed(format!("cannot turn off the terminal's echo: {why}"));
        let before = termios::tcgetattr(io::stdin()).map_err(failure)?;
        let mut silent = before.clone();
        silent.local_flags.remove(LocalFlags::ECHO);
        termios::tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &silent).map_err(failure)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _as_it_was = termios::tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &self.0);
    }
}
