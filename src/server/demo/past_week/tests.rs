//! The week before the demo contains every kind of event, and a console reads it as its history.

use std::collections::BTreeSet;

use super::*;
use crate::domain::{Activity, ActivityQuery, Flag, HoldEndReason, VisibleGroups};
use crate::server::history::{HistoryReader, Recording};

const NOW: Timestamp = Timestamp::from_millis(1_795_200_485_556);

fn query(from: Timestamp, to: Timestamp) -> ActivityQuery {
    ActivityQuery {
        group: None,
        key: None,
        search: None,
        owner: None,
        from,
        to,
        limit: 5_000,
    }
}

async fn read(storage: &Storage, from: Timestamp, to: Timestamp) -> Activity {
    HistoryReader::new(storage.clone())
        .activity(
            &query(from, to),
            &VisibleGroups::All,
            Recording::Expected,
            NOW,
        )
        .await
        .unwrap()
}

#[test]
fn the_week_depends_only_on_the_time_and_is_small() {
    let week = made_up_week(NOW);
    assert_eq!(week, made_up_week(NOW));
    let holds = week
        .records
        .iter()
        .filter(|(_, record)| matches!(record, crate::server::index::HistoryRecord::HoldEnded(_)));
    let holds = holds.count();
    assert!((1_000..4_000).contains(&holds), "{holds} holds");
    assert!(week.counters.len() < 7_000, "{}", week.counters.len());
}

#[test]
fn the_incident_is_over_and_within_the_last_day_at_every_hour() {
    for hour in 0..24 {
        let now = NOW.plus(Duration::from_hours(hour));
        let week = made_up_week(now);
        let at = incident::time(week.to);
        assert_eq!(at.to_string().get(11..16), Some("03:07"));
        assert!(week.to.since(at) < Duration::from_mins(24 * 60 + 30));
        let is_in_range = |at: &Timestamp| week.from <= *at && *at <= week.to;
        assert!(week.records.iter().all(|(at, _)| is_in_range(at)));
        assert!(week.gaps.iter().all(|gap| is_in_range(&gap.from)));
    }
}

#[tokio::test]
async fn a_console_reads_the_week_as_its_history() {
    let folder = tempfile::tempdir().unwrap();
    let config = StorageConfig::sqlite(folder.path().join("lockkeeper.db"));
    write(&config, NOW).await.unwrap();
    // A second demo on the same file does not add another week.
    write(&config, NOW).await.unwrap();
    let storage = Storage::new(&config, true);
    let week = read(&storage, before(NOW, Duration::from_hours(30 * 24)), NOW).await;
    let expected = made_up_week(NOW);
    assert!(!week.is_truncated);
    assert_eq!(week.recorded_since, Some(expected.from));
    let ends: BTreeSet<_> = week
        .holds
        .iter()
        .filter_map(|hold| hold.hold.end_reason)
        .map(HoldEndReason::slug)
        .collect();
    assert_eq!(
        ends.into_iter().collect::<Vec<_>>(),
        ["expired", "forced", "released", "unknown"]
    );
    let flags: BTreeSet<Flag> = week.flags.iter().map(|flag| flag.flag).collect();
    for flag in [
        Flag::AtRisk,
        Flag::Overdue,
        Flag::Contended,
        Flag::Split,
        Flag::Fragment,
    ] {
        assert!(flags.contains(&flag), "{flag:?}");
    }
    let causes: Vec<GapCause> = week.gaps.iter().map(|gap| gap.cause).collect();
    assert!(causes.contains(&GapCause::ConsoleStopped));
    assert!(causes.contains(&GapCause::StorageUnavailable));
    assert_eq!(week.outages.len(), 14);

    // What happened at 03:07: the nodes that were down, the split, and the release by force.
    let at = incident::time(expected.to);
    let night = read(&storage, at, at.plus(Duration::from_mins(10))).await;
    let nodes: BTreeSet<_> = night.outages.iter().map(|outage| &*outage.node).collect();
    assert_eq!(nodes.into_iter().collect::<Vec<_>>(), ["c", "d"]);
    let forced = night
        .holds
        .iter()
        .filter(|hold| hold.hold.end_reason == Some(HoldEndReason::Forced));
    assert_eq!(forced.count(), 2);
    assert!(night.flags.iter().any(|flag| flag.flag == Flag::Split));
    assert!(!night.counters.is_empty());
}
