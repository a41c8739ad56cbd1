//! The events that a subscriber of a view receives.

use serde_json::json;

use super::*;
use crate::domain::reason::Reason;
use crate::domain::{Fingerprint, Sort, SortOrder};

const NOW: Timestamp = Timestamp::from_millis(5);

fn lock(name: &str, owner: &str, renewed: u32) -> Lock {
    let owner = json!({"fingerprint": owner.repeat(16), "label": null, "format": "plain"});
    serde_json::from_value(json!({
        "group": "g", "key": name, "format": "plain", "confidence": "sure", "mode": "exclusive",
        "verdict": "held", "flags": [], "owner": owner, "owners": [owner],
        "expires_at": NOW, "lease_ms": 1, "acquired_at": NOW, "acquired_at_source": "first-seen", "observed_at": NOW,
        "nodes": [], "renewals": {"count": renewed, "source": "feed"}, "evidence": [],
    }))
    .unwrap()
}

fn updated(name: &str, owner: &str, renewed: u32) -> Change {
    Change::Updated {
        lock: Arc::new(lock(name, owner, renewed)),
    }
}

fn gone(name: &str) -> Change {
    Change::Gone {
        id: id(name),
        end_reason: GoneReason::Released,
        at: NOW,
    }
}

fn id(name: &str) -> LockId {
    LockId {
        group: "g".into(),
        key: name.into(),
    }
}

/// A stream, and a subscriber of the first two locks by key.
struct Fixture {
    stream: ChangeStream,
    index: IndexSnapshot,
    subscriber: SubscriberView,
}

impl Fixture {
    fn new(pinned: &[&str]) -> Self {
        let index = IndexSnapshot::new(Vec::new(), EventId { epoch: 5, seq: 0 });
        let view = WindowQuery {
            sort: Sort::Key,
            order: SortOrder::Asc,
            limit: 2,
            ..WindowQuery::default()
        };
        let pinned = pinned.iter().map(|name| id(name)).collect();
        Self {
            stream: ChangeStream::new(index.clone()),
            index,
            subscriber: SubscriberView::new(view, pinned),
        }
    }

    fn publish(&mut self, changes: Vec<Change>) {
        self.stream.publish(&mut self.index, changes);
    }

    /// The current snapshot of the view.
    fn take_snapshot(&self) -> ViewSnapshot {
        let index = self.stream.snapshot();
        let window = self
            .subscriber
            .view
            .evaluate_locks(index.locks(), None, NOW);
        ViewSnapshot::new(index.id(), window, Instant::now())
    }

    /// The next events of the subscriber.
    fn receive(&mut self) -> Vec<String> {
        let delta = self
            .take_snapshot()
            .delta(&self.subscriber, &self.stream, NOW);
        self.subscriber = SubscriberView::clone(&delta.subscriber);
        delta.events.iter().map(describe).collect()
    }
}

fn describe(event: &ViewEvent) -> String {
    let name = |lock: &Lock| lock.key().text().into_owned();
    match event {
        ViewEvent::Snapshot(snapshot) => {
            let names: Vec<String> = snapshot.locks.iter().map(|lock| name(lock)).collect();
            format!("{} of {}", names.join(" "), snapshot.total)
        }
        ViewEvent::Change(change) => match &**change {
            Change::Appeared { lock } => format!("{} appeared", name(lock)),
            Change::Renewed { lock } => format!("{} renewed", name(lock)),
            Change::OwnerChanged { lock } => format!("{} changed hands", name(lock)),
            Change::Updated { lock } => format!("{} updated", name(lock)),
            Change::Gone {
                id,
                end_reason: ending,
                ..
            } => format!("{} {ending:?}", id.key.text()),
            Change::Lost { .. } => "lost".to_owned(),
            Change::Group { .. } => "group".to_owned(),
        },
        ViewEvent::Window(window) => {
            let left: Vec<_> = window.removed.iter().map(|id| id.key.text()).collect();
            format!("{} in all, left: {}", window.total, left.join(" "))
        }
    }
}

