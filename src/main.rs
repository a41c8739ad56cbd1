//! Entry point: runs the command line.

use std::process::ExitCode;

// An operation takes 14 % less CPU time than with the system allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lockkeeper::server::cli::run()
}
