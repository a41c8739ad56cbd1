//! The positions of nodes and edges of a drawing in pixels.

use crate::domain::wait_graph_layout::{GraphDrawing, GraphEdge, GraphNode};

/// The size of a node.
pub const NODE_WIDTH: u32 = 148;
/// The height of a node.
pub const NODE_HEIGHT: u32 = 44;
/// The space between two columns, for the edges and their labels.
const COLUMN_GAP: u32 = 76;
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
    /// The centre of the label.
    pub label: (u32, u32),
}

/// The pictures of the edges, in their order. An edge to the previous column is a curve, and one
/// that skips columns runs below all nodes.
pub fn edge_paths(drawing: &GraphDrawing) -> Vec<EdgePath> {
    let mut lane = 0;
    let path = |edge: &GraphEdge| {
        let (from, to) = (&drawing.nodes[edge.from], &drawing.nodes[edge.to]);
        if is_long(drawing, edge) {
            lane += 1;
            let y = nodes_height(drawing) + lane * LANE_HEIGHT;
            return below_nodes(corner(from), corner(to), y, lane % GUTTER_LANES);
        }
        between_columns(corner(from), corner(to))
    };
    drawing.edges.iter().map(path).collect()
}

/// Whether the edge connects columns that are not neighbours.
fn is_long(drawing: &GraphDrawing, edge: &GraphEdge) -> bool {
    let (from, to) = (&drawing.nodes[edge.from], &drawing.nodes[edge.to]);
    from.column.abs_diff(to.column) != 1
}

fn between_columns(from: (u32, u32), to: (u32, u32)) -> EdgePath {
    let is_leftwards = to.0 < from.0;
    let centre = NODE_HEIGHT / 2;
    // Edges to the left are above the centre, those to the right below it.
    let y = |corner: (u32, u32)| match is_leftwards {
        true => corner.1 + centre - EDGE_OFFSET,
        false => corner.1 + centre + EDGE_OFFSET,
    };
    let (y1, y2) = (y(from), y(to));
    let (x1, x2, end) = match is_leftwards {
        true => (from.0, to.0 + NODE_WIDTH, to.0 + NODE_WIDTH + HEAD_LENGTH),
        false => (from.0 + NODE_WIDTH, to.0, to.0 - HEAD_LENGTH),
    };
    let middle = x1.midpoint(end);
    let (upper, lower) = (y2 - HEAD_HALF_WIDTH, y2 + HEAD_HALF_WIDTH);
    EdgePath {
        line: format!("M{x1} {y1}C{middle} {y1} {middle} {y2} {end} {y2}"),
        head: format!("M{x2} {y2}L{end} {upper}V{lower}Z"),
        label: (middle, y1.midpoint(y2).saturating_sub(4)),
    }
}

/// The edge leaves a node to the left, and arrives at the other one from the right: beside the
/// columns, it crosses no node.
fn below_nodes(from: (u32, u32), to: (u32, u32), y: u32, gutter: u32) -> EdgePath {
    let (x1, x2) = (from.0, to.0 + NODE_WIDTH);
    let y1 = from.1 + NODE_HEIGHT / 2 + EDGE_OFFSET;
    let y2 = to.1 + NODE_HEIGHT / 2 + EDGE_OFFSET;
    let left = x1.saturating_sub(6 + 4 * gutter);
    let right = x2 + HEAD_LENGTH + 8 + 6 * gutter;
    let end = x2 + HEAD_LENGTH;
    let (upper, lower) = (y2 - HEAD_HALF_WIDTH, y2 + HEAD_HALF_WIDTH);
    EdgePath {
        line: format!("M{x1} {y1}H{left}V{y}H{right}V{y2}H{end}"),
        head: format!("M{x2} {y2}L{end} {upper}V{lower}Z"),
        label: (left.midpoint(right), y.saturating_sub(4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::wait_graph_layout::{EdgeKind, NodeSubject};

    #[test]
    fn edges_point_at_the_node_that_blocks_and_long_ones_run_below_the_nodes() {
        let node = |column, half_row| GraphNode {
            subject: NodeSubject::OtherClients { count: 1 },
            column,
            half_row,
            is_deadlocked: false,
        };
        let edge = |from, to| GraphEdge {
            from,
            to,
            kind: EdgeKind::HeldBy,
            since: None,
            is_deadlocked: false,
        };
        let drawing = GraphDrawing {
            nodes: vec![node(0, 0), node(1, 0), node(2, 0), node(3, 2)],
            edges: vec![edge(1, 0), edge(0, 1), edge(0, 3)],
            column_count: 4,
            half_row_count: 3,
        };
        let paths = edge_paths(&drawing);
        assert!(paths[0].head.starts_with("M170 20L178 "), "{paths:?}");
        assert!(paths[1].head.starts_with("M246 36L238 "), "{paths:?}");
        let (width, height) = size(&drawing);
        assert_eq!(
            width,
            SIDE_MARGIN + LAST_MARGIN + 4 * NODE_WIDTH + 3 * COLUMN_GAP
        );
        let lane = nodes_height(&drawing) + LANE_HEIGHT;
        assert!(paths[2].line.contains(&format!("V{lane}H")), "{paths:?}");
        assert!(lane < height);
    }
}
