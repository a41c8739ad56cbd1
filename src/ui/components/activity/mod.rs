//! The parts of the activity page: the lanes of the locks, the events, and the holds as a table.

mod chart_axis;
mod chart_bands;
mod chart_state;
mod content;
mod data;
mod event_list;
mod hold_table;
mod lane_chart;
mod lane_row;
mod legend;
mod made_up;
mod names;
mod range_controls;
mod read_out;
mod source;

pub use content::ActivityContent;
pub use data::ActivityData;
pub use made_up::MadeUpNote;
pub use range_controls::{RangeControls, TimeForm};
pub use source::ActivitySource;
