//! Reports raised and ended flags, and states of nodes, to the recorder of the history.

use super::history::{HistoryRecord, RecordFeed};
use super::snapshot::IndexSnapshot;
use crate::domain::{Change, Flag, GroupView, LockId, Timestamp};

/// Reports the flags that changes raise or end, compared with the index before them.
pub(super) fn report(feed: &RecordFeed, index: &IndexSnapshot, changes: &[Change]) {
    if !feed.is_started() {
        return;
    }
    for change in changes {
        match change {
            Change::Appeared { lock }
            | Change::Renewed { lock }
            | Change::OwnerChanged { lock }
            | Change::Updated { lock } => {
                report_flags(feed, index, &lock.id, &lock.flags, lock.observed_at);
            }
            Change::Gone { id, at, .. } => report_flags(feed, index, id, &[], *at),
            Change::Lost { .. } | Change::Group { .. } => {}
        }
    }
}

fn report_flags(
    feed: &RecordFeed,
    index: &IndexSnapshot,
    id: &LockId,
    now: &[Flag],
    at: Timestamp,
) {
    let before = index.lock(id).map_or(&[][..], |lock| &lock.flags);
    if before == now {
        return;
    }
    let raised = now.iter().filter(|flag| !before.contains(flag));
    let ended = before.iter().filter(|flag| !now.contains(flag));
    let changes = raised
        .map(|flag| (flag, true))
        .chain(ended.map(|flag| (flag, false)));
    for (flag, is_raised) in changes {
        let record = HistoryRecord::Flag {
            id: id.clone(),
            flag: *flag,
            is_raised,
            at,
        };
        feed.send(record, at);
    }
}

/// Reports the nodes whose state is another one than in `before`.
pub(super) fn report_nodes(feed: &RecordFeed, before: Option<&GroupView>, group: &GroupView) {
    for node in &group.nodes {
        let mut known = before.iter().flat_map(|group| &group.nodes);
        let is_known = known.any(|known| {
            known.name == node.name && (known.state, known.since) == (node.state, node.since)
        });
        // Before the first connection attempt has ended, the state is not known.
        let Some(since) = node.since.filter(|_| !is_known) else {
            continue;
        };
        let record = HistoryRecord::Node {
            group: group.name.clone(),
            node: node.name.clone(),
            state: node.state,
            at: since,
        };
        feed.send(record, since);
    }
}
