//! The wait-for graph as a drawing: locks and clients in columns, from the clients that block the
//! others on the left to the last waiters on the right.
//!
//! The layout is deterministic: the same graph has the same drawing.

mod spanning_tree;

use std::collections::{BTreeMap, BTreeSet};

use self::spanning_tree::{Links, SpanningTree};
use super::{BlockingLock, Fingerprint, LockId, Owner, Timestamp, WaitForGraph, Waiter};

/// The maximum number of nodes of all drawings.
pub const MAX_NODES: usize = 60;
/// The maximum number of owners of a lock that have their own node.
const MAX_OWNERS: usize = 8;
/// The maximum number of waiters of a lock that have their own node: those that hold locks which
/// others wait for, and the first of the others.
const MAX_HOLDING_WAITERS: usize = 20;
const MAX_OTHER_WAITERS: usize = 5;

/// What a node stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSubject {
    /// A lock.
    Lock {
        /// The group and name.
        id: LockId,
        /// The number of waiters that depend on its release.
        blocked_waiter_count: u32,
    },
    /// A client that holds locks or waits for them.
    Client {
        /// Its fingerprint as an owner.
        fingerprint: Fingerprint,
        /// Its label.
        label: Option<String>,
    },
    /// Several clients that are not drawn apart.
    OtherClients {
        /// The number of clients.
        count: u32,
    },
}

/// A node of a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// What the node stands for.
    pub subject: NodeSubject,
    /// The column from the left. Clients are in even columns, locks in odd ones.
    pub column: u32,
    /// The vertical position of the centre in half rows.
    pub half_row: u32,
    /// Whether the node is part of a deadlock cycle.
    pub is_deadlocked: bool,
}

impl GraphNode {
    /// The lock that the node stands for.
    pub fn lock(&self) -> Option<&LockId> {
        match &self.subject {
            NodeSubject::Lock { id, .. } => Some(id),
            NodeSubject::Client { .. } | NodeSubject::OtherClients { .. } => None,
        }
    }
}

/// What an edge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// From a client to the lock that it waits for.
    WaitsFor,
    /// From a lock to the client that holds it.
    HeldBy,
}

/// An edge of a drawing: `from` depends on `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// The index of the node that depends on the other one.
    pub from: usize,
    /// The index of the other node.
    pub to: usize,
    /// What the edge means.
    pub kind: EdgeKind,
    /// Since when; `None` if that is not known.
    pub since: Option<Timestamp>,
    /// Whether the edge is part of a deadlock cycle.
    pub is_deadlocked: bool,
}

/// A connected part of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphDrawing {
    /// The nodes, those that were reached first from the left first.
    pub nodes: Vec<GraphNode>,
    /// The edges.
    pub edges: Vec<GraphEdge>,
    /// The number of columns.
    pub column_count: u32,
    /// The height in half rows.
    pub half_row_count: u32,
}

impl GraphDrawing {
    /// The locks of the drawing.
    pub fn locks(&self) -> impl Iterator<Item = &LockId> {
        self.nodes.iter().filter_map(GraphNode::lock)
    }

    /// The first lock that is part of a deadlock cycle.
    pub fn deadlocked_lock(&self) -> Option<&LockId> {
        let deadlocked = self.nodes.iter().filter(|node| node.is_deadlocked);
        deadlocked.filter_map(GraphNode::lock).next()
    }
}

/// The drawings of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitGraphLayout {
    /// The connected parts, in the order of the graph's locks.
    pub drawings: Vec<GraphDrawing>,
    /// The locks that are not drawn, because there are too many nodes.
    pub omitted_locks: Vec<LockId>,
}

impl WaitGraphLayout {
    /// Lays out the graph.
    pub fn of(graph: &WaitForGraph) -> Self {
        let mut builder = Builder::new(graph);
        for lock in &graph.locks {
            builder.add(lock);
        }
        let links = Links::of(builder.nodes.len(), &builder.edges);
        let drawings = links
            .components()
            .into_iter()
            .map(|members| builder.draw(&members, &links))
            .collect();
        Self {
            drawings,
            omitted_locks: builder.omitted_locks,
        }
    }
}

/// An edge before the positions are known.
struct PlainEdge {
    from: usize,
    to: usize,
    kind: EdgeKind,
    since: Option<Timestamp>,
}

/// Collects nodes and edges up to the maximum.
struct Builder<'a> {
    /// The clients that hold a lock with waiters.
    holders: BTreeSet<&'a Fingerprint>,
    clients: BTreeMap<&'a Fingerprint, usize>,
    nodes: Vec<NodeSubject>,
    edges: Vec<PlainEdge>,
    deadlocked_locks: BTreeSet<usize>,
    omitted_locks: Vec<LockId>,
}

impl<'a> Builder<'a> {
    fn new(graph: &'a WaitForGraph) -> Self {
        let owners = graph.locks.iter().flat_map(|lock| &lock.owners);
        Self {
            holders: owners.map(|owner| &owner.fingerprint).collect(),
            clients: BTreeMap::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            deadlocked_locks: BTreeSet::new(),
            omitted_locks: Vec::new(),
        }
    }

