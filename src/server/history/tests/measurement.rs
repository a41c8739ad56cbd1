//! Measures the recorder at the peak load: 100,000 locks and 1,000 hand-overs per second.

use std::time::Instant;

use tokio::time::MissedTickBehavior;

use super::*;

const LOCKS: i64 = 100_000;
const HAND_OVERS_PER_SECOND: i64 = 1_000;
/// Renewals of other locks in the same time.
const RENEWALS_PER_SECOND: i64 = 1_000;

fn lock_name(n: i64) -> String {
    format!("lock:invoice:{:06}", n.rem_euclid(LOCKS))
}

/// The CPU time of this process in seconds, and its resident memory in MB.
fn usage() -> (f64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    (ticks / 100.0, pages * 4096 / 1_000_000)
}

async fn time_query(console: &Console, name: &str, query: ActivityQuery) {
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        let found = console.read(query.clone()).await.unwrap();
        times.push((started.elapsed(), found.holds.len()));
    }
    times.sort();
    println!("{name}: median {:?}, {} holds", times[2].0, times[2].1);
}

/// How long the recorder is measured.
const MEASURED_SECONDS: i64 = 60;

/// Prints the results, which depend on the machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn measure_recorder() {
    let seconds = MEASURED_SECONDS;
    let directory = tempfile::tempdir().unwrap();
    let config = storage_in(directory.path());
    let clock = Clock::system();
    let console = Console::start(&config, &clock);
    let now = || clock.now().millis_since(START);
    let start = now();
    console.report((0..LOCKS).map(|n| {
        let record = open(&lock_name(n), n.unsigned_abs(), start, start + 30_000);
        HistoryRecord::HoldStarted(record)
    }));
    let mut tick = interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    // The locks that exist at the start are written first.
    for _ in 0..150 {
        tick.tick().await;
    }
    let (began, (cpu, memory)) = (Instant::now(), usage());
    for round in 0..seconds * 10 {
        tick.tick().await;
        let at = now();
        for n in round * HAND_OVERS_PER_SECOND / 10..(round + 1) * HAND_OVERS_PER_SECOND / 10 {
            let (key, owner) = (lock_name(n), n.unsigned_abs());
            let end = ended(&key, owner, at - 20_000, at);
            let next = open(&key, owner + LOCKS.unsigned_abs(), at, at + 30_000);
            console.report([
                HistoryRecord::HoldEnded(end),
                HistoryRecord::HoldStarted(next),
            ]);
        }
        let renewed = (0..RENEWALS_PER_SECOND / 10).map(|n| {
            let n = round * 100 + n + LOCKS / 2;
            HistoryRecord::HoldRenewed(open(&lock_name(n), 7, at, at + 30_000))
        });
        console.report(renewed);
    }
    let (elapsed, (cpu_end, memory_end)) = (began.elapsed().as_secs_f64(), usage());
    println!("CPU: {:.1} % of a core", (cpu_end - cpu) / elapsed * 100.0);
    println!("memory: {memory} MB at the start, {memory_end} MB after {elapsed:.0} s");
    let holds = seconds * HAND_OVERS_PER_SECOND;
    let day = ActivityQuery {
        group: Some("orders".into()),
        from: at(now() - 86_400_000),
        to: at(now()),
        limit: 10_000,
        ..everything()
    };
    let hour = ActivityQuery {
        from: at(now() - 3_600_000),
        ..day.clone()
    };
    let one_lock = ActivityQuery {
        key: Some(lock_name(5).as_str().into()),
        ..day.clone()
    };
    let shorter = ActivityQuery {
        limit: 1_000,
        ..hour.clone()
    };
    time_query(&console, "one lock, one day", one_lock).await;
    time_query(&console, "one group, one hour, 1,000 holds", shorter).await;
    time_query(&console, "one group, one hour, 10,000 holds", hour).await;
    console.stop().await;
    let bytes = std::fs::metadata(directory.path().join("lockkeeper.db"));
    let bytes = bytes.unwrap().len();
    println!("{bytes} bytes for {holds} ended holds and {LOCKS} locks");
}

/// Prints the time of a query for 10,000 holds of one hour, without the load of the recorder.
#[tokio::test]
#[ignore = "a measurement"]
async fn measure_query() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(at(3_600_000));
    let console = Console::start(&storage_in(directory.path()), &clock);
    let holds = (0..20_000).map(|n| {
        let from = n * 150;
        HistoryRecord::HoldEnded(ended(
            &lock_name(n * 7),
            n.unsigned_abs(),
            from,
            from + 9_000,
        ))
    });
    console.report(holds);
    let last = lock_name(19_999 * 7);
    console
        .wait_for(|all| {
            all.holds
                .first()
                .is_some_and(|one| one.id.key.text() == last)
        })
        .await;
    let query = ActivityQuery {
        group: Some("orders".into()),
        from: at(0),
        to: at(3_600_000),
        limit: 10_000,
        ..everything()
    };
    time_query(&console, "one group, one hour, 10,000 holds", query.clone()).await;
    let found = console.read(query).await.unwrap();
    let started = Instant::now();
    let json = serde_json::to_vec(&found).unwrap();
    println!("JSON: {:?} for {} bytes", started.elapsed(), json.len());
    console.stop().await;
}
