//! `lockkeeper completions`: prints shell completions.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::output::print_stdout;
use super::{CommandLine, Failure};

/// The arguments of `completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub fn run(options: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        options.shell,
        &mut CommandLine::command(),
        "lockkeeper",
        &mut script,
    );
    print_stdout(&String::from_utf8_lossy(&script))
}
