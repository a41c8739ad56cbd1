//! The recorder and the reader on a real SQLite file: restarts, gaps, retention and several consoles.

mod durations;
mod full_disk;
mod many_locks;
mod retention;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::interruption::{Claim, claim};
use super::{HistoryReader, Recorder, Recording};
use crate::domain::{
    Activity, ActivityQuery, Fingerprint, Flag, Format, GapCause, HistorySource, Hold,
    HoldEndReason, LockId, NodeState, OwnerIdentity, RecordedHold, RecordingGap, StartSource,
    Timestamp, VisibleGroups,
};
use crate::server::clock::Clock;
use crate::server::config::StorageConfig;
use crate::server::index::{HistoryRecord, Index, OpenHoldRecord};
use crate::server::storage::Storage;

const START: Timestamp = Timestamp::from_millis(1_795_200_000_000);

fn at(ms: i64) -> Timestamp {
    START.plus_millis(ms)
}

fn id(key: &str) -> LockId {
    LockId {
        group: "orders".into(),
        key: key.into(),
    }
}

/// A hold that began at `from` milliseconds and has not ended.
fn open(key: &str, owner: u64, from: i64, expires: i64) -> OpenHoldRecord {
    OpenHoldRecord {
        hold: RecordedHold {
            id: id(key),
            format: Format::Plain,
            hold: Hold {
                fingerprint: Fingerprint::parse(&format!("{owner:016x}")).unwrap(),
                label: Some(format!("api-{owner}")),
                started_at: at(from),
                started_at_source: StartSource::Appeared,
                started_at_uncertainty_ms: Some(20),
                ended_at: None,
                end_reason: None,
                renewal_count: 2,
            },
            min_margin_ms: Some(7_000),
            attempts: Some(3),
        },
        expires_at: Some(at(expires)),
    }
}

fn ended(key: &str, owner: u64, from: i64, to: i64) -> RecordedHold {
    let mut hold = open(key, owner, from, to).hold;
    hold.hold.ended_at = Some(at(to));
    hold.hold.end_reason = Some(HoldEndReason::Released);
    hold
}

fn flag(key: &str, flag: Flag, is_raised: bool, ms: i64) -> HistoryRecord {
    HistoryRecord::Flag {
        id: id(key),
        flag,
        is_raised,
        at: at(ms),
    }
}

fn node(state: NodeState, ms: i64) -> HistoryRecord {
    HistoryRecord::Node {
        group: "orders".into(),
        node: "a".into(),
        state,
        at: at(ms),
    }
}

/// An index without groups, and a recorder.
struct Console {
    index: Index,
    storage: Storage,
    clock: Clock,
    reader: HistoryReader,
    stop: CancellationToken,
    recording: JoinHandle<()>,
}

impl Console {
    fn start(config: &StorageConfig, clock: &Clock) -> Self {
        let stop = CancellationToken::new();
        let index = Index::without_watchers(&[], clock.clone(), &stop, &TaskTracker::new());
        let storage = Storage::new(config, true);
        let recorder = Recorder::new(&index, storage.clone(), clock.clone(), config).unwrap();
        Self {
            recording: tokio::spawn(recorder.run(stop.clone())),
            reader: HistoryReader::new(storage.clone()),
            storage,
            clock: clock.clone(),
            index,
            stop,
        }
    }

    fn report(&self, records: impl IntoIterator<Item = HistoryRecord>) {
        for record in records {
            self.index.report_record(record);
        }
    }

    /// Everything that is recorded, once it fulfils the condition.
    async fn wait_for(&self, condition: impl Fn(&Activity) -> bool) -> Activity {
        self.wait_for_query(&everything(), condition).await
    }

    /// The result of a query, once it fulfils the condition.
    async fn wait_for_query(
        &self,
        query: &ActivityQuery,
        condition: impl Fn(&Activity) -> bool,
    ) -> Activity {
        let mut tick = interval(Duration::from_millis(10));
        let waiting = async {
            loop {
                tick.tick().await;
                let read = self.read(query.clone()).await;
                if let Some(activity) = read.filter(|activity| condition(activity)) {
                    return activity;
                }
            }
        };
        timeout(Duration::from_secs(30), waiting)
            .await
            .expect("the history becomes as expected")
    }

