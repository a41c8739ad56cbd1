//! Runs many schedules, and replays a single one with a trace.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::checker::Violation;
use super::coverage::Counters;
use super::schedule::Plan;
use super::virtual_time::run_schedule;

/// The number of schedules in a normal test run.
pub const SCHEDULES: u64 = 1_000;

/// Options from environment variables.
pub struct EnvOptions {
    /// Run only this schedule and print its trace.
    pub seed: Option<u64>,
    /// Break this assumption.
    pub broken: Option<String>,
    /// Run this many schedules.
    pub schedules: Option<u64>,
    /// Run for this long.
    pub soak: Option<Duration>,
}

impl EnvOptions {
    /// Reads `LOCKKEEPER_SEED`, `LOCKKEEPER_BROKEN`, `LOCKKEEPER_SCHEDULES` and
    /// `LOCKKEEPER_SOAK_SECONDS`.
    pub fn from_env() -> Self {
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

    pub fn limits(&self) -> Limits {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match (self.schedules, self.soak) {
            (None, None) => Limits::first_schedules(SCHEDULES),
            (Some(schedules), time) => Limits {
                max_time: time,
                cores,
                ..Limits::first_schedules(schedules)
            },
            // Seeds other than those of the normal test run.
            (None, time) => Limits {
                first_seed: u64::from(rand::random::<u32>()) << 24,
                max_time: time,
                cores,
                ..Limits::first_schedules(u64::MAX)
            },
        }
    }
}

/// The result of many schedules.
pub struct Exploration {
    pub counters: Counters,
    /// The seeds of schedules with a violation, in ascending order.
    pub violations: Vec<(u64, Violation)>,
    pub elapsed: Duration,
}

/// The limits of an exploration.
pub struct Limits {
    pub first_seed: u64,
    /// The maximum number of schedules.
    pub schedules: u64,
    pub max_time: Option<Duration>,
    /// The exploration stops after this many schedules with a violation.
    pub max_violations: usize,
    /// The number of threads. One by default, because other tests run concurrently.
    pub cores: usize,
}

impl Limits {
    /// Seeds from 0 on, until the first violation.
    pub fn first_schedules(schedules: u64) -> Self {
        Self {
            first_seed: 0,
            schedules,
            max_time: None,
            max_violations: 1,
            cores: 1,
        }
    }
}

/// Runs the schedules with the plans that `plan` returns for their seeds.
pub fn explore(limits: &Limits, plan: impl Fn(u64) -> Plan + Sync) -> Exploration {
    let started = Instant::now();
    let next = AtomicU64::new(0);
    let all = Mutex::new((Counters::default(), Vec::new()));
    let work = || {
        let mut counters = Counters::default();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let timed_out = limits.max_time.is_some_and(|max| started.elapsed() >= max);
            let has_enough = all.lock().unwrap().1.len() >= limits.max_violations;
            if nth >= limits.schedules || timed_out || has_enough {
                break;
            }
            let seed = limits.first_seed + nth;
            let outcome = run_schedule(seed, plan(seed), false);
            counters.merge(&outcome.counters);
            if let Some(violation) = outcome.violation {
                all.lock().unwrap().1.push((seed, violation));
            }
        }
        all.lock().unwrap().0.merge(&counters);
    };
    std::thread::scope(|scope| {
        for _ in 1..limits.cores {
            scope.spawn(work);
        }
        work();
    });
    let (counters, mut violations) = all.into_inner().unwrap();
    violations.sort_unstable_by_key(|(seed, _)| *seed);
    Exploration {
        counters,
        violations,
        elapsed: started.elapsed(),
    }
}

/// Runs one schedule and returns its trace and its violation.
pub fn replay(seed: u64, plan: Plan) -> (String, Option<Violation>) {
    let description = plan.to_string();
    let outcome = run_schedule(seed, plan, true);
    let trace = outcome.trace.join("\n");
    let result = outcome
        .violation
        .as_ref()
        .map_or("no violation".to_owned(), |violation| {
            format!("{violation:?}")
        });
    (
        format!("schedule {seed}: {description}\n{trace}\n{result}"),
        outcome.violation,
    )
}
