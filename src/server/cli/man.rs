//! `lockkeeper man`: prints or writes the manual pages.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;

use super::output::print_stdout;
use super::{CommandLine, Failure};

/// The arguments of `man`.
#[derive(Args)]
pub struct ManArgs {
    /// Write one page per command to this directory instead of printing the main page.
    #[arg(long, value_name = "DIRECTORY")]
    out_dir: Option<PathBuf>,
}

pub fn run(options: &ManArgs) -> Result<(), Failure> {
    let mut line = CommandLine::command();
    line.build();
    match &options.out_dir {
        Some(folder) => write_pages(folder, &line).map_err(|why| {
            Failure::failed(format!(
                "cannot write the pages to {}: {why}",
                folder.display()
            ))
        }),
        None => {
            let (_, page) = render_page(&line)
                .map_err(|why| Failure::failed(format!("cannot render the page: {why}")))?;
            print_stdout(&page)
        }
    }
}

fn write_pages(folder: &Path, command: &Command) -> io::Result<()> {
    let (name, page) = render_page(command)?;
    std::fs::write(folder.join(name), page)?;
    let mut commands = command.get_subcommands();
    commands.try_for_each(|command| write_pages(folder, command))
}

/// The file name and text of a command's page.
fn render_page(command: &Command) -> io::Result<(String, String)> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    // Examples and exit statuses are preformatted, so line filling is turned off (`.nf`).
    let page = String::from_utf8_lossy(&page)
        .replace(".SH EXTRA\n", ".SH NOTES\n.nf\n")
        .replace("\n.SH VERSION\n", "\n.fi\n.SH VERSION\n");
    Ok((man.get_filename(), page))
}