#[test]
fn a_subscriber_receives_only_the_merged_changes_of_its_view() {
    let mut fixture = Fixture::new(&[]);
    fixture.publish(vec![
        updated("a", "1", 0),
        updated("c", "1", 0),
        updated("d", "1", 0),
    ]);
    assert_eq!(fixture.receive(), ["a c of 3"]);
    assert!(fixture.receive().is_empty());

    let renewals = (1..100).map(|n| updated("a", "1", n));
    fixture.publish(renewals.chain([updated("d", "2", 0)]).collect());
    assert_eq!(fixture.receive(), ["a renewed"]);

    fixture.publish(vec![gone("a"), updated("a", "2", 0)]);
    assert_eq!(fixture.receive(), ["a changed hands"]);

    fixture.publish(vec![updated("b", "1", 0)]);
    let received = fixture.receive();
    assert_eq!(received, ["b appeared", "4 in all, left: c"]);

    fixture.publish(vec![gone("a")]);
    let received = fixture.receive();
    assert_eq!(received, ["a Released", "c appeared", "3 in all, left: "]);
}

#[test]
fn a_pinned_lock_is_sent_even_outside_the_view() {
    let mut fixture = Fixture::new(&["z"]);
    fixture.publish(
        ["a", "b", "c", "z"]
            .map(|name| updated(name, "1", 0))
            .to_vec(),
    );
    assert_eq!(fixture.receive(), ["a b z of 4"]);
    fixture.publish(vec![updated("z", "1", 1), updated("c", "1", 1)]);
    assert_eq!(fixture.receive(), ["z renewed"]);
    fixture.publish(vec![gone("z")]);
    let received = fixture.receive();
    assert_eq!(received, ["z Released", "3 in all, left: "]);
}

#[test]
fn a_subscriber_that_missed_too_much_receives_a_snapshot() {
    let mut fixture = Fixture::new(&[]);
    fixture.receive();
    let changes = 0..=super::super::stream::MAX_RETAINED_CHANGES;
    fixture.publish(changes.map(|_| updated("a", "1", 0)).collect());
    assert_eq!(fixture.receive(), ["a of 1"]);
}

#[test]
fn subscribers_with_equal_state_share_one_delta() {
    let mut fixture = Fixture::new(&[]);
    fixture.publish(vec![updated("a", "1", 0)]);
    let snapshot = fixture.take_snapshot();
    let delta = |subscriber: &SubscriberView| snapshot.delta(subscriber, &fixture.stream, NOW);
    let (one, other) = (
        delta(&fixture.subscriber),
        delta(&fixture.subscriber.clone()),
    );
    assert!(Arc::ptr_eq(&one, &other));
    assert_eq!(
        one.frame().unwrap().as_ptr(),
        other.frame().unwrap().as_ptr()
    );
    let after = delta(&one.subscriber);
    assert!(after.events.is_empty() && after.frame().is_none());
    let pinned = SubscriberView::new(WindowQuery::default(), vec![id("z")]);
    assert!(!Arc::ptr_eq(&delta(&pinned), &delta(&pinned)));
}

#[test]
fn a_reconnecting_subscriber_receives_the_losses_in_between() {
    let mut fixture = Fixture::new(&[]);
    fixture.publish(vec![updated("a", "1", 0)]);
    fixture.receive();
    let last_id = fixture.subscriber.last_id;
    let lost = Change::Lost {
        id: id("a"),
        fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
        label: None,
        at: NOW,
        reason: Reason::LockGone,
    };
    fixture.publish(vec![lost]);
    let view = WindowQuery {
        limit: 2,
        ..WindowQuery::default()
    };
    fixture.subscriber = SubscriberView::new(view, Vec::new()).resuming_from(last_id);
    assert_eq!(fixture.receive(), ["a of 1", "lost"]);
    assert!(fixture.receive().is_empty(), "once");
}