    async fn read(&self, query: ActivityQuery) -> Option<Activity> {
        let now = self.clock.now();
        let reading = self
            .reader
            .activity(&query, &VisibleGroups::All, Recording::Expected, now);
        reading.await.ok()
    }

    /// Ends the recorder without a last write.
    async fn kill(self) {
        self.recording.abort();
        let _aborted = self.recording.await;
    }

    async fn stop(self) {
        self.stop.cancel();
        self.recording.await.unwrap();
    }
}

fn everything() -> ActivityQuery {
    ActivityQuery {
        group: None,
        key: None,
        search: None,
        owner: None,
        from: at(-1_000_000),
        to: at(1_000_000_000),
        limit: 100,
    }
}

fn storage_in(directory: &Path) -> StorageConfig {
    StorageConfig::sqlite(directory.join("lockkeeper.db"))
}

#[tokio::test]
async fn the_holds_of_a_host_are_found_whatever_form_its_labels_have() {
    let directory = tempfile::tempdir().unwrap();
    let console = Console::start(&storage_in(directory.path()), &Clock::manual(START));
    let labels = [
        "web-1",
        "web-1 pid 7",
        "web-1:pid42",
        "web-1/42",
        "web-1:2380",
        "web-1 (10.0.0.1)",
        "web-11 pid 7",
        "web-1 (blue)",
        "web-1/nightly",
        "my web-1 pid 7",
    ];
    let hold = |(n, label): (u64, &str)| {
        let from = i64::try_from(n).unwrap() * 1_000;
        let mut hold = ended("lock:a", n, from, from + 500);
        hold.hold.label = Some(label.to_owned());
        HistoryRecord::HoldEnded(hold)
    };
    console.report((0..).zip(labels).map(hold));
    console
        .wait_for(|all| all.holds.len() == labels.len())
        .await;
    let query = ActivityQuery {
        owner: Some(OwnerIdentity::Host("web-1".into())),
        ..everything()
    };
    let found = console.read(query).await.unwrap();
    let mut found: Vec<String> = found
        .holds
        .into_iter()
        .map(|hold| hold.hold.label.unwrap())
        .collect();
    found.reverse();
    assert_eq!(found, labels[..6]);
}

#[tokio::test]
async fn holds_flags_and_outages_are_read_as_they_were_reported() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Clock::manual(START);
    let console = Console::start(&storage_in(directory.path()), &clock);
    let renewed = open("lock:b", 5, 90_000, 130_000);
    console.report([
        HistoryRecord::HoldStarted(open("lock:a", 1, 1_000, 11_000)),
        HistoryRecord::HoldEnded(ended("lock:a", 1, 1_000, 2_000)),
        HistoryRecord::HoldEnded(ended("lock:a", 2, 2_000, 80_000)),
        HistoryRecord::HoldStarted(open("lock:b", 5, 90_000, 100_000)),
        HistoryRecord::HoldRenewed(renewed.clone()),
        flag("lock:b", Flag::AtRisk, true, 95_000),
        flag("lock:b", Flag::AtRisk, false, 96_000),
        flag("lock:b", Flag::Contended, true, 97_000),
        node(NodeState::Up, 0),
        node(NodeState::Down, 50_000),
        node(NodeState::Up, 60_000),
    ]);
    let all = console.wait_for(|all| all.holds.len() == 3).await;
    assert_eq!(all.source, HistorySource::Storage);
    assert_eq!(
        all.holds,
        [
            renewed.hold.clone(),
            ended("lock:a", 2, 2_000, 80_000),
            ended("lock:a", 1, 1_000, 2_000),
        ]
    );
    let flags: Vec<_> = all
        .flags
        .iter()
        .map(|one| (one.flag, one.from, one.to))
        .collect();
    assert_eq!(
        flags,
        [
            (Flag::Contended, at(97_000), None),
            (Flag::AtRisk, at(95_000), Some(at(96_000))),
        ]
    );
    let outages: Vec<_> = all
        .outages
        .iter()
        .map(|one| (one.state, one.from, one.to))
        .collect();
    assert_eq!(outages, [(NodeState::Down, at(50_000), Some(at(60_000)))]);
    assert!(all.gaps.is_empty());
    assert_eq!(all.recorded_since, Some(START));

    for (query, expected) in [
        (
            ActivityQuery {
                group: Some("orders".into()),
                key: Some("lock:a".into()),
                ..everything()
            },
            vec!["lock:a", "lock:a"],
        ),
        (
            ActivityQuery {
                search: Some("K:B".into()),
                ..everything()
            },
            vec!["lock:b"],
        ),
        (
            ActivityQuery {
                from: at(70_000),
                to: at(85_000),
                ..everything()
            },
            vec!["lock:a"],
        ),
        (
            ActivityQuery {
                owner: Some(OwnerIdentity::Host("api-2".into())),
                ..everything()
            },
            vec!["lock:a"],
        ),
        (
            ActivityQuery {
                owner: Some(OwnerIdentity::Fingerprint(renewed.hold.hold.fingerprint)),
                ..everything()
            },
            vec!["lock:b"],
        ),
        (
            ActivityQuery {
                owner: Some(OwnerIdentity::Host("' OR 1=1 --".into())),
                ..everything()
            },
            vec![],
        ),
        (
            ActivityQuery {
                group: Some("other".into()),
                ..everything()
            },
            vec![],
        ),
    ] {
        let found = console.read(query.clone()).await.unwrap();
        let keys: Vec<_> = found.holds.iter().map(|hold| hold.id.key.text()).collect();
        assert_eq!(keys, expected, "{query:?}");
    }
    let limited = ActivityQuery {
        limit: 2,
        ..everything()
    };
    let limited = console.read(limited).await.unwrap();
    assert_eq!((limited.holds.len(), limited.is_truncated), (2, true));
    console.stop().await;
}

