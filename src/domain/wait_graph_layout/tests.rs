//! Tests of the layout of the wait-for graph.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::domain::WaitQueue;
use crate::domain::testing::owner;

/// `a` is held by 1, and 2 waits for it: `lock("a", &[1], &[2])`.
fn lock(key: &str, owners: &[u8], waiters: &[u8]) -> BlockingLock {
    let waiter = |n: &u8| Waiter {
        queue: WaitQueue::RedissonQueue,
        label: owner(*n).label,
        fingerprint: owner(*n).fingerprint,
        waiting_since: Some(Timestamp::from_millis(i64::from(*n))),
        expires_at: None,
        held_locks: Vec::new(),
        deadlock: false,
    };
    BlockingLock {
        lock: id(key),
        owners: owners.iter().map(|n| owner(*n)).collect(),
        held_since: Some(Timestamp::from_millis(7)),
        waiters: waiters.iter().map(waiter).collect(),
        waiter_count: u32::try_from(waiters.len()).unwrap(),
        blocked_waiter_count: 0,
        depth: 0,
        deadlock: false,
    }
}

fn id(key: &str) -> LockId {
    LockId {
        group: "orders".into(),
        key: key.into(),
    }
}

fn layout(locks: Vec<BlockingLock>) -> WaitGraphLayout {
    WaitGraphLayout::of(&WaitForGraph {
        locks: WaitForGraph::sorted_by_impact(locks),
        observed_at: Timestamp::from_millis(0),
        unread_nodes: Vec::new(),
        truncated: false,
    })
}

/// The name of a node: that of the lock, the number of the client, or `+` and a number of clients.
fn name(node: &GraphNode) -> String {
    match &node.subject {
        NodeSubject::Lock { id, .. } => id.key.text().into_owned(),
        NodeSubject::Client { label, .. } => label.clone().unwrap(),
        NodeSubject::OtherClients { count } => format!("+{count}"),
    }
}

fn positions(drawing: &GraphDrawing) -> Vec<(String, u32, u32)> {
    let position = |node: &GraphNode| (name(node), node.column, node.half_row);
    drawing.nodes.iter().map(position).collect()
}

fn edge_names(drawing: &GraphDrawing) -> Vec<(String, String, bool)> {
    let of = |at: usize| name(&drawing.nodes[at]);
    let edge = |edge: &GraphEdge| (of(edge.from), of(edge.to), edge.is_deadlocked);
    drawing.edges.iter().map(edge).collect()
}

#[test]
fn a_chain_is_drawn_from_the_client_that_blocks_the_others() {
    let layout = layout(vec![lock("b", &[2], &[3]), lock("a", &[1], &[2, 4])]);
    let [drawing] = layout.drawings.as_slice() else {
        panic!("{layout:?}");
    };
    let expected = [
        ("api-1", 0, 1),
        ("a", 1, 1),
        ("api-2", 2, 0),
        ("api-4", 2, 2),
        ("b", 3, 0),
        ("api-3", 4, 0),
    ];
    assert_eq!(
        positions(drawing),
        expected.map(|(name, column, half_row)| (name.to_owned(), column, half_row))
    );
    assert_eq!((drawing.column_count, drawing.half_row_count), (5, 3));
    assert!(drawing.edges.iter().all(|edge| !edge.is_deadlocked));
    let since = drawing
        .edges
        .iter()
        .map(|edge| edge.since.unwrap().millis());
    assert_eq!(since.collect::<Vec<_>>(), [7, 2, 4, 7, 3]);
}

#[test]
fn the_edges_and_nodes_of_a_cycle_are_marked_and_others_are_not() {
    let layout = layout(vec![lock("a", &[1], &[2, 3]), lock("b", &[2], &[1])]);
    let [drawing] = layout.drawings.as_slice() else {
        panic!("{layout:?}");
    };
    let marked = drawing.nodes.iter().filter(|node| node.is_deadlocked);
    let mut marked: Vec<String> = marked.map(name).collect();
    marked.sort();
    assert_eq!(marked, ["a", "api-1", "api-2", "b"]);
    assert_eq!(drawing.deadlocked_lock(), Some(&id("a")));
    let edges = edge_names(drawing);
    let edge = |from: &str, to: &str, is_deadlocked| (from.into(), to.into(), is_deadlocked);
    for expected in [
        edge("a", "api-1", true),
        edge("api-1", "b", true),
        edge("b", "api-2", true),
        edge("api-2", "a", true),
        edge("api-3", "a", false),
    ] {
        assert!(edges.contains(&expected), "{expected:?} {edges:?}");
    }
}

