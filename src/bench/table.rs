//! The table: a block for each load, a line for each way.

use std::fmt::Write as _;
use std::time::Duration;

use super::Cell;
use super::processors::Spent;
use super::round::{Round, median};
use super::work::{Load, Way};

/// The medians of all rounds, with ratios against the floor.
pub fn of(cells: &[Cell], round_trip: Option<Duration>) -> String {
    let mut table = String::from(
        "\nMedians; × against the raw round trips that were measured side by side. On the right, µs of processor time that a\n\
         pair costs this program, the console and the servers.\n",
    );
    for block in cells.chunk_by(|one, other| one.load == other.load) {
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
            "console",
            "redis",
        ));
        for cell in block {
            let against = |of: fn(&Round) -> f64| {
                ratio(cells, load, (cell.way, Way::Raw), of)
                    .filter(|_| cell.way != Way::Raw)
                    .map_or(String::new(), |ratio| format!("{ratio:.2}"))
            };
            let spent = |of: fn(&Spent) -> Duration| {
                let micros =
                    |round: &Round| of(&round.spent).as_secs_f64() * 1e6 / f64::from(round.pairs);
                median(cell.rounds.iter().map(micros))
            };
            line(format!(
                "  {:<40}{:>9.0}{:>9.0}{:>9.0}{:>11}{:>8}   {:>8.0}{:>8.0}{:>8.0}",
                cell.way.to_string(),
                cell.median(pairs),
                cell.median(p50) * 1e6,
                cell.median(p99) * 1e6,
                against(pairs),
                against(p50),
                spent(|spent| spent.here),
                spent(|spent| spent.console),
                spent(|spent| spent.servers),
            ));
        }
        if let Some(took) = round_trip.filter(|_| load.delayed) {
            let took = took.as_secs_f64() * 1e3;
            line(format!("  (a PING there and back takes {took:.2} ms)"));
        }
    }
    table
}

/// Pairs per second.
pub fn pairs(round: &Round) -> f64 {
    round.pairs_per_second
}

/// The median of a pair, in seconds.
pub fn p50(round: &Round) -> f64 {
    round.p50.as_secs_f64()
}

fn p99(round: &Round) -> f64 {
    round.p99.as_secs_f64()
}

impl Cell {
    /// The median of a number over all rounds.
    pub fn median(&self, of: fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(of))
    }
}

/// How a number of one way compares with another's under the same load: the median over rounds that ran side by side.
pub fn ratio(
    cells: &[Cell],
    load: Load,
    (one, other): (Way, Way),
    of: fn(&Round) -> f64,
) -> Option<f64> {
    let find = |way| {
        cells
            .iter()
            .find(|cell| cell.load == load && cell.way == way)
    };
    let (one, other) = (find(one)?, find(other)?);
    let side_by_side = one.rounds.iter().zip(&other.rounds);
    Some(median(side_by_side.map(|(one, other)| of(one) / of(other))))
}
