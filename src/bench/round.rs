//! A round: clients that acquire and release locks as fast as possible for a fixed time.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::BenchError;
use super::cpu::CpuTime;

/// A client of the benchmark.
pub trait BenchClient: Send + 'static {
    /// Acquires and releases its lock once.
    fn pair(&mut self) -> impl Future<Output = Result<(), BenchError>> + Send;
}

/// The duration of a round: a warm-up, whose pairs are not counted, and the measurement.
#[derive(Clone, Copy)]
pub struct RoundDuration {
    pub warm_up: Duration,
    pub measured: Duration,
}

impl RoundDuration {
    /// Adds a warm-up of a fifth, in which connections are opened and caches filled.
    pub fn of(measured: Duration) -> Self {
        Self {
            warm_up: measured / 5,
            measured,
        }
    }
}

/// The result of a round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Pairs of all clients together.
    pub pairs_per_second: f64,
    /// Median latency of a pair.
    pub p50: Duration,
    pub p99: Duration,
    pub pairs: u32,
    /// CPU time used during the round.
    pub cpu_time: CpuTime,
    /// The number of CPUs that other processes used on average.
    pub other_cpus: f64,
}

/// Starts all clients and counts the pairs that end in the measured time. `cpu_time` returns the
/// CPU time used so far.
pub async fn measure<C: BenchClient>(
    clients: Vec<C>,
    round_duration: RoundDuration,
    cpu_time: impl Fn() -> CpuTime,
) -> Result<Round, BenchError> {
    let from = Instant::now() + round_duration.warm_up;
    let until = from + round_duration.measured;
    let mut running = JoinSet::new();
    for client in clients {
        running.spawn(pairs(client, from, until));
    }
    tokio::time::sleep_until(from.into()).await;
    let before = cpu_time();
    let mut latencies = Vec::new();
    while let Some(ended) = running.join_next().await {
        // An error drops the set, which aborts the other clients.
        latencies.extend(ended??);
    }
    let cpu_time = cpu_time().since(before);
    let other_cpus = cpu_time.of_other_processes().as_secs_f64() / from.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |share: f64| {
        latencies
            .get((latencies.len() as f64 * share) as usize)
            .copied()
    };
    match (at(0.5), at(0.99)) {
        (Some(p50), Some(p99)) => Ok(Round {
            pairs_per_second: latencies.len() as f64 / round_duration.measured.as_secs_f64(),
            p50,
            p99,
            pairs: u32::try_from(latencies.len())?,
            cpu_time,
            other_cpus,
        }),
        _ => Err("no pair was completed in the measured time".into()),
    }
}

/// Runs pairs until `until` and returns the latencies of those that end after `from`.
async fn pairs(
    mut client: impl BenchClient,
    from: Instant,
    until: Instant,
) -> Result<Vec<Duration>, BenchError> {
    let mut latencies = Vec::new();
    let mut started = Instant::now();
    loop {
        client.pair().await?;
        let ended = Instant::now();
        if ended >= until {
            return Ok(latencies);
        }
        if ended >= from {
            latencies.push(ended - started);
        }
        started = ended;
    }
}

/// The median; the mean of the two middle values if their number is even. NaN if there is none.
pub fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_unstable_by(f64::total_cmp);
    let (below, above) = (
        numbers.get(numbers.len().saturating_sub(1) / 2),
        numbers.get(numbers.len() / 2),
    );
    match (below, above) {
        (Some(below), Some(above)) => f64::midpoint(*below, *above),
        _ => f64::NAN,
    }
}
