//! What cron does on twenty machines: many short jobs, few locks, and never two at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::{Shell, end_of, nothing_is_left};
use crate::support::redis_nodes::RedisNodes;

/// How many jobs are run; `LOCKKEEPER_SOAK_JOBS` makes it thousands.
const JOBS: usize = 60;
/// How many at a time.
const AT_ONCE: usize = 20;
/// How many locks they take turns for.
const LOCKS: usize = 8;

/// `mkdir` succeeds for one at a time, as long as nobody overlaps.
const JOB: &str = r#"mkdir "$1.busy" || exit 99; echo "begin $$" >> "$1.log"; echo "end $$" >> "$1.log"; rmdir "$1.busy""#;

#[expect(
    clippy::disallowed_methods,
    reason = "a longer run is asked for by hand"
)]
fn jobs() -> usize {
    let wanted = std::env::var("LOCKKEEPER_SOAK_JOBS").ok();
    wanted.map_or(JOBS, |text| text.parse().expect("a number of jobs"))
}

#[tokio::test]
async fn short_jobs_of_twenty_processes_never_overlap_and_leave_nothing() {
    let nodes = RedisNodes::start(3).await;
    let shell = Arc::new(Shell::on(&nodes));
    let (jobs, begun) = (jobs(), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now();
    let machines: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (shell, begun) = (Arc::clone(&shell), Arc::clone(&begun));
            tokio::spawn(async move {
                let mut done = 0;
                loop {
                    let n = begun.fetch_add(1, Ordering::Relaxed);
                    if n >= jobs {
                        return done;
                    }
                    let lock = format!("lock:{}", n % LOCKS);
                    let file = format!("job-{}", n % LOCKS);
                    let options = ["default", &lock, "--ttl", "10s", "--wait", "1m"];
                    let job = ["--", "sh", "-c", JOB, "cron-job", &file];
                    let ran = end_of(shell.command("run", &[&options[..], &job].concat())).await;
                    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "job {n}");
                    done += 1;
                }
            })
        })
        .collect();
    let mut done = 0;
    for machine in machines {
        done += machine.await.unwrap();
    }
    let took = began.elapsed();
    println!("{done} jobs on {AT_ONCE} processes and {LOCKS} locks in {took:.1?}");
    assert_eq!(done, jobs);
    let logged: usize = (0..LOCKS)
        .map(|n| turns(&shell.path(&format!("job-{n}.log"))))
        .sum();
    assert_eq!(logged, jobs);
    assert!(nothing_is_left(&nodes).await);
    assert_eq!(shell.processes(), 0, "no orphan");
}

/// How many took their turn, each with its end after its begin and nobody else's between.
fn turns(log: &Path) -> usize {
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    for turn in lines.chunks(2) {
        let whose = |line: &str, word: &str| line.strip_prefix(word).map(str::to_owned);
        assert_eq!(whose(turn[0], "begin "), whose(turn[1], "end "), "{turn:?}");
        assert!(turn[0].starts_with("begin "), "{turn:?}");
    }
    lines.len() / 2
}
