//! `make bench`: how many locks one console keeps up with, beside the floor of raw round trips and beside another library.

mod budgets;
mod code;
mod delay;
mod http;
mod machine;
mod measure;
mod peer;
mod processors;
mod raw;
mod record;
mod round;
mod servers;
mod table;
mod watching;
mod work;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use machine::{Machine, QUIET};
use round::{Length, Round};
use servers::{Bed, Programs};
use tokio::time::sleep;
use work::{Load, Way};

/// Why a measurement could not be made. One sentence, for the terminal.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The lease of every lock that is taken here: long enough never to end by itself.
const LEASE: Duration = Duration::from_secs(30);

/// Measures pairs of acquire and release on redis-servers of its own: raw round trips, the locking code, the console over
/// HTTP and the library rslock, in turns, so that a busy moment of the machine strikes all of them.
///
/// "raw" is `SET key token NX PX ttl` and a compare-and-delete script (EVALSHA), each client on a connection of its own to
/// each node, all nodes at once, the answers of all of them awaited.
#[derive(Parser)]
#[command(name = "make bench")]
struct Options {
    /// Rounds of half a second instead of two, for a first impression.
    #[arg(long)]
    quick: bool,
    /// How often everything is measured; the table shows medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// For so many seconds in all, rounds are measured again that others disturbed.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    patience: u64,
    /// Numbers of clients.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    clients: Vec<usize>,
    /// Numbers of nodes.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 5])]
    nodes: Vec<usize>,
    /// Only these: raw, code, http, rslock, rslock-shared.
    #[arg(long, value_delimiter = ',')]
    ways: Vec<Way>,
    /// Leave out contended locks and delayed nodes.
    #[arg(long)]
    plain: bool,
    /// Only these of what watching costs: discovery, steady, lag, size, reads, viewers; by default all of them.
    #[arg(long, value_delimiter = ',')]
    watching: Vec<watching::Section>,
    /// For so long thousands watch [default: 60; with --quick 10].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(5..))]
    crowd_seconds: Option<u32>,
    /// Leave out acquiring and releasing.
    #[arg(long)]
    only_watching: bool,
    /// The console to measure [default: the lockkeeper that was built beside this program].
    #[arg(long, value_name = "FILE")]
    console: Option<PathBuf>,
    /// Write every single measurement there, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Options {
    /// The ways that are measured under a load.
    fn ways_of(&self, load: Load) -> impl Iterator<Item = Way> {
        let is_wanted = |way: &Way| self.ways.is_empty() || self.ways.contains(way);
        load.ways().into_iter().filter(is_wanted)
    }
}

/// One way under one load, measured again and again.
struct Cell {
    load: Load,
    way: Way,
    rounds: Vec<Round>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(why) => return fail(&why.into()),
    };
    match runtime.block_on(run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

fn fail(why: &Failure) -> ExitCode {
    eprintln!("bench: {why}");
    ExitCode::FAILURE
}

async fn run(options: &Options) -> Result<(), Failure> {
    let programs = Programs::find(options.console.clone()).await?;
    let machine = Machine::look(&programs)?;
    print!("{machine}");

    let length = Length::of(if options.quick {
        Duration::from_millis(500)
    } else {
        Duration::from_secs(2)
    });
    let patience_ends = Instant::now() + Duration::from_secs(options.patience);
    let loads = if options.only_watching {
        Vec::new()
    } else {
        work::loads(&options.nodes, &options.clients, options.plain)
    };
    let rounds = loads.iter().map(|load| options.ways_of(*load).count());
    let rounds = rounds.sum::<usize>() * options.repeats as usize;
    let about = (length.warm_up + length.measured) * u32::try_from(rounds)?;
    say(&format!(
        "{rounds} rounds, about {} s",
        about.as_secs().max(1)
    ));
    let mut cells = Vec::new();
    let mut round_trip = None;
    // One bed at a time: what is not measured does not run.
    for loads in loads.chunk_by(|one, other| one.same_bed(*other)) {
        let bed = Bed::start(&programs, loads[0]).await?;
        if loads[0].delayed {
            round_trip = Some(bed.round_trip().await?);
        }
        for &load in loads {
            cells.extend(measure(options, &bed, load, length, patience_ends).await?);
        }
        bed.end().await;
    }
    said_it_all();

    if !cells.is_empty() {
        print!("{}", table::of(&cells, round_trip));
    }
    let mut budgets = budgets::of(&cells);
    let watching = watching::measure(
        &programs,
        &options.watching,
        options.quick,
        options.crowd_seconds,
    );
    budgets.extend(watching.await?);
    print!("{}", budgets::in_words(&budgets));
    if !cells.is_empty() {
        println!("\n{}", machine.in_words(&cells));
    }
    if let Some(file) = &options.json {
        let record = record::of(&machine, length, &cells, round_trip, &budgets);
        std::fs::write(file, record).map_err(|why| format!("{}: {why}", file.display()))?;
    }
    Ok(())
}

/// Tells whoever waits what is going on: on a terminal in one line that changes, else line by line.
fn say(what: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    } else {
        eprintln!("{what}");
    }
}

/// Takes that line away.
fn said_it_all() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

/// Measures all ways in turns.
async fn measure(
    options: &Options,
    bed: &Bed,
    load: Load,
    length: Length,
    patience_ends: Instant,
) -> Result<Vec<Cell>, Failure> {
    let new = |way| Cell {
        load,
        way,
        rounds: Vec::new(),
    };
    let mut cells: Vec<Cell> = options.ways_of(load).map(new).collect();
    for repeat in 1..=options.repeats {
        for cell in &mut cells {
            say(&format!(
                "{load}, {}: {repeat} of {}",
                cell.way, options.repeats
            ));
            let mut round = measure::measure(cell.way, bed, load, length).await?;
            while round.others >= QUIET && Instant::now() < patience_ends {
                sleep(Duration::from_secs(1)).await;
                round = measure::measure(cell.way, bed, load, length).await?;
            }
            cell.rounds.push(round);
        }
    }
    Ok(cells)
}
