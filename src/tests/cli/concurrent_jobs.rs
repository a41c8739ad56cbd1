//! Cron on twenty machines: many short jobs for a few locks, which must never overlap.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::{Shell, no_lock_left, output_of};
use crate::support::redis_nodes::RedisNodes;

/// The number of jobs. `LOCKKEEPER_SOAK_JOBS` overrides it.
const DEFAULT_JOBS: usize = 60;
/// The number of concurrent jobs.
const CONCURRENCY: usize = 20;
/// The number of locks that the jobs compete for.
const LOCKS: usize = 8;

/// `mkdir` fails if another job of the same lock is running.
const JOB: &str = r#"mkdir "$1.busy" || exit 99; echo "begin $$" >> "$1.log"; echo "end $$" >> "$1.log"; rmdir "$1.busy""#;

#[expect(
    clippy::disallowed_methods,
    reason = "the number of jobs is set by hand"
)]
fn job_count() -> usize {
    let variable = std::env::var("LOCKKEEPER_SOAK_JOBS").ok();
    variable.map_or(DEFAULT_JOBS, |text| text.parse().expect("a number of jobs"))
}

#[tokio::test]
async fn short_jobs_of_twenty_processes_never_overlap_and_leave_no_locks() {
    let nodes = RedisNodes::start(3).await;
    let shell = Arc::new(Shell::new(&nodes));
    let (jobs, next_job) = (job_count(), Arc::new(AtomicUsize::new(0)));
    let started = Instant::now();
    let workers: Vec<_> = (0..CONCURRENCY)
        .map(|_| {
            let (shell, next_job) = (Arc::clone(&shell), Arc::clone(&next_job));
            tokio::spawn(async move {
                let mut completed = 0;
                loop {
                    let n = next_job.fetch_add(1, Ordering::Relaxed);
                    if n >= jobs {
                        return completed;
                    }
                    let lock = format!("lock:{}", n % LOCKS);
                    let file = format!("job-{}", n % LOCKS);
                    let options = ["default", &lock, "--ttl", "10s", "--wait", "1m"];
                    let job = ["--", "sh", "-c", JOB, "cron-job", &file];
                    let output =
                        output_of(shell.command("run", &[&options[..], &job].concat())).await;
                    assert_eq!((output.status, output.stderr.as_str()), (0, ""), "job {n}");
                    completed += 1;
                }
            })
        })
        .collect();
    let mut completed = 0;
    for worker in workers {
        completed += worker.await.unwrap();
    }
    let took = started.elapsed();
    println!("{completed} jobs on {CONCURRENCY} processes and {LOCKS} locks in {took:.1?}");
    assert_eq!(completed, jobs);
    let logged: usize = (0..LOCKS)
        .map(|n| count_turns(&shell.path(&format!("job-{n}.log"))))
        .sum();
    assert_eq!(logged, jobs);
    assert!(no_lock_left(&nodes).await);
    assert_eq!(shell.process_count(), 0, "no process is left");
}

/// The number of completed jobs in a log. Asserts that each `begin` is followed by the `end` of the
/// same process.
fn count_turns(log: &Path) -> usize {
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    for turn in lines.chunks(2) {
        let pid = |line: &str, word: &str| line.strip_prefix(word).map(str::to_owned);
        assert_eq!(pid(turn[0], "begin "), pid(turn[1], "end "), "{turn:?}");
        assert!(turn[0].starts_with("begin "), "{turn:?}");
    }
    lines.len() / 2
}
