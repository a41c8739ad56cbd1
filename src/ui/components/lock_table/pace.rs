//! Pure: how many rows are drawn in one frame, so that scrolling stays smooth where drawing them is slow.

/// So many rows are drawn in one frame at least, or they would never catch up with the screen.
const LEAST: isize = 2;
/// So many at most: more would make scrolling stutter.
const MOST: isize = 8;
/// How long rows may be drawn in one frame of 16 ms: the browser needs as much again to lay them out and paint them.
const DRAWING_MS: f64 = 5.0;

/// How many rows this machine draws in time.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long a row takes, as the last ones did.
    row_ms: f64,
}

impl Pace {
    /// Unknown: a page begins with the most.
    pub const UNKNOWN: Self = Self { row_ms: 0.0 };

    /// So many rows are drawn in the next frame.
    pub fn in_a_frame(self) -> isize {
        (LEAST..=MOST)
            .rev()
            .find(|rows| rows_f64(*rows) * self.row_ms <= DRAWING_MS)
            .unwrap_or(LEAST)
    }

    /// So many rows were drawn in so much time. One slow frame says little.
    pub fn after(self, rows: isize, ms: f64) -> Self {
        let row_ms = ms / rows_f64(rows.max(1));
        Self {
            row_ms: self.row_ms + (row_ms - self.row_ms) / 4.0,
        }
    }
}

/// So many rows, to be multiplied by a height or a time.
#[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^52")]
pub fn rows_f64(rows: isize) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_machine_draws_fewer_rows_in_a_frame_and_never_none() {
        let mut pace = Pace::UNKNOWN;
        assert_eq!(pace.in_a_frame(), 8);
        pace = pace.after(2, 4.0);
        assert_eq!(pace.in_a_frame(), 8, "one slow frame says little");
        for _ in 0..20 {
            pace = pace.after(2, 3.0);
        }
        assert_eq!(pace.in_a_frame(), 3);
        for _ in 0..20 {
            pace = pace.after(2, 40.0);
        }
        assert_eq!(pace.in_a_frame(), 2);
    }
}
