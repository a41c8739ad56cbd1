//! `lockkeeper completions`: what a shell needs to complete this command line.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::answer::show;
use super::{CommandLine, Failure};

/// What `completions` is told.
#[derive(Args)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

pub fn run(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        options.shell,
        &mut CommandLine::command(),
        "lockkeeper",
        &mut script,
    );
    show(&String::from_utf8_lossy(&script))
}
