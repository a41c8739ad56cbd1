//! The machine that all of it runs on.

use std::fmt;

use super::round::median;
use super::servers::Programs;
use super::{Cell, Failure};

/// How many processors others may keep busy while a round still counts as undisturbed.
pub const QUIET: f64 = 0.2;

/// What is to be known about it beside the numbers.
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// As the processor calls itself.
    pub processor: String,
    /// The server's name and version.
    pub server: String,
    /// Tasks that were running when it began, as a mean over the last minute.
    pub load_before: f64,
}

impl Machine {
    /// Looks at it before anything is measured.
    pub fn look(programs: &Programs) -> Result<Self, Failure> {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = processors
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Ok(Self {
            cores: std::thread::available_parallelism()?.get(),
            processor: name
                .map_or("unknown processor", |(_, name)| name)
                .to_owned(),
            server: format!("{} {}", programs.server, programs.server_version),
            load_before: load()?,
        })
    }

    /// How much of it others had meanwhile, and what that means.
    pub fn in_words(&self, cells: &[Cell]) -> String {
        let rounds = || cells.iter().flat_map(|cell| &cell.rounds);
        let share = |others: f64| format!("{:.0} %", 100.0 * others / self.cores as f64);
        let usually = median(rounds().map(|round| round.others));
        let most = rounds().map(|round| round.others).fold(0.0, f64::max);
        let quiet = if most < QUIET {
            "The machine was quiet"
        } else {
            "The machine was NOT quiet"
        };
        format!(
            "{quiet}: others had {} of it during half of the rounds, {} at most. Clients, console and servers share its \
             {} cores.",
            share(usually),
            share(most),
            self.cores
        )
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} cores of {}, {}, load {:.2}, loopback",
            self.cores, self.processor, self.server, self.load_before
        )
    }
}

fn load() -> Result<f64, Failure> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let first = load.split_whitespace().next().unwrap_or_default();
    Ok(first.parse()?)
}
