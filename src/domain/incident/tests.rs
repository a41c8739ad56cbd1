//! Tests of the summary of an incident.

use super::{English, Incident};
use crate::domain::activity::testing::{activity, flag, hold};
use crate::domain::testing::{NOW, lock, node, owner};
use crate::domain::{
    Activity, AdviceInputs, BlockingLock, Flag, GapCause, HoldEndReason, Lock, NodeOutage,
    NodeState, NodeView, RecordingGap, ReleaseAdvice, WaitQueue, Waiter,
};

/// What the tests summarise: a held lock whose name and owner contain markup.
struct Case {
    lock: Lock,
    advice: ReleaseAdvice,
    queue: BlockingLock,
    activity: Activity,
    nodes: Vec<NodeView>,
}

fn case(key: &str, label: &str) -> Case {
    let mut held = lock(&[2], NOW.plus_millis(-60_000), NOW);
    held.id.key = key.into();
    held.owners[0].label = Some(label.to_owned());
    held.owner = held.owners.first().cloned();
    held.flags = vec![Flag::Contended];
    let mut forced = hold("a", 1, 0, Some(12_000));
    forced.hold.end_reason = Some(HoldEndReason::Forced);
    forced.hold.label = Some(label.to_owned());
    let mut history = activity(
        vec![hold("a", 2, 12_500, None), forced],
        vec![flag("a", Flag::Contended, 5_000, Some(9_000))],
    );
    history.recorded_since = Some(NOW.plus_millis(-500));
    history.outages.push(NodeOutage {
        group: "orders".into(),
        node: "b".into(),
        state: NodeState::Down,
        from: NOW.plus_millis(20_000),
        to: Some(NOW.plus_millis(26_000)),
    });
    history.gaps.push(RecordingGap {
        from: NOW.plus_millis(30_000),
        to: Some(NOW.plus_millis(40_000)),
        cause: GapCause::ConsoleStopped,
    });
    let mut down = node(2);
    down.state = NodeState::Down;
    Case {
        advice: ReleaseAdvice::assess(&AdviceInputs {
            lock: &held,
            owner: None,
            hold_stats: None,
            queue: None,
            holder: None,
            connections: None,
            now: NOW,
        }),
        queue: BlockingLock {
            lock: held.id.clone(),
            owners: held.owners.clone(),
            held_since: Some(NOW),
            waiters: vec![Waiter {
                queue: WaitQueue::Console,
                label: Some("worker-7".to_owned()),
                fingerprint: owner(7).fingerprint,
                waiting_since: Some(NOW.plus_millis(-3_000)),
                expires_at: None,
                held_locks: Vec::new(),
                deadlock: false,
            }],
            waiter_count: 3,
            blocked_waiter_count: 1,
            depth: 0,
            deadlock: false,
        },
        activity: history,
        nodes: vec![node(1), down],
        lock: held,
    }
}

impl Case {
    fn markdown(&self) -> String {
        let state = self.lock.state_sentence(NOW);
        let incident = Incident {
            lock: &self.lock,
            state: &state,
            advice: Some(&self.advice),
            queue: Some(&self.queue),
            activity: Some(&self.activity),
            nodes: &self.nodes,
            link: Some(
                "https://locks.example/groups/orders/locks/lock%3Aa?at=1970-01-01T00:16:40.000Z",
            ),
            at: NOW,
        };
        incident.to_markdown(&English)
    }
}

#[test]
fn a_summary_has_the_state_the_advice_the_timeline_the_nodes_and_a_link() {
    let markdown = case("lock:a", "api-2").markdown();
    let lines: Vec<&str> = markdown.lines().collect();
    for expected in [
        "## Lock `lock:a`",
        "- **Group:** `orders`",
        "- **As of:** 1970-01-01 00:16:40 UTC",
        "- **Owner:** `api-2` (`00000000`)",
        "- **since:** 1970-01-01 00:15:40 UTC (first observed)",
        "- **Flags:** contended",
        "### If you release it now",
        "### Waiters",
        "- `worker-7` (`00000000`), since: 1970-01-01 00:16:37 UTC",
        "- Not listed: 2",
        "### The last hour",
        "- 1970-01-01 00:16:40 UTC acquired: `api-2` (`00000000`)",
        "- 1970-01-01 00:16:45 UTC flag raised: contended",
        "- 1970-01-01 00:16:52 UTC force-released: `api-2` (`00000000`), after 12 s",
        "- 1970-01-01 00:17:00 UTC node not up: `b` (down)",
        "- 1970-01-01 00:17:10 UTC recording stopped: the console did not run",
        "### Nodes",
        "- `b`: down, since: 1970-01-01 00:16:40 UTC",
        "The page at this time: <https://locks.example/groups/orders/locks/lock%3Aa?at=1970-01-01T00:16:40.000Z>",
    ] {
        assert!(lines.contains(&expected), "{expected}: {markdown}");
    }
}

#[test]
fn names_with_markup_stay_names() {
    let hostile = "x`](https://evil.example)\n## <img src=x> @all | **b**";
    let markdown = case(hostile, hostile).markdown();
    for line in markdown.lines() {
        let is_ours = line.is_empty()
            || line.starts_with("- ")
            || line.starts_with("#")
            || line.starts_with("The page at this time: <");
        assert!(is_ours, "{line}");
    }
    // Outside of code spans, the markup of the name is escaped.
    let outside: Vec<&str> = markdown.split("``").step_by(2).collect();
    let outside = outside.concat();
    for markup in ["<img", "](https", "@all", " **b"] {
        let escaped = format!("\\{markup}");
        let unescaped = outside.replace(&escaped, "").replace("\\*\\*b", "");
        assert!(!unescaped.contains(markup), "{markup}: {markdown}");
    }
}

#[test]
fn a_summary_without_history_names_what_is_missing() {
    let case = case("lock:a", "api-2");
    let state = case.lock.verdict_sentence();
    let incident = Incident {
        lock: &case.lock,
        state: &state,
        advice: None,
        queue: None,
        activity: None,
        nodes: &[],
        link: None,
        at: NOW,
    };
    let markdown = incident.to_markdown(&English);
    assert!(
        markdown.contains("- The history could not be read.\n"),
        "{markdown}"
    );
    assert!(!markdown.contains("### Nodes"), "{markdown}");
}

#[test]
fn a_long_timeline_keeps_the_latest_events() {
    let mut case = case("lock:a", "api-2");
    let holds = (0..200).map(|n| hold("a", 1, n * 100, Some(n * 100 + 50)));
    case.activity.holds = holds.rev().collect();
    let markdown = case.markdown();
    assert!(markdown.lines().count() < 90, "{markdown}");
    assert!(markdown.contains("- Not listed: 355\n"), "{markdown}");
}
