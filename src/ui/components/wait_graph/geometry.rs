//! The positions of nodes and edges of a drawing in pixels.

use std::collections::BTreeMap;

use crate::domain::wait_graph_layout::{GraphDrawing, GraphEdge, GraphNode};

/// The size of a node.
pub const NODE_WIDTH: u32 = 208;
/// The height of a node.
pub const NODE_HEIGHT: u32 = 44;
/// The space for the label of an edge, which is at most as long as `59 min 59 s`.
const LABEL_WIDTH: u32 = 72;
const LABEL_HEIGHT: u32 = 9;
/// The distance of a label from a line.
const LABEL_DISTANCE: u32 = 4;
/// The space beside a column for the vertical parts of edges that skip columns.
const GUTTER: u32 = 20;
/// The space in which the edges between two columns change their row.
const CURVE_WIDTH: u32 = 48;
/// The space between two columns. From the left: the curves, the labels and the gutter of the right
/// column. An edge runs straight beside its label, so that no curve crosses one.
const COLUMN_GAP: u32 = CURVE_WIDTH + LABEL_WIDTH + GUTTER;
const HALF_ROW: u32 = 29;
/// The margin above and below, and that at the sides, where edges run that skip columns.
const MARGIN: u32 = 6;
const SIDE_MARGIN: u32 = 22;
const LAST_MARGIN: u32 = 44;
/// The number of positions beside a column among which such edges alternate.
const GUTTER_LANES: u32 = 4;
/// The distance between edges that run below the nodes, and from the nodes to the first of them.
const LANE_HEIGHT: u32 = 16;
/// The vertical distance of an edge from the centre of a node, so that edges in both directions are
/// apart.
const EDGE_OFFSET: u32 = 8;
const HEAD_LENGTH: u32 = 8;
const HEAD_HALF_WIDTH: u32 = 5;

/// The left upper corner of a node.
pub fn corner(node: &GraphNode) -> (u32, u32) {
    let x = SIDE_MARGIN + node.column * (NODE_WIDTH + COLUMN_GAP);
    (x, MARGIN + node.half_row * HALF_ROW)
}

/// The width and height of a drawing.
pub fn size(drawing: &GraphDrawing) -> (u32, u32) {
    let columns = drawing.column_count.max(1);
    let width = SIDE_MARGIN + LAST_MARGIN + columns * NODE_WIDTH + (columns - 1) * COLUMN_GAP;
    let lanes = drawing.edges.iter().filter(|edge| is_long(drawing, edge));
    let lanes = u32::try_from(lanes.count()).unwrap_or(u32::MAX);
    let lanes = if lanes > 0 {
        (lanes + 1) * LANE_HEIGHT
    } else {
        0
    };
    (width, nodes_height(drawing) + lanes)
}

fn nodes_height(drawing: &GraphDrawing) -> u32 {
    2 * MARGIN + drawing.half_row_count.saturating_sub(1) * HALF_ROW + NODE_HEIGHT
}

/// The picture of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgePath {
    /// The line, as an SVG path.
    pub line: String,
    /// The head of the arrow, as an SVG path.
    pub head: String,
    /// The centre of the label's base line.
    pub label: (u32, u32),
}

/// The pictures of the edges, in their order. An edge to a neighbouring column is a curve, and one
/// that skips columns runs below all nodes.
pub fn edge_paths(drawing: &GraphDrawing) -> Vec<EdgePath> {
    let mut lane = 0;
    // The labels of edges at the same side of a node are stacked.
    let mut labels = BTreeMap::<(usize, bool), u32>::new();
    let path = |edge: &GraphEdge| {
        let (from, to) = (&drawing.nodes[edge.from], &drawing.nodes[edge.to]);
        if is_long(drawing, edge) {
            lane += 1;
            let y = nodes_height(drawing) + lane * LANE_HEIGHT;
            return below_nodes(corner(from), corner(to), y, lane % GUTTER_LANES);
        }
        let is_leftwards = to.column < from.column;
        let right_node = if is_leftwards { edge.from } else { edge.to };
        let stacked = labels.entry((right_node, is_leftwards)).or_default();
        let path = between_columns(corner(from), corner(to), *stacked);
        *stacked += u32::from(edge.since.is_some());
        path
    };
    drawing.edges.iter().map(path).collect()
}