#[test]
fn parts_that_are_not_connected_are_drawn_apart() {
    let layout = layout(vec![lock("a", &[1], &[2]), lock("b", &[3], &[4])]);
    let names: Vec<Vec<&LockId>> = layout
        .drawings
        .iter()
        .map(|drawing| drawing.locks().collect())
        .collect();
    assert_eq!(names, [[&id("a")], [&id("b")]]);
    assert_eq!(layout.drawings[1].deadlocked_lock(), None);
}

#[test]
fn a_lock_without_an_owner_is_in_a_column_of_locks() {
    let layout = layout(vec![lock("a", &[], &[1])]);
    let expected = [("a".to_owned(), 1, 0), ("api-1".to_owned(), 2, 0)];
    assert_eq!(positions(&layout.drawings[0]), expected);
}

#[test]
fn many_waiters_and_owners_are_one_node_each() {
    let owners: Vec<u8> = (1..=20).collect();
    let waiters: Vec<u8> = (100..=180).collect();
    let mut wanted = lock("a", &owners, &waiters);
    wanted.waiter_count = 500;
    let layout = layout(vec![wanted]);
    let names: Vec<String> = layout.drawings[0].nodes.iter().map(name).collect();
    assert!(names.contains(&"+12".to_owned()) && names.contains(&"+495".to_owned()));
    assert_eq!(names.len(), 1 + 8 + 1 + 5 + 1);
}

#[test]
fn locks_beyond_the_maximum_are_named() {
    let keys: Vec<String> = (0..40).map(|n| format!("lock:{n:02}")).collect();
    let locks = keys
        .iter()
        .zip(0_u8..)
        .map(|(key, n)| lock(key, &[2 * n + 1], &[2 * n + 2]));
    let layout = layout(locks.collect());
    let drawn: usize = layout.drawings.iter().map(|part| part.nodes.len()).sum();
    assert_eq!((drawn, layout.drawings.len()), (MAX_NODES, MAX_NODES / 3));
    let omitted: Vec<LockId> = keys[MAX_NODES / 3..].iter().map(|key| id(key)).collect();
    assert_eq!(layout.omitted_locks, omitted);
}

proptest! {
    #[test]
    fn any_graph_has_a_bounded_drawing_without_overlap(
        locks in proptest::collection::vec(
            (proptest::collection::vec(0_u8..24, 0..3), proptest::collection::vec(0_u8..24, 1..8)),
            0..24,
        ),
    ) {
        let graph = || {
            let lock = |(n, (owners, waiters)): (usize, &(Vec<u8>, Vec<u8>))| {
                lock(&format!("{n}"), owners, waiters)
            };
            locks.iter().enumerate().map(lock).collect::<Vec<_>>()
        };
        let drawn = layout(graph());
        prop_assert_eq!(&drawn, &layout(graph()));
        let nodes: usize = drawn.drawings.iter().map(|part| part.nodes.len()).sum();
        prop_assert!(nodes <= MAX_NODES);
        let drawn_locks: usize = drawn.drawings.iter().map(|part| part.locks().count()).sum();
        prop_assert_eq!(drawn_locks + drawn.omitted_locks.len(), locks.len());
        for part in &drawn.drawings {
            let mut columns: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for node in &part.nodes {
                let is_lock = matches!(node.subject, NodeSubject::Lock { .. });
                prop_assert_eq!(node.column % 2 == 1, is_lock);
                columns.entry(node.column).or_default().push(node.half_row);
            }
            for half_rows in columns.values_mut() {
                half_rows.sort_unstable();
                prop_assert!(half_rows.windows(2).all(|pair| pair[1] >= pair[0] + 2), "{half_rows:?}");
            }
        }
    }
}
