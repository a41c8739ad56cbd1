//! Tests of the positions of edges and their labels.

use super::*;
use crate::domain::Timestamp;
use crate::domain::wait_graph_layout::{EdgeKind, NodeSubject};

fn node(column: u32, half_row: u32) -> GraphNode {
    GraphNode {
        subject: NodeSubject::OtherClients { count: 1 },
        column,
        half_row,
        is_deadlocked: false,
    }
}

fn edge((from, to): (usize, usize)) -> GraphEdge {
    GraphEdge {
        from,
        to,
        kind: EdgeKind::HeldBy,
        since: Some(Timestamp::from_millis(0)),
        is_deadlocked: false,
    }
}

fn drawing(nodes: &[(u32, u32)], edges: &[(usize, usize)]) -> GraphDrawing {
    GraphDrawing {
        nodes: nodes
            .iter()
            .map(|&(column, row)| node(column, row))
            .collect(),
        edges: edges.iter().copied().map(edge).collect(),
        column_count: nodes.iter().map(|(column, _)| column + 1).max().unwrap(),
        half_row_count: nodes.iter().map(|(_, row)| row + 1).max().unwrap(),
    }
}

/// The points of a path of absolute `M`, `L`, `H`, `V` and `C` commands, at most two units apart.
fn points(path: &str) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut rest = path;
    while let Some(command) = rest.chars().next() {
        let body = &rest[1..];
        let end = body
            .find(|c: char| c.is_ascii_uppercase())
            .unwrap_or(body.len());
        let numbers: Vec<f64> = body[..end]
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        rest = &body[end..];
        let (x, y) = points.last().copied().unwrap_or_default();
        match (command, numbers.as_slice()) {
            ('M', [x, y]) => points.push((*x, *y)),
            ('L', [x2, y2]) => cubic(&mut points, (x, y), (*x2, *y2), (x, y), (*x2, *y2)),
            ('H', [x2]) => cubic(&mut points, (x, y), (*x2, y), (x, y), (*x2, y)),
            ('V', [y2]) => cubic(&mut points, (x, y), (x, *y2), (x, y), (x, *y2)),
            ('C', [a, b, c, d, e, f]) => cubic(&mut points, (*a, *b), (*c, *d), (x, y), (*e, *f)),
            ('Z', []) => {}
            other => panic!("unexpected command {other:?} in {path}"),
        }
    }
    points
}

fn cubic(
    points: &mut Vec<(f64, f64)>,
    control_1: (f64, f64),
    control_2: (f64, f64),
    start: (f64, f64),
    end: (f64, f64),
) {
    const STEPS: u32 = 400;
    for step in 1..=STEPS {
        let t = f64::from(step) / f64::from(STEPS);
        let at = |a: f64, b: f64, c: f64, d: f64| {
            let u = 1.0 - t;
            u * u * u * a + 3.0 * u * u * t * b + 3.0 * u * t * t * c + t * t * t * d
        };
        points.push((
            at(start.0, control_1.0, control_2.0, end.0),
            at(start.1, control_1.1, control_2.1, end.1),
        ));
    }
}

/// Whether a label touches any line or head. Lines are up to three units thick.
fn touches(label: (u32, u32), paths: &[EdgePath]) -> bool {
    const HALF_LINE: f64 = 1.5;
    let (x, base) = (f64::from(label.0), f64::from(label.1));
    let half_width = f64::from(LABEL_WIDTH) / 2.0;
    let is_inside = |&(px, py): &(f64, f64)| {
        (px - x).abs() < half_width + HALF_LINE
            && py > base - f64::from(LABEL_HEIGHT) - HALF_LINE
            && py < base + HALF_LINE
    };
    paths.iter().any(|path| {
        points(&path.line).iter().any(is_inside) || points(&path.head).iter().any(is_inside)
    })
}

#[test]
fn edges_point_at_the_node_that_blocks_and_long_ones_run_below_the_nodes() {
    let drawing = drawing(&[(0, 0), (1, 0), (2, 0), (3, 2)], &[(1, 0), (0, 1), (0, 3)]);
    let paths = edge_paths(&drawing);
    let head_at = |x: u32, y: u32, end: u32| format!("M{x} {y}L{end} ");
    let (left, right) = (
        SIDE_MARGIN + NODE_WIDTH,
        SIDE_MARGIN + NODE_WIDTH + COLUMN_GAP,
    );
    let (upper, lower) = (MARGIN + NODE_HEIGHT / 2 - 8, MARGIN + NODE_HEIGHT / 2 + 8);
    let leftwards = head_at(left, upper, left + HEAD_LENGTH);
    assert!(paths[0].head.starts_with(&leftwards), "{paths:?}");
    let rightwards = head_at(right, lower, right - HEAD_LENGTH);
    assert!(paths[1].head.starts_with(&rightwards), "{paths:?}");
    let (width, height) = size(&drawing);
    assert_eq!(
        width,
        SIDE_MARGIN + LAST_MARGIN + 4 * NODE_WIDTH + 3 * COLUMN_GAP
    );
    let lane = nodes_height(&drawing) + LANE_HEIGHT;
    assert!(paths[2].line.contains(&format!("V{lane}H")), "{paths:?}");
    assert!(lane < height);
}

#[test]
fn labels_touch_no_arrow() {
    // A queue, a deadlock of two clients, a lock with waiters above and below, a long way back, and
    // a client that waits for two locks.
    let drawings = [
        drawing(
            &[(0, 2), (1, 2), (2, 0), (2, 2), (2, 4)],
            &[(1, 0), (2, 1), (3, 1), (4, 1)],
        ),
        drawing(
            &[(0, 0), (1, 0), (2, 0), (3, 0)],
            &[(1, 0), (2, 1), (3, 2), (0, 3)],
        ),
        drawing(
            &[(0, 3), (1, 0), (1, 6), (0, 6)],
            &[(1, 0), (0, 2), (2, 3), (0, 1)],
        ),
        drawing(
            &[(0, 5), (1, 5), (2, 1), (2, 5), (2, 9), (3, 1), (4, 1)],
            &[
                (1, 0),
                (2, 1),
                (3, 1),
                (4, 1),
                (5, 2),
                (6, 5),
                (0, 5),
                (2, 6),
                (6, 1),
            ],
        ),
        drawing(
            &[(0, 0), (0, 4), (1, 0), (1, 4), (2, 2)],
            &[(2, 0), (3, 1), (4, 2), (4, 3)],
        ),
    ];
    for drawing in drawings {
        let paths = edge_paths(&drawing);
        for (edge, path) in drawing.edges.iter().zip(&paths) {
            assert!(
                !touches(path.label, &paths),
                "the label at {:?} of {edge:?} touches an arrow of {paths:#?}",
                path.label
            );
        }
    }
}
