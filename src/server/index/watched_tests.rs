//! What a viewer of a window hears.

use serde_json::json;

use super::*;
use crate::domain::{Fingerprint, Order, Sort};

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
        lock: Arc::new(lock(name, owner, renewed)),
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

/// A stream, and a viewer of the first two locks by name.
struct Story {
    stream: Stream,
    index: IndexSnapshot,
    viewer: Watched,
}

impl Story {
    fn new(also: &[&str]) -> Self {
        let index = IndexSnapshot::new(Vec::new(), EventId { epoch: 5, seq: 0 });
        let view = View {
            sort: Sort::Key,
            order: Order::Asc,
            limit: 2,
            ..View::default()
        };
        let also = also.iter().map(|name| id(name)).collect();
        Self {
            stream: Stream::new(index.clone()),
            index,
            viewer: Watched::new(view, also),
        }
    }

    fn publish(&mut self, changes: Vec<Change>) {
        self.stream.publish(&mut self.index, changes);
    }

    /// What the viewer could see now.
    fn look(&self) -> ViewSnapshot {
        let index = self.stream.snapshot();
        let window = self.viewer.view.among(index.locks(), None, NOW);
        ViewSnapshot::new(index.id(), window, Instant::now())
    }

    /// What the viewer hears once it may look again.
    fn hear(&mut self) -> Vec<String> {
        let step = self.look().step(&self.viewer, &self.stream, NOW);
        self.viewer = Watched::clone(&step.after);
        step.told.iter().map(in_words).collect()
    }
}

fn in_words(told: &Told) -> String {
    let name = |lock: &Lock| lock.key().text().into_owned();
    match told {
        Told::Snapshot(snapshot) => {
            let names: Vec<String> = snapshot.locks.iter().map(|lock| name(lock)).collect();
            format!("{} of {}", names.join(" "), snapshot.total)
        }
        Told::Change(change) => match &**change {
            Change::Appeared { lock } => format!("{} appeared", name(lock)),
            Change::Renewed { lock } => format!("{} renewed", name(lock)),
            Change::ChangedHands { lock } => format!("{} changed hands", name(lock)),
            Change::Updated { lock } => format!("{} updated", name(lock)),
            Change::Gone { id, ending, .. } => format!("{} {ending:?}", id.key.text()),
            Change::Lost { .. } => "lost".to_owned(),
            Change::Group { .. } => "group".to_owned(),
        },
        Told::Window(news) => {
            let left: Vec<_> = news.left.iter().map(|id| id.key.text()).collect();
            format!("{} in all, left: {}", news.total, left.join(" "))
        }
    }
}

#[test]
fn a_viewer_hears_what_came_of_the_changes_in_its_window_and_nothing_else() {
    let mut story = Story::new(&[]);
    story.publish(vec![put("a", "1", 0), put("c", "1", 0), put("d", "1", 0)]);
    assert_eq!(story.hear(), ["a c of 3"]);
    assert!(story.hear().is_empty());

    let renewals = (1..100).map(|n| put("a", "1", n));
    story.publish(renewals.chain([put("d", "2", 0)]).collect());
    assert_eq!(story.hear(), ["a renewed"]);

    story.publish(vec![gone("a"), put("a", "2", 0)]);
    assert_eq!(story.hear(), ["a changed hands"]);

    story.publish(vec![put("b", "1", 0)]);
    let heard = story.hear();
    assert_eq!(heard, ["b appeared", "4 in all, left: c"]);

    story.publish(vec![gone("a")]);
    let heard = story.hear();
    assert_eq!(heard, ["a Released", "c appeared", "3 in all, left: "]);
}

#[test]
fn a_lock_that_is_followed_is_told_of_wherever_it_stands() {
    let mut story = Story::new(&["z"]);
    story.publish(["a", "b", "c", "z"].map(|name| put(name, "1", 0)).to_vec());
    assert_eq!(story.hear(), ["a b z of 4"]);
    story.publish(vec![put("z", "1", 1), put("c", "1", 1)]);
    assert_eq!(story.hear(), ["z renewed"]);
    story.publish(vec![gone("z")]);
    let heard = story.hear();
    assert_eq!(heard, ["z Released", "3 in all, left: "]);
}

#[test]
fn a_viewer_that_missed_too_much_begins_anew() {
    let mut story = Story::new(&[]);
    story.hear();
    let changes = 0..=super::super::stream::KEPT_CHANGES;
    story.publish(changes.map(|_| put("a", "1", 0)).collect());
    assert_eq!(story.hear(), ["a of 1"]);
}

#[test]
fn viewers_who_were_told_the_same_share_what_is_worked_out_and_written_next() {
    let mut story = Story::new(&[]);
    story.publish(vec![put("a", "1", 0)]);
    let seen = story.look();
    let step = |viewer: &Watched| seen.step(viewer, &story.stream, NOW);
    let (one, other) = (step(&story.viewer), step(&story.viewer.clone()));
    assert!(Arc::ptr_eq(&one, &other));
    assert_eq!(
        one.frame().unwrap().as_ptr(),
        other.frame().unwrap().as_ptr()
    );
    let after = step(&one.after);
    assert!(after.told.is_empty() && after.frame().is_none());
    let also = Watched::new(View::default(), vec![id("z")]);
    assert!(!Arc::ptr_eq(&step(&also), &step(&also)));
}

#[test]
fn who_opens_a_window_anew_hears_which_locks_were_lost_meanwhile() {
    let mut story = Story::new(&[]);
    story.publish(vec![put("a", "1", 0)]);
    story.hear();
    let place = story.viewer.place;
    let lost = Change::Lost {
        id: id("a"),
        fingerprint: Fingerprint::parse("0123456789abcdef").unwrap(),
        label: None,
        at: NOW,
        why: "it is gone".to_owned(),
    };
    story.publish(vec![lost]);
    let view = View {
        limit: 2,
        ..View::default()
    };
    story.viewer = Watched::new(view, Vec::new()).after(place);
    assert_eq!(story.hear(), ["a of 1", "lost"]);
    assert!(story.hear().is_empty(), "once");
}