#[tokio::test]
async fn a_restart_leaves_a_gap_and_ends_the_holds_that_do_not_provably_continue() {
    let directory = tempfile::tempdir().unwrap();
    let (config, clock) = (storage_in(directory.path()), Clock::manual(START));
    let console = Console::start(&config, &clock);
    console.report([
        HistoryRecord::HoldEnded(ended("lock:done", 1, -5_000, -1_000)),
        HistoryRecord::HoldStarted(open("lock:same-lease", 2, -4_000, 600_000)),
        HistoryRecord::HoldStarted(open("lock:other-lease", 3, -3_000, 10_000)),
        HistoryRecord::HoldStarted(open("lock:gone", 4, -2_000, 10_000)),
        flag("lock:gone", Flag::Overdue, true, -500),
    ]);
    console.wait_for(|all| all.holds.len() == 4).await;
    console.kill().await;

    clock.advance(Duration::from_secs(120));
    let console = Console::start(&config, &clock);
    let first_seen = |key: &str, owner: u64, expires: i64| {
        let mut record = open(key, owner, 121_000, expires);
        record.hold.hold.started_at_source = StartSource::FirstSeen;
        record.hold.hold.renewal_count = 0;
        HistoryRecord::HoldStarted(record)
    };
    console.report([
        first_seen("lock:same-lease", 2, 600_300),
        first_seen("lock:other-lease", 3, 190_000),
    ]);
    let all = console.wait_for(|all| all.holds.len() == 5).await;
    let gaps: Vec<_> = all
        .gaps
        .iter()
        .map(|gap| (gap.from, gap.to, gap.cause))
        .collect();
    assert_eq!(gaps, [(START, Some(at(120_000)), GapCause::ConsoleStopped)]);
    let holds: Vec<_> = all
        .holds
        .iter()
        .map(|one| {
            let hold = &one.hold;
            let key = one.id.key.text().into_owned();
            (key, hold.started_at, hold.ended_at, hold.end_reason)
        })
        .collect();
    let unknown = Some(HoldEndReason::Unknown);
    let hold = |key: &str, from: i64, to, reason| (key.to_owned(), at(from), to, reason);
    assert_eq!(
        holds,
        [
            hold("lock:other-lease", 121_000, None, None),
            hold("lock:gone", -2_000, Some(START), unknown),
            hold("lock:other-lease", -3_000, Some(START), unknown),
            hold("lock:same-lease", -4_000, None, None),
            hold(
                "lock:done",
                -5_000,
                Some(at(-1_000)),
                Some(HoldEndReason::Released)
            ),
        ]
    );
    assert_eq!(all.flags[0].to, Some(START));

    // The end of the hold that continues has its start from before the gap.
    let mut end = ended("lock:same-lease", 2, 121_000, 130_000);
    end.hold.renewal_count = 1;
    console.report([HistoryRecord::HoldEnded(end)]);
    let is_ended =
        |one: &RecordedHold| one.id.key.text() == "lock:same-lease" && one.hold.ended_at.is_some();
    let all = console.wait_for(|all| all.holds.iter().any(is_ended)).await;
    let continued = all.holds.iter().find(|one| is_ended(one)).unwrap();
    assert_eq!(continued.hold.started_at, at(-4_000));
    assert_eq!(continued.hold.renewal_count, 3);
    assert_eq!(all.holds.len(), 5);
    console.stop().await;
}

