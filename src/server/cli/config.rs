//! `lockkeeper config`: the reference of the configuration file.

use clap::{Args, Subcommand};

use super::Failure;
use super::output::print_stdout;

/// The arguments of `config`.
#[derive(Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Prints every field of the configuration file with its meaning, default and range.
    Reference,
}

/// Prints the reference.
pub fn run(options: &ConfigArgs) -> Result<(), Failure> {
    match options.command {
        ConfigCommand::Reference => print_stdout(reference()),
    }
}

/// The example in the documentation. It contains every field, and tests check that it is valid.
fn reference() -> &'static str {
    let page = include_str!("../../../docs/configuration.md");
    let example = page.split("```toml\n").nth(1);
    let example = example.and_then(|rest| rest.split("```").next());
    example.expect("the page contains a TOML example")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_configuration_is_in_the_reference() {
        for table in [
            "[limits]",
            "[[group]]",
            "[[group.format_override]]",
            "listen =",
        ] {
            assert!(reference().contains(table), "{table}");
        }
    }
}
