//! `lockkeeper man`: the manual pages of this command line.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
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
    let mut line = CommandLine::command();
    line.build();
    match &options.into {
        Some(folder) => write_into(folder, &line).map_err(|why| {
            Failure::broken(format!(
                "the pages cannot be written into {}: {why}",
                folder.display()
            ))
        }),
        None => {
            let (_, page) = page(&line)
                .map_err(|why| Failure::broken(format!("the page cannot be written: {why}")))?;
            show(&page)
        }
    }
}

fn write_into(folder: &Path, command: &Command) -> io::Result<()> {
    let (name, page) = page(command)?;
    std::fs::write(folder.join(name), page)?;
    let mut commands = command.get_subcommands();
    commands.try_for_each(|command| write_into(folder, command))
}

/// The name of a command's page, and the page.
fn page(command: &Command) -> io::Result<(String, String)> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    // What stands below the options is laid out line by line: examples, exit statuses.
    let page = String::from_utf8_lossy(&page)
        .replace(".SH EXTRA\n", ".SH NOTES\n.nf\n")
        .replace("\n.SH VERSION\n", "\n.fi\n.SH VERSION\n");
    Ok((man.get_filename(), page))
}
