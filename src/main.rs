//! Reads the command line and hands over.

use std::process::ExitCode;

fn main() -> ExitCode {
    lockkeeper::server::cli::run()
}
