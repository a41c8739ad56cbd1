//! How many new rows are rendered per frame, so that scrolling stays smooth on slow machines.

/// The minimum number of rows per frame. With fewer, the table could not keep up with scrolling.
const MIN_ROWS: isize = 2;
/// The maximum number of rows per frame. With more, scrolling stutters.
const MAX_ROWS: isize = 8;
/// The time for rendering rows in a frame of 16 ms. The browser needs about as long again for
/// layout and paint.
const RENDER_BUDGET_MS: f64 = 5.0;

/// The measured speed of rendering rows.
#[derive(Clone, Copy, Debug)]
pub struct FrameBudget {
    /// The moving average of the time per row, in milliseconds.
    row_ms: f64,
}

impl FrameBudget {
    /// No measurement yet: the first frame renders the maximum.
    pub const UNMEASURED: Self = Self { row_ms: 0.0 };

    /// Returns the number of rows to render in the next frame.
    pub fn rows_per_frame(self) -> isize {
        (MIN_ROWS..=MAX_ROWS)
            .rev()
            .find(|rows| rows_f64(*rows) * self.row_ms <= RENDER_BUDGET_MS)
            .unwrap_or(MIN_ROWS)
    }

    /// Returns the budget after `rows` rows took `ms` milliseconds. The average damps a single slow
    /// frame.
    pub fn with_sample(self, rows: isize, ms: f64) -> Self {
        let row_ms = ms / rows_f64(rows.max(1));
        Self {
            row_ms: self.row_ms + (row_ms - self.row_ms) / 4.0,
        }
    }
}

/// Converts a number of rows, to multiply it by a height or a time.
#[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^52")]
pub fn rows_f64(rows: isize) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_machine_renders_fewer_rows_per_frame_but_at_least_two() {
        let mut budget = FrameBudget::UNMEASURED;
        assert_eq!(budget.rows_per_frame(), 8);
        budget = budget.with_sample(2, 4.0);
        assert_eq!(
            budget.rows_per_frame(),
            8,
            "one slow frame changes the average little"
        );
        for _ in 0..20 {
            budget = budget.with_sample(2, 3.0);
        }
        assert_eq!(budget.rows_per_frame(), 3);
        for _ in 0..20 {
            budget = budget.with_sample(2, 40.0);
        }
        assert_eq!(budget.rows_per_frame(), 2);
    }
}