#[tokio::test]
async fn the_recorded_start_stays_when_a_console_that_observed_another_one_continues() {
    let directory = tempfile::tempdir().unwrap();
    let (config, clock) = (storage_in(directory.path()), Clock::manual(START));
    let console = Console::start(&config, &clock);
    console.report([
        HistoryRecord::HoldStarted(open("lock:earlier", 1, -2_000, 600_000)),
        HistoryRecord::HoldStarted(open("lock:later", 2, -2_000, 600_000)),
        HistoryRecord::HoldStarted(open("lock:much-earlier", 3, -2_000, 600_000)),
    ]);
    console.wait_for(|all| all.holds.len() == 3).await;
    console.kill().await;

    clock.advance(Duration::from_secs(120));
    let console = Console::start(&config, &clock);
    console.report([
        HistoryRecord::HoldStarted(open("lock:earlier", 1, -2_001, 600_000)),
        HistoryRecord::HoldStarted(open("lock:later", 2, -1_999, 600_000)),
        HistoryRecord::HoldStarted(open("lock:much-earlier", 3, -9_000, 600_000)),
    ]);
    let continues = |all: &Activity| all.holds.iter().all(|one| one.hold.ended_at.is_none());
    let all = console.wait_for(continues).await;
    let start = |key: &str| {
        let mut holds = all.holds.iter();
        let one = holds.find(|one| one.id.key.text() == key);
        one.map(|one| one.hold.started_at)
    };
    assert_eq!(start("lock:earlier"), Some(at(-2_000)));
    assert_eq!(start("lock:later"), Some(at(-2_000)));
    assert_eq!(start("lock:much-earlier"), Some(at(-9_000)));
    console.stop().await;
}

#[tokio::test]
async fn without_a_running_console_nothing_is_known_after_the_last_mark() {
    let directory = tempfile::tempdir().unwrap();
    let (config, clock) = (storage_in(directory.path()), Clock::manual(START));
    let console = Console::start(&config, &clock);
    console.report([HistoryRecord::HoldStarted(open(
        "lock:a", 1, -1_000, 10_000,
    ))]);
    console.wait_for(|all| all.holds.len() == 1).await;
    console.kill().await;

    let reader = HistoryReader::new(Storage::new(&config, false));
    let (query, now) = (everything(), at(60_000));
    let reading = reader.activity(&query, &VisibleGroups::All, Recording::Unknown, now);
    let all = reading.await.unwrap();
    let gap = all.gaps[0];
    assert_eq!(
        (gap.from, gap.to, gap.cause),
        (START, None, GapCause::ConsoleStopped)
    );
    assert_eq!(all.holds[0].hold.ended_at, Some(START));
    assert_eq!(all.holds[0].hold.end_reason, Some(HoldEndReason::Unknown));
    let hidden = VisibleGroups::only("other");
    let reading = reader.activity(&query, &hidden, Recording::Unknown, now);
    assert_eq!(reading.await.unwrap().holds, []);
}

#[tokio::test]
async fn what_is_reported_while_the_storage_is_unavailable_is_written_later() {
    let directory = tempfile::tempdir().unwrap();
    let blocked: PathBuf = directory.path().join("data");
    std::fs::write(&blocked, "a file where the folder should be").unwrap();
    let clock = Clock::manual(START);
    let console = Console::start(&storage_in(&blocked), &clock);
    console.report([HistoryRecord::HoldEnded(ended("lock:a", 1, 1_000, 2_000))]);
    assert_eq!(console.read(everything()).await, None);
    std::fs::remove_file(&blocked).unwrap();
    let all = console.wait_for(|all| !all.holds.is_empty()).await;
    assert_eq!(all.holds, [ended("lock:a", 1, 1_000, 2_000)]);
    assert!(all.gaps.is_empty(), "nothing was lost");
    console.stop().await;
}

