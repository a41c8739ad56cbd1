//! What a viewer of a window hears.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::domain::{Board, Fingerprint, Order, Sort};

const NOW: Timestamp = Timestamp::from_millis(5);

fn lock(name: &str, owner: &str, renewed: u32) -> Lock {
    let owner = json!({"fingerprint": owner.repeat(16), "label": null, "format": "plain"});
    serde_json::from_value(json!({
        "group": "g", "key": name, "format": "plain", "confidence": "sure", "mode": "exclusive",
        "verdict": "held", "flags": [], "owner": owner, "owners": [owner],
        "expires_at": NOW, "lease_ms": 1, "acquired_at": NOW, "acquired_at_is": "first-seen", "observed_at": NOW,
        "nodes": [], "renewals": {"count": renewed, "source": "feed"}, "evidence": [],
    }))
    .unwrap()
}

fn put(name: &str, owner: &str, renewed: u32) -> Change {
    Change::Updated {
        lock: Box::new(lock(name, owner, renewed)),
    }
}

fn gone(name: &str) -> Change {
    Change::Gone {
        id: id(name),
        ending: Ending::Released,
        at: NOW,
    }
}

fn id(name: &str) -> LockId {
    LockId {
        group: "g".into(),
        key: name.into(),
    }
}

/// A stream with a viewer of the first two locks by name.
fn watched(also: &[&str]) -> (Stream, Watched) {
    let stream = Stream::new(Board::default(), NOW);
    let view = View {
        sort: Sort::Key,
        order: Order::Asc,
        limit: 2,
        ..View::default()
    };
    let also = also.iter().map(|name| id(name)).collect();
    (stream, Watched::new(view, also))
}

/// What the viewer hears once it may look again.
fn hear(stream: &Stream, watched: &mut Watched) -> Vec<String> {
    stream.forget_windows();
    let name = |lock: &Lock| lock.key().text().into_owned();
    let words = |told: Told| match told {
        Told::Snapshot(snapshot) => {
            let names: Vec<String> = snapshot.locks.iter().map(|lock| name(lock)).collect();
            format!("{} of {}", names.join(" "), snapshot.total)
        }
        Told::Change(change) => match *change {
            Change::Appeared { lock } => format!("{} appeared", name(&lock)),
            Change::Renewed { lock } => format!("{} renewed", name(&lock)),
            Change::ChangedHands { lock } => format!("{} changed hands", name(&lock)),
            Change::Updated { lock } => format!("{} updated", name(&lock)),
            Change::Gone { id, ending, .. } => format!("{} {ending:?}", id.key.text()),
            Change::Lost { .. } => "lost".to_owned(),
            Change::Group { .. } => "group".to_owned(),
        },
        Told::Window(news) => {
            let left: Vec<_> = news.left.iter().map(|id| id.key.text()).collect();
            format!("{} in all, left: {}", news.total, left.join(" "))
        }
    };
    let telling = watched.next(stream, NOW);
    telling.told.into_iter().map(words).collect()
}

#[test]
fn a_viewer_hears_what_came_of_the_changes_in_its_window_and_nothing_else() {
    let (stream, mut viewer) = watched(&[]);
    stream.publish(vec![put("a", "1", 0), put("c", "1", 0), put("d", "1", 0)]);
    assert_eq!(hear(&stream, &mut viewer), ["a c of 3"]);
    assert!(hear(&stream, &mut viewer).is_empty());

    let renewals = (1..100).map(|n| put("a", "1", n));
    stream.publish(renewals.chain([put("d", "2", 0)]).collect());
    assert_eq!(hear(&stream, &mut viewer), ["a renewed"]);

    stream.publish(vec![gone("a"), put("a", "2", 0)]);
    assert_eq!(hear(&stream, &mut viewer), ["a changed hands"]);

    stream.publish(vec![put("b", "1", 0)]);
    let heard = hear(&stream, &mut viewer);
    assert_eq!(heard, ["b appeared", "4 in all, left: c"]);

    stream.publish(vec![gone("a")]);
    let heard = hear(&stream, &mut viewer);
    assert_eq!(heard, ["a Released", "c appeared", "3 in all, left: "]);
}

#[test]
fn a_lock_that_is_followed_is_told_of_wherever_it_stands() {
    let (stream, mut viewer) = watched(&["z"]);
    stream.publish(["a", "b", "c", "z"].map(|name| put(name, "1", 0)).to_vec());
    assert_eq!(hear(&stream, &mut viewer), ["a b z of 4"]);
    stream.publish(vec![put("z", "1", 1), put("c", "1", 1)]);
    assert_eq!(hear(&stream, &mut viewer), ["z renewed"]);
    stream.publish(vec![gone("z")]);
    let heard = hear(&stream, &mut viewer);
    assert_eq!(heard, ["z Released", "3 in all, left: "]);
}

#[test]
fn a_viewer_that_missed_too_much_begins_anew() {
    let (stream, mut viewer) = watched(&[]);
    hear(&stream, &mut viewer);
    let changes = 0..=super::super::stream::KEPT_CHANGES;
    stream.publish(changes.map(|_| put("a", "1", 0)).collect());
    assert_eq!(hear(&stream, &mut viewer), ["a of 1"]);
}

#[test]
fn nobody_is_told_more_than_five_times_a_second() {
    let (stream, mut viewer) = watched(&[]);
    let began = Instant::now();
    let first = viewer.next(&stream, NOW);
    assert!(first.until >= began + Duration::from_millis(200));
    stream.publish(vec![put("a", "1", 0)]);
    let too_early = viewer.next(&stream, NOW);
    assert!(too_early.told.is_empty());
    assert_eq!(too_early.until, first.until);
    assert!(too_early.place.is_before(1));
}

#[test]
fn who_opens_a_window_anew_hears_which_locks_were_lost_meanwhile() {
    let (stream, mut before) = watched(&[]);
    stream.publish(vec![put("a", "1", 0)]);
    let place = before.next(&stream, NOW).place;
    let lost = Change::Lost {
        id: id("a"),
        fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
        label: None,
        at: NOW,
        why: "it is gone".to_owned(),
    };
    stream.publish(vec![lost]);
    let view = View {
        limit: 2,
        ..View::default()
    };
    let mut anew = Watched::new(view, Vec::new()).after(Some(place));
    assert_eq!(hear(&stream, &mut anew), ["a of 1", "lost"]);
    assert!(hear(&stream, &mut anew).is_empty(), "once");
}
