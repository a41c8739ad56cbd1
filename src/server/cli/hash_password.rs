//! `lockkeeper hash-password`: makes what the configuration keeps of a password.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::Args;
use nix::sys::termios::{self, LocalFlags, SetArg};

use super::Failure;
use super::answer::show;
use crate::server::access::password;

/// Shorter ones are refused.
const SHORTEST: usize = 8;
/// The console looks at no longer ones.
const LONGEST: usize = 1024;

/// What `hash-password` is told: nothing. A password is never an argument, which everybody on the machine can read.
#[derive(Args)]
pub struct HashPassword {}

pub fn run() -> Result<(), Failure> {
    let password = if io::stdin().is_terminal() {
        let first = ask("Password: ")?;
        if ask("Again: ")? != first {
            return Err(Failure::unusable("these are two passwords"));
        }
        first
    } else {
        line()?
    };
    if password.chars().count() < SHORTEST || password.len() > LONGEST {
        return Err(Failure::unusable(format!(
            "a password has at least {SHORTEST} characters, and at most {LONGEST} bytes"
        )));
    }
    let hash = password::hash(&password).map_err(Failure::broken)?;
    show(&format!("{hash}\n"))
}

fn ask(question: &str) -> Result<String, Failure> {
    let told = io::stderr().write_all(question.as_bytes());
    told.map_err(|why| Failure::broken(format!("standard error: {why}")))?;
    let silence = Silence::begin()?;
    let line = line();
    drop(silence);
    // The line end was typed, and not shown.
    let _shown = io::stderr().write_all(b"\n");
    line
}

fn line() -> Result<String, Failure> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|why| Failure::unusable(format!("the password cannot be read: {why}")))?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// While it lives, the terminal shows nothing of what is typed.
struct Silence(termios::Termios);

impl Silence {
    fn begin() -> Result<Self, Failure> {
        let broken = |why| Failure::broken(format!("the terminal cannot be silenced: {why}"));
        let before = termios::tcgetattr(io::stdin()).map_err(broken)?;
        let mut silent = before.clone();
        silent.local_flags.remove(LocalFlags::ECHO);
        termios::tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &silent).map_err(broken)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _as_it_was = termios::tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &self.0);
    }
}
