//! The result table: a block for each load, a line for each target.

use std::fmt::Write as _;
use std::time::Duration;

use super::Series;
use super::cpu::CpuTime;
use super::load::{Load, Target};
use super::round::{Round, median};

/// Renders the medians of all rounds, with ratios to raw round trips.
pub fn render(results: &[Series], round_trip: Option<Duration>) -> String {
    let mut table = String::from(
        "\nMedians; × relative to raw round trips, measured in alternating rounds. On the right: CPU time per pair\n\
         in µs of this program, the console (or webdis) and the servers.\n",
    );
    for block in results.chunk_by(|first, second| first.load == second.load) {
        let load = block[0].load;
        let mut line = |text: String| writeln!(table, "{}", text.trim_end()).expect("infallible");
        line(String::new());
        line(format!(
            "{:<42}{:>9}{:>9}{:>9}{:>11}{:>8}   {:>8}{:>8}{:>8}",
            load.to_string(),
            "pairs/s",
            "p50 µs",
            "p99 µs",
            "× pairs/s",
            "× p50",
            "bench",
            "gateway",
            "redis",
        ));
        for series in block {
            let relative = |value: fn(&Round) -> f64| {
                ratio(results, load, (series.target, Target::Raw), value)
                    .filter(|_| series.target != Target::Raw)
                    .map_or(String::new(), |ratio| format!("{ratio:.2}"))
            };
            let cpu_time = |part: fn(&CpuTime) -> Duration| {
                let micros = |round: &Round| {
                    part(&round.cpu_time).as_secs_f64() * 1e6 / f64::from(round.pairs)
                };
                median(series.rounds.iter().map(micros))
            };
            line(format!(
                "  {:<40}{:>9.0}{:>9.0}{:>9.0}{:>11}{:>8}   {:>8.0}{:>8.0}{:>8.0}",
                series.target.to_string(),
                series.median(pairs),
                series.median(p50) * 1e6,
                series.median(p99) * 1e6,
                relative(pairs),
                relative(p50),
                cpu_time(|cpu_time| cpu_time.bench),
                cpu_time(|cpu_time| cpu_time.gateway),
                cpu_time(|cpu_time| cpu_time.servers),
            ));
        }
        if let Some(round_trip) = round_trip.filter(|_| load.delayed) {
            let round_trip_ms = round_trip.as_secs_f64() * 1e3;
            line(format!("  (round trip of a PING: {round_trip_ms:.2} ms)"));
        }
    }
    table
}

/// Pairs per second.
pub fn pairs(round: &Round) -> f64 {
    round.pairs_per_second
}

/// The median latency of a pair, in seconds.
pub fn p50(round: &Round) -> f64 {
    round.p50.as_secs_f64()
}

fn p99(round: &Round) -> f64 {
    round.p99.as_secs_f64()
}

impl Series {
    /// The median of a value over all rounds.
    pub fn median(&self, value: fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(value))
    }
}

/// The ratio of a value between two targets under the same load: the median over pairs of
/// alternating rounds.
pub fn ratio(
    results: &[Series],
    load: Load,
    (target, reference): (Target, Target),
    value: fn(&Round) -> f64,
) -> Option<f64> {
    let find = |target| {
        results
            .iter()
            .find(|series| series.load == load && series.target == target)
    };
    let (measured, reference) = (find(target)?, find(reference)?);
    let rounds = measured.rounds.iter().zip(&reference.rounds);
    Some(median(rounds.map(|(measured, reference)| {
        value(measured) / value(reference)
    })))
}
