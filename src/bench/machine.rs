//! The machine that all of it runs on.

use std::fmt;

use super::Failure;
use super::servers::Programs;

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

    /// Whether somebody else was busy.
    pub fn load_note(&self) -> String {
        let quiet = if self.load_before < 0.5 {
            "quiet"
        } else {
            "NOT quiet: others were at work"
        };
        format!(
            "The machine was {quiet} when it began (load {:.2}). Clients, console and servers shared its {} cores; ratios \
             come from rounds in turns, so they depend on it less than the absolute numbers.",
            self.load_before, self.cores
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
