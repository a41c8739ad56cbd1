//! The machine that the benchmark runs on.

use std::fmt;

use super::round::median;
use super::testbed::Programs;
use super::{BenchError, Series};

/// The number of CPUs that other processes may use in an undisturbed round.
pub const MAX_OTHER_CPUS: f64 = 0.2;

/// Properties of the machine that affect results.
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// `model name` in `/proc/cpuinfo`.
    pub cpu_model: String,
    /// The server's name and version.
    pub server: String,
    /// The load average of the minute before the benchmark.
    pub load_before: f64,
}

impl Machine {
    /// Reads the properties before anything is measured.
    pub fn inspect(programs: &Programs) -> Result<Self, BenchError> {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Ok(Self {
            cores: std::thread::available_parallelism()?.get(),
            cpu_model: name.map_or("unknown CPU", |(_, name)| name).to_owned(),
            server: format!("{} {}", programs.server, programs.server_version),
            load_before: load_average()?,
        })
    }

    /// Describes how much CPU time other processes used during the rounds.
    pub fn describe_interference(&self, results: &[Series]) -> String {
        let rounds = || results.iter().flat_map(|series| &series.rounds);
        let share = |other_cpus: f64| format!("{:.0} %", 100.0 * other_cpus / self.cores as f64);
        let median_share = median(rounds().map(|round| round.other_cpus));
        let max_share = rounds().map(|round| round.other_cpus).fold(0.0, f64::max);
        let quiet = if max_share < MAX_OTHER_CPUS {
            "The machine was quiet"
        } else {
            "The machine was NOT quiet"
        };
        format!(
            "{quiet}: other processes used {} of it in the median round, {} at most. Clients, console and servers share its \
             {} cores.",
            share(median_share),
            share(max_share),
            self.cores
        )
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} cores of {}, {}, load {:.2}, loopback",
            self.cores, self.cpu_model, self.server, self.load_before
        )
    }
}

fn load_average() -> Result<f64, BenchError> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let first = load.split_whitespace().next().unwrap_or_default();
    Ok(first.parse()?)
}
