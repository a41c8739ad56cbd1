//! One measurement: clients that take and give back a lock as fast as they can for a while.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Failure;
use super::processors::Spent;

/// Somebody who takes a lock and gives it back.
pub trait Client: Send + 'static {
    /// Once.
    fn pair(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// How long is measured, and what is thrown away before.
#[derive(Clone, Copy)]
pub struct Length {
    /// Until connections, caches and branch predictors have settled.
    pub warm_up: Duration,
    /// What counts.
    pub measured: Duration,
}

impl Length {
    /// With a warm-up of a fifth.
    pub fn of(measured: Duration) -> Self {
        Self {
            warm_up: measured / 5,
            measured,
        }
    }
}

/// What a measurement showed.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Pairs of all clients together.
    pub pairs_per_second: f64,
    /// Half of the pairs took no longer.
    pub p50: Duration,
    /// All but a hundredth took no longer.
    pub p99: Duration,
    /// How many pairs that were.
    pub pairs: u32,
    /// Processor time spent meanwhile.
    pub spent: Spent,
    /// The share of the time measured that others kept a processor busy: 1 is one whole processor.
    pub others: f64,
}

/// Lets all clients go at once and counts the pairs that end within the time measured. `spent` tells the processor time
/// so far.
pub async fn measure<C: Client>(
    clients: Vec<C>,
    length: Length,
    spent: impl Fn() -> Spent,
) -> Result<Round, Failure> {
    let from = Instant::now() + length.warm_up;
    let until = from + length.measured;
    let mut running = JoinSet::new();
    for client in clients {
        running.spawn(pairs(client, from, until));
    }
    tokio::time::sleep_until(from.into()).await;
    let before = spent();
    let mut took = Vec::new();
    while let Some(ended) = running.join_next().await {
        // A failure drops the set, which ends the other clients.
        took.extend(ended??);
    }
    let spent = spent().since(before);
    let others = spent.by_others().as_secs_f64() / from.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |share: f64| took.get((took.len() as f64 * share) as usize).copied();
    match (at(0.5), at(0.99)) {
        (Some(p50), Some(p99)) => Ok(Round {
            pairs_per_second: took.len() as f64 / length.measured.as_secs_f64(),
            p50,
            p99,
            pairs: u32::try_from(took.len())?,
            spent,
            others,
        }),
        _ => Err("not one pair ended in the time measured".into()),
    }
}

/// How long each pair took that ended between these moments.
async fn pairs(
    mut client: impl Client,
    from: Instant,
    until: Instant,
) -> Result<Vec<Duration>, Failure> {
    let mut took = Vec::new();
    let mut began = Instant::now();
    loop {
        client.pair().await?;
        let ended = Instant::now();
        if ended >= until {
            return Ok(took);
        }
        if ended >= from {
            took.push(ended - began);
        }
        began = ended;
    }
}

/// The one in the middle, or the mean of the two there.
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