#[tokio::test]
async fn records_that_do_not_fit_into_the_queue_become_a_gap() {
    let directory = tempfile::tempdir().unwrap();
    let blocked: PathBuf = directory.path().join("data");
    std::fs::write(&blocked, "a file where the folder should be").unwrap();
    let clock = Clock::manual(START);
    let console = Console::start(&storage_in(&blocked), &clock);
    console.report([HistoryRecord::HoldStarted(open("lock:open", 9, 0, 10_000))]);
    clock.advance(Duration::from_secs(60));
    let renewed = open("lock:open", 9, 0, 20_000);
    console.report((0..150_000).map(|_| HistoryRecord::HoldRenewed(renewed.clone())));
    clock.advance(Duration::from_secs(60));
    std::fs::remove_file(&blocked).unwrap();
    let all = console.wait_for(|all| !all.gaps.is_empty()).await;
    let gaps: Vec<_> = all
        .gaps
        .iter()
        .map(|gap| (gap.from, gap.to, gap.cause))
        .collect();
    let expected = (at(60_000), Some(at(120_000)), GapCause::StorageUnavailable);
    assert_eq!(gaps, [expected]);
    // The index is empty: the hold ended at some time in the gap.
    let all = console
        .wait_for(|all| all.holds[0].hold.ended_at.is_some())
        .await;
    assert_eq!(all.holds[0].hold.end_reason, Some(HoldEndReason::Unknown));
    console.stop().await;
}

#[tokio::test]
async fn old_holds_are_deleted_and_the_oldest_beyond_the_size_limit() {
    for (retention, max_size, expected) in [
        (Some(Duration::from_secs(100)), 1_000_000, 50),
        (None, 20 * super::retention::BYTES_PER_HOLD, 20),
        (None, 1_000_000, 100),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let config = StorageConfig {
            history_retention: retention,
            history_max_size: max_size,
            ..storage_in(directory.path())
        };
        let clock = Clock::manual(START);
        let console = Console::start(&config, &clock);
        let holds = (0..100).map(|n| {
            let to = if n < 50 { -200_000 } else { -50_000 } + n;
            HistoryRecord::HoldEnded(ended(&format!("lock:{n}"), 1, to - 1_000, to))
        });
        console.report(holds);
        console.wait_for(|all| !all.holds.is_empty()).await;
        console.stop().await;
        // Old rows are searched at the start and then once a minute.
        let console = Console::start(&config, &clock);
        let all = console.wait_for(|all| all.holds.len() == expected).await;
        let earliest = all.holds.last().unwrap();
        let first = 100 - i64::try_from(expected).unwrap();
        assert_eq!(earliest.id.key.text(), format!("lock:{first}"));
        console.stop().await;
    }
}

#[tokio::test]
async fn one_of_several_consoles_records_and_another_one_continues_when_it_stops() {
    let directory = tempfile::tempdir().unwrap();
    let storage = Storage::new(&storage_in(directory.path()), true);
    let (first, second): (Arc<str>, Arc<str>) = ("first".into(), "second".into());
    let writer = |recorded_until| Claim::Writer { recorded_until };
    let claim = |writer: &Arc<str>, ms: i64| {
        let (storage, writer) = (storage.clone(), Arc::clone(writer));
        async move { claim(&storage, &writer, at(ms), false).await.unwrap() }
    };
    assert_eq!(claim(&first, 0).await, writer(None));
    assert_eq!(claim(&second, 1_000).await, Claim::Standby);
    assert_eq!(claim(&first, 2_000).await, writer(Some(START)));
    super::interruption::resign(&storage, &first).await.unwrap();
    assert_eq!(claim(&second, 3_000).await, writer(Some(START)));
    assert_eq!(claim(&first, 4_000).await, Claim::Standby);
    assert_eq!(claim(&first, 14_000).await, writer(Some(START)));
}