/// Whether the edge connects columns that are not neighbours.
fn is_long(drawing: &GraphDrawing, edge: &GraphEdge) -> bool {
    let (from, to) = (&drawing.nodes[edge.from], &drawing.nodes[edge.to]);
    from.column.abs_diff(to.column) != 1
}

/// The edge is straight beside the right node, where its label is: above an edge to the left, and
/// below one to the right.
fn between_columns(from: (u32, u32), to: (u32, u32), stacked: u32) -> EdgePath {
    let is_leftwards = to.0 < from.0;
    let centre = NODE_HEIGHT / 2;
    // Edges to the left are above the centre, those to the right below it.
    let y = |corner: (u32, u32)| match is_leftwards {
        true => corner.1 + centre - EDGE_OFFSET,
        false => corner.1 + centre + EDGE_OFFSET,
    };
    let (y1, y2) = (y(from), y(to));
    let (left, right) = match is_leftwards {
        true => (to.0 + NODE_WIDTH, from.0),
        false => (from.0 + NODE_WIDTH, to.0),
    };
    let straight = right - GUTTER - LABEL_WIDTH;
    let label_x = right - GUTTER - LABEL_WIDTH / 2;
    let stacked = stacked * (LABEL_HEIGHT + 1);
    let (x2, end, line, label_y) = match is_leftwards {
        true => {
            let end = left + HEAD_LENGTH;
            let middle = straight.midpoint(end);
            let line = format!("M{right} {y1}H{straight}C{middle} {y1} {middle} {y2} {end} {y2}");
            (left, end, line, y1.saturating_sub(LABEL_DISTANCE + stacked))
        }
        false => {
            let end = right - HEAD_LENGTH;
            let middle = straight.midpoint(left);
            let line = format!("M{left} {y1}C{middle} {y1} {middle} {y2} {straight} {y2}H{end}");
            (
                right,
                end,
                line,
                y2 + LABEL_DISTANCE + LABEL_HEIGHT + stacked,
            )
        }
    };
    let (upper, lower) = (y2 - HEAD_HALF_WIDTH, y2 + HEAD_HALF_WIDTH);
    EdgePath {
        line,
        head: format!("M{x2} {y2}L{end} {upper}V{lower}Z"),
        label: (label_x, label_y),
    }
}

/// The edge leaves a node to the left, and arrives at the other one from the right: beside the
/// columns, it crosses no node. Its label is below a column, where it crosses no other edge.
fn below_nodes(from: (u32, u32), to: (u32, u32), y: u32, gutter: u32) -> EdgePath {
    let (x1, x2) = (from.0, to.0 + NODE_WIDTH);
    let y1 = from.1 + NODE_HEIGHT / 2 + EDGE_OFFSET;
    let y2 = to.1 + NODE_HEIGHT / 2 + EDGE_OFFSET;
    let left = x1.saturating_sub(6 + 4 * gutter);
    let right = x2 + HEAD_LENGTH + 8 + 6 * gutter;
    let end = x2 + HEAD_LENGTH;
    let (upper, lower) = (y2 - HEAD_HALF_WIDTH, y2 + HEAD_HALF_WIDTH);
    // The edge passes below the first node if it goes to the right or stays in the column, and
    // below the column right of the second node otherwise.
    let column = match to.0 < from.0 {
        true => x2 + COLUMN_GAP,
        false => x1,
    };
    EdgePath {
        line: format!("M{x1} {y1}H{left}V{y}H{right}V{y2}H{end}"),
        head: format!("M{x2} {y2}L{end} {upper}V{lower}Z"),
        label: (column + NODE_WIDTH / 2, y.saturating_sub(LABEL_DISTANCE)),
    }
}

#[cfg(test)]
mod tests;
