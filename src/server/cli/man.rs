//! `lockkeeper man`: the manual pages of this command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use super::answer::show;
use super::{CommandLine, Failure};

/// What `man` is told.
#[derive(Args)]
pub struct Manual {
    /// Write a page for every command into this folder, instead of the first one to standard output.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

pub fn run(options: &Manual) -> Result<(), Failure> {
    let line = CommandLine::command().name("lockkeeper");
    match &options.into {
        Some(folder) => clap_mangen::generate_to(line, folder).map_err(|why| {
            Failure::broken(format!(
                "the pages cannot be written to {}: {why}",
                folder.display()
            ))
        }),
        None => {
            let mut page = Vec::new();
            Man::new(line)
                .render(&mut page)
                .map_err(|why| Failure::broken(format!("the page cannot be written: {why}")))?;
            show(&String::from_utf8_lossy(&page))
        }
    }
}
