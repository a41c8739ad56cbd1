//! Many schedules at once, and one again that was found.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::checker::Violation;
use super::counts::Counts;
use super::schedule::Plan;
use super::world::run;

/// How many schedules every run of the tests tries.
pub const SCHEDULES: u64 = 1_000;

/// What the environment asks for.
pub struct Asked {
    /// This schedule alone, told step by step.
    pub seed: Option<u64>,
    /// With this assumption broken.
    pub broken: Option<String>,
    /// So many schedules.
    pub schedules: Option<u64>,
    /// As many as fit into this time.
    pub soak: Option<Duration>,
}

impl Asked {
    /// Reads `LOCKKEEPER_SEED`, `LOCKKEEPER_BROKEN`, `LOCKKEEPER_SCHEDULES` and `LOCKKEEPER_SOAK_SECONDS`.
    pub fn by_environment() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test has no configuration file"
        )]
        let text = |name: &str| std::env::var(name).ok();
        let number = |name: &str| text(name).map(|text| text.parse().unwrap());
        Self {
            seed: number("LOCKKEEPER_SEED"),
            broken: text("LOCKKEEPER_BROKEN"),
            schedules: number("LOCKKEEPER_SCHEDULES"),
            soak: number("LOCKKEEPER_SOAK_SECONDS").map(Duration::from_secs),
        }
    }

    /// How far to look.
    pub fn limits(&self) -> Limits {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match (self.schedules, self.soak) {
            (None, None) => Limits::first(SCHEDULES),
            (Some(schedules), time) => Limits {
                time,
                cores,
                ..Limits::first(schedules)
            },
            // What every run tries is known; these are others.
            (None, time) => Limits {
                first: u64::from(rand::random::<u32>()) << 24,
                time,
                cores,
                ..Limits::first(u64::MAX)
            },
        }
    }
}

/// What came of many schedules.
pub struct Explored {
    pub counts: Counts,
    /// The schedules in which something was found, smallest number first.
    pub found: Vec<(u64, Violation)>,
    pub took: Duration,
}

/// How far to look.
pub struct Limits {
    /// The number of the first schedule.
    pub first: u64,
    /// So many schedules.
    pub schedules: u64,
    /// Not longer than this.
    pub time: Option<Duration>,
    /// Not further when so many have found something.
    pub enough: usize,
    /// On so many cores. The other tests have something to do, too.
    pub cores: usize,
}

impl Limits {
    /// The first schedules, until one finds something.
    pub fn first(schedules: u64) -> Self {
        Self {
            first: 0,
            schedules,
            time: None,
            enough: 1,
            cores: 1,
        }
    }
}

/// Runs schedules.
pub fn explore(limits: &Limits, plan: impl Fn(u64) -> Plan + Sync) -> Explored {
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let all = Mutex::new((Counts::default(), Vec::new()));
    let work = || {
        let mut counts = Counts::default();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let is_over = limits.time.is_some_and(|time| began.elapsed() >= time);
            let has_enough = all.lock().unwrap().1.len() >= limits.enough;
            if nth >= limits.schedules || is_over || has_enough {
                break;
            }
            let seed = limits.first + nth;
            let outcome = run(seed, plan(seed), false);
            counts.add(&outcome.counts);
            if let Some(violation) = outcome.violation {
                all.lock().unwrap().1.push((seed, violation));
            }
        }
        all.lock().unwrap().0.add(&counts);
    };
    std::thread::scope(|scope| {
        for _ in 1..limits.cores {
            scope.spawn(work);
        }
        work();
    });
    let (counts, mut found) = all.into_inner().unwrap();
    found.sort_unstable_by_key(|(seed, _)| *seed);
    Explored {
        counts,
        found,
        took: began.elapsed(),
    }
}

/// What happened in one schedule, and what was wrong with it.
pub fn story(seed: u64, plan: Plan) -> (String, Option<Violation>) {
    let what = plan.to_string();
    let outcome = run(seed, plan, true);
    let trace = outcome.trace.join("\n");
    let end = outcome
        .violation
        .as_ref()
        .map_or("nothing is wrong with it".to_owned(), |found| {
            format!("{found:?}")
        });
    (
        format!("schedule {seed}: {what}\n{trace}\n{end}"),
        outcome.violation,
    )
}