    /// Adds a lock with its owners and waiters, or records that there is no room for it.
    fn add(&mut self, lock: &'a BlockingLock) {
        let owners: Vec<&Owner> = lock.owners.iter().take(MAX_OWNERS).collect();
        let waiters = self.drawn_waiters(lock);
        let clients = owners.iter().map(|owner| &owner.fingerprint);
        let clients: BTreeSet<_> = clients
            .chain(waiters.iter().map(|waiter| &waiter.fingerprint))
            .filter(|client| !self.clients.contains_key(*client))
            .collect();
        let other_owners = lock.owners.len() - owners.len();
        let other_waiters = (lock.waiter_count as usize)
            .max(lock.waiters.len())
            .saturating_sub(waiters.len());
        let others = usize::from(other_owners > 0) + usize::from(other_waiters > 0);
        if self.nodes.len() + 1 + clients.len() + others > MAX_NODES {
            self.omitted_locks.push(lock.lock.clone());
            return;
        }
        let at = self.push(NodeSubject::Lock {
            id: lock.lock.clone(),
            blocked_waiter_count: lock.blocked_waiter_count,
        });
        if lock.deadlock {
            self.deadlocked_locks.insert(at);
        }
        for owner in owners {
            let to = self.client(&owner.fingerprint, owner.label.as_ref());
            self.edges.push(PlainEdge {
                from: at,
                to,
                kind: EdgeKind::HeldBy,
                // The time is that of the first owner.
                since: lock.held_since.filter(|_| lock.owners.len() == 1),
            });
        }
        for waiter in waiters {
            let from = self.client(&waiter.fingerprint, waiter.label.as_ref());
            self.edges.push(PlainEdge {
                from,
                to: at,
                kind: EdgeKind::WaitsFor,
                since: waiter.waiting_since,
            });
        }
        for (count, kind) in [
            (other_owners, EdgeKind::HeldBy),
            (other_waiters, EdgeKind::WaitsFor),
        ] {
            if count > 0 {
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                let other = self.push(NodeSubject::OtherClients { count });
                let (from, to) = match kind {
                    EdgeKind::HeldBy => (at, other),
                    EdgeKind::WaitsFor => (other, at),
                };
                self.edges.push(PlainEdge {
                    from,
                    to,
                    kind,
                    since: None,
                });
            }
        }
    }

    /// The waiters with their own node, in queue order. A waiter can be in two queues of one lock.
    fn drawn_waiters(&self, lock: &'a BlockingLock) -> Vec<&'a Waiter> {
        let (mut holding, mut others) = (0, 0);
        let mut clients = BTreeSet::new();
        let is_drawn = |waiter: &&'a Waiter| {
            let (count, most) = match self.holders.contains(&waiter.fingerprint) {
                true => (&mut holding, MAX_HOLDING_WAITERS),
                false => (&mut others, MAX_OTHER_WAITERS),
            };
            let has_room = *count < most && clients.insert(&waiter.fingerprint);
            *count += usize::from(has_room);
            has_room
        };
        lock.waiters.iter().filter(is_drawn).collect()
    }

    fn client(&mut self, fingerprint: &'a Fingerprint, label: Option<&String>) -> usize {
        if let Some(at) = self.clients.get(fingerprint) {
            return *at;
        }
        let at = self.push(NodeSubject::Client {
            fingerprint: *fingerprint,
            label: label.cloned(),
        });
        self.clients.insert(fingerprint, at);
        at
    }

    fn push(&mut self, subject: NodeSubject) -> usize {
        self.nodes.push(subject);
        self.nodes.len() - 1
    }

    /// Positions the nodes of one connected part.
    fn draw(&self, members: &[usize], links: &Links) -> GraphDrawing {
        let tree = self.spanning_tree(members, links);
        let half_rows = tree.half_rows();
        let position: BTreeMap<usize, usize> = tree.order.iter().copied().zip(0_usize..).collect();
        let cycle = |from: usize, to: usize| links.reachable(to).contains(&from);
        let edges: Vec<GraphEdge> = self
            .edges
            .iter()
            .filter_map(|edge| {
                Some(GraphEdge {
                    from: *position.get(&edge.from)?,
                    to: *position.get(&edge.to)?,
                    kind: edge.kind,
                    since: edge.since,
                    is_deadlocked: cycle(edge.from, edge.to),
                })
            })
            .collect();
        let mut nodes: Vec<GraphNode> = tree
            .order
            .iter()
            .zip(&tree.columns)
            .zip(half_rows)
            .map(|((&at, &column), half_row)| GraphNode {
                subject: self.nodes[at].clone(),
                column,
                half_row,
                is_deadlocked: self.deadlocked_locks.contains(&at),
            })
            .collect();
        for edge in edges.iter().filter(|edge| edge.is_deadlocked) {
            for at in [edge.from, edge.to] {
                nodes[at].is_deadlocked = true;
            }
        }
        let columns = nodes.iter().map(|node| node.column + 1);
        let rows = nodes.iter().map(|node| node.half_row + 1);
        GraphDrawing {
            column_count: columns.max().unwrap_or(0),
            half_row_count: rows.max().unwrap_or(0),
            nodes,
            edges,
        }
    }

    /// A breadth-first tree from the nodes that depend on no other one. A cycle on which all others
    /// depend has no such node; it starts with the owner of its first lock.
    fn spanning_tree(&self, members: &[usize], links: &Links) -> SpanningTree {
        let mut tree = SpanningTree::default();
        let roots = members.iter().copied();
        tree.grow(
            roots.filter(|at| links.dependencies[*at].is_empty()),
            links,
            &self.nodes,
        );
        for &at in members {
            let is_lock = matches!(self.nodes[at], NodeSubject::Lock { .. });
            if is_lock && !tree.indices.contains_key(&at) {
                let owners = links.dependencies[at].iter().copied();
                tree.grow(owners, links, &self.nodes);
            }
        }
        tree
    }
}

#[cfg(test)]
mod tests;
