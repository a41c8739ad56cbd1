//! `make bench`: throughput and latency of acquire and release through the console, compared with
//! raw Redis round trips and with the library rslock; and the cost and latency of observing locks.

mod budgets;
mod cpu;
mod delay_proxy;
mod http;
mod load;
mod locking_code;
mod machine;
mod measure;
mod observer;
mod raw_redis;
mod report;
mod round;
mod rslock_client;
mod table;
mod testbed;
mod webdis;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use load::{Load, Target};
use machine::{MAX_OTHER_CPUS, Machine};
use round::{Round, RoundDuration};
use testbed::{Programs, Testbed};
use tokio::time::sleep;

/// Why a benchmark failed, as one sentence for the terminal.
type BenchError = Box<dyn std::error::Error + Send + Sync>;

/// The lease of every lock of the benchmark: long enough not to expire.
const LEASE: Duration = Duration::from_secs(30);

/// Measures pairs of acquire and release on its own Redis servers: raw round trips, the locking
/// code, the console over HTTP, the gateway webdis and the library rslock, in alternating rounds, so
/// that load from other processes affects all of them.
///
/// "raw" is `SET key token NX PX ttl` and a compare-and-delete script (EVALSHA). Each client has
/// its own connection to each node, sends to all nodes at once and waits for all replies.
#[derive(Parser)]
#[command(name = "make bench")]
struct Options {
    /// Run one round of 0.2 s per measurement and small data sets, within 90 s: the figures are coarse.
    #[arg(long)]
    quick: bool,
    /// Number of rounds per measurement; the table shows medians [default: 3; with --quick 1].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// Total time for repeating rounds that were disturbed by other processes.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    retry_seconds: u64,
    /// Numbers of clients.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    clients: Vec<usize>,
    /// Numbers of nodes.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 5])]
    nodes: Vec<usize>,
    /// Measure only these targets: raw, code, http, webdis, rslock,
    /// rslock-shared.
    #[arg(long, value_delimiter = ',')]
    targets: Vec<Target>,
    /// Skip contended locks and delayed nodes.
    #[arg(long)]
    plain: bool,
    /// Run only these observer benchmarks: discovery, overhead, busy-cache, lag, large-index, reads,
    /// history, lock-services, subscribers [default: all; with --quick all but lock-services].
    #[arg(long, value_delimiter = ',')]
    sections: Vec<observer::Section>,
    /// Duration of the benchmark with a busy cache [default: 60; with --quick 3].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(3..))]
    busy_seconds: Option<u32>,
    /// Duration of the benchmark with thousands of subscribers [default: 60; with --quick 3].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(3..))]
    subscriber_seconds: Option<u32>,
    /// Duration of the benchmark of the recorded history [default: 60; with --quick 3].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(3..))]
    history_seconds: Option<u32>,
    /// Skip the benchmarks of acquire and release.
    #[arg(long)]
    only_observer: bool,
    /// Path of the console binary [default: the `lockkeeper` built together with this program].
    #[arg(long, value_name = "FILE")]
    console: Option<PathBuf>,
    /// Write all measurements to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    fn repeats(&self) -> u32 {
        self.repeats.unwrap_or(if self.quick { 1 } else { 3 })
    }

    /// The selected targets of a load.
    fn targets_of(&self, load: Load, programs: &Programs) -> impl Iterator<Item = Target> {
        let has_webdis = programs.webdis.is_some();
        let is_selected =
            |target: &Target| self.targets.is_empty() || self.targets.contains(target);
        let targets = load.targets().into_iter().filter(is_selected);
        targets.filter(move |target| has_webdis || *target != Target::Webdis)
    }
}

/// The rounds of one target under one load.
struct Series {
    load: Load,
    target: Target,
    rounds: Vec<Round>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.into()),
    };
    match runtime.block_on(run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(error: &BenchError) -> ExitCode {
    eprintln!("bench: {error}");
    ExitCode::FAILURE
}

async fn run(options: &Options) -> Result<(), BenchError> {
    let programs = Programs::find(options.console.clone()).await?;
    let machine = Machine::inspect(&programs)?;
    print!("{machine}");

    let round_duration = RoundDuration::of(if options.quick {
        Duration::from_millis(200)
    } else {
        Duration::from_secs(2)
    });
    let retry_deadline = Instant::now() + Duration::from_secs(options.retry_seconds);
    let loads = if options.only_observer {
        Vec::new()
    } else {
        load::loads(&options.nodes, &options.clients, options.plain)
    };
    if programs.webdis.is_none() {
        println!("webdis is not installed (Debian package `webdis`) and is not measured.");
    }
    let rounds = loads
        .iter()
        .map(|load| options.targets_of(*load, &programs).count());
    let rounds = rounds.sum::<usize>() * options.repeats() as usize;
    let estimate = (round_duration.warm_up + round_duration.measured) * u32::try_from(rounds)?;
    report_progress(&format!(
        "{rounds} rounds, about {} s",
        estimate.as_secs().max(1)
    ));
    let mut results = Vec::new();
    let mut round_trip = None;
    // One testbed at a time: servers that are not measured would use CPU time.
    for loads in loads.chunk_by(|first, second| first.shares_testbed_with(*second)) {
        let testbed = Testbed::start(&programs, loads[0]).await?;
        if loads[0].delayed {
            round_trip = Some(testbed.round_trip().await?);
        }
        for &load in loads {
            results.extend(
                measure(
                    options,
                    &programs,
                    &testbed,
                    load,
                    round_duration,
                    retry_deadline,
                )
                .await?,
            );
        }
        testbed.stop().await;
    }
    clear_progress();

    if !results.is_empty() {
        print!("{}", table::render(&results, round_trip));
    }
    let mut budgets = budgets::evaluate(&results);
    let observer_budgets = observer::measure(
        &programs,
        &options.sections,
        options.quick,
        options.busy_seconds,
        options.subscriber_seconds,
        options.history_seconds,
    );
    budgets.extend(observer_budgets.await?);
    if options.quick {
        println!("\nThese figures are coarse: short rounds and small data sets (--quick).");
    }
    print!("{}", budgets::render(&budgets));
    if !results.is_empty() {
        println!("\n{}", machine.describe_interference(&results));
    }
    if let Some(file) = &options.json {
        let report = report::to_json(&machine, round_duration, &results, round_trip, &budgets);
        std::fs::write(file, report).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Prints progress to standard error: on a terminal it overwrites the current line.
fn report_progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{text}");
    } else {
        eprintln!("{text}");
    }
}

/// Clears the progress line.
fn clear_progress() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

/// Measures all targets in alternating rounds.
async fn measure(
    options: &Options,
    programs: &Programs,
    testbed: &Testbed,
    load: Load,
    round_duration: RoundDuration,
    retry_deadline: Instant,
) -> Result<Vec<Series>, BenchError> {
    let new = |target| Series {
        load,
        target,
        rounds: Vec::new(),
    };
    let mut results: Vec<Series> = options.targets_of(load, programs).map(new).collect();
    for repeat in 1..=options.repeats() {
        for series in &mut results {
            report_progress(&format!(
                "{load}, {}: {repeat} of {}",
                series.target,
                options.repeats()
            ));
            let mut round = measure::measure(series.target, testbed, load, round_duration).await?;
            while round.other_cpus >= MAX_OTHER_CPUS && Instant::now() < retry_deadline {
                sleep(Duration::from_secs(1)).await;
                round = measure::measure(series.target, testbed, load, round_duration).await?;
            }
            series.rounds.push(round);
        }
    }
    Ok(results)
}
