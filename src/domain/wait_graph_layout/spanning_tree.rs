//! The order in which the nodes of a connected part are reached, which determines their columns and
//! rows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{NodeSubject, PlainEdge};

/// The nodes of a connected part in the order in which they were reached.
#[derive(Default)]
pub(super) struct SpanningTree {
    pub(super) order: Vec<usize>,
    pub(super) columns: Vec<u32>,
    /// The children of each node, by their index in `order`.
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    /// The index in `order` of each node.
    pub(super) indices: BTreeMap<usize, usize>,
}

impl SpanningTree {
    /// Adds these roots, unless they were reached before, and everything that depends on them.
    pub(super) fn grow(
        &mut self,
        roots: impl Iterator<Item = usize>,
        links: &Links,
        nodes: &[NodeSubject],
    ) {
        let mut queue = VecDeque::new();
        for root in roots {
            // A lock without an owner is in the column of the locks.
            let column = u32::from(matches!(nodes[root], NodeSubject::Lock { .. }));
            if let Some(index) = self.insert(root, column) {
                self.roots.push(index);
                queue.push_back(index);
            }
        }
        while let Some(parent) = queue.pop_front() {
            for &dependent in &links.dependents[self.order[parent]] {
                let column = self.columns[parent] + 1;
                if let Some(index) = self.insert(dependent, column) {
                    self.children[parent].push(index);
                    queue.push_back(index);
                }
            }
        }
    }

    fn insert(&mut self, at: usize, column: u32) -> Option<usize> {
        if self.indices.contains_key(&at) {
            return None;
        }
        let index = self.order.len();
        self.indices.insert(at, index);
        self.order.push(at);
        self.columns.push(column);
        self.children.push(Vec::new());
        Some(index)
    }

    /// Leaves are in consecutive rows, and every other node is in the middle of its children.
    pub(super) fn half_rows(&self) -> Vec<u32> {
        let mut half_rows = vec![0; self.order.len()];
        let mut next = 0;
        for &root in &self.roots {
            self.place(root, &mut next, &mut half_rows);
        }
        half_rows
    }

    /// Recursion is as deep as the tree, which has at most [`super::MAX_NODES`] nodes.
    fn place(&self, index: usize, next: &mut u32, half_rows: &mut [u32]) -> u32 {
        let children = &self.children[index];
        let mut placed = children
            .iter()
            .map(|child| self.place(*child, next, half_rows))
            .collect::<Vec<_>>();
        if placed.is_empty() {
            placed.push(*next);
            *next += 2;
        }
        let (first, last) = (placed[0], placed[placed.len() - 1]);
        half_rows[index] = first.midpoint(last);
        half_rows[index]
    }
}

/// The neighbours of each node.
pub(super) struct Links {
    /// The nodes that a node depends on.
    pub(super) dependencies: Vec<Vec<usize>>,
    /// The nodes that depend on a node.
    dependents: Vec<Vec<usize>>,
}

impl Links {
    pub(super) fn of(count: usize, edges: &[PlainEdge]) -> Self {
        let (mut dependencies, mut dependents) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for edge in edges {
            dependencies[edge.from].push(edge.to);
            dependents[edge.to].push(edge.from);
        }
        Self {
            dependencies,
            dependents,
        }
    }

    /// The connected parts, each with its nodes in ascending order.
    pub(super) fn components(&self) -> Vec<Vec<usize>> {
        let mut visited = BTreeSet::new();
        let mut components = Vec::new();
        for start in 0..self.dependencies.len() {
            let mut members = BTreeSet::new();
            let mut next = vec![start];
            while let Some(at) = next.pop() {
                if visited.insert(at) {
                    members.insert(at);
                    next.extend(self.dependencies[at].iter().chain(&self.dependents[at]));
                }
            }
            if !members.is_empty() {
                components.push(members.into_iter().collect());
            }
        }
        components
    }

    /// The nodes that a node depends on, directly or not.
    pub(super) fn reachable(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(at) = next.pop() {
            if reached.insert(at) {
                next.extend(&self.dependencies[at]);
            }
        }
        reached
    }
}
