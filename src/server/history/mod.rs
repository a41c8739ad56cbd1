//! The history that survives a restart: what happened to locks and nodes, in the database.
//!
//! The observer reports records into a bounded queue; [`Recorder`] writes them in batches, at least
//! once a second, and [`HistoryReader`] answers queries for a range of time. A batch after which no
//! record waits contains the time until when everything is recorded. What is missing after it is a
//! gap, and a hold continues after a gap only if that is proven (`continuity`).
//!
//! Measured with `make bench` (section `history`: SQLite, 100,000 locks, 1,000 hand-overs and 1,000
//! renewals per second for nine minutes, 536,000 ended holds) on two cores that builds kept busy:
//! recording takes 8 % of a core, in a console that takes 12 % without it. Resident memory of the
//! whole console: 334 MB at the start, 433 MB after four minutes, 414 MB at the end; it grows until
//! the holds in memory reach their limit (`index::history`). The database grows by 112 bytes per
//! hold, 400 MB per hour of this load.
//!
//! Queries through the API of a million holds: one lock's day takes 1 ms; one group's hour takes
//! 8 ms of CPU time for 1,000 holds, the default, and 54 ms for 10,000, in 17 ms and 110 ms (76 ms
//! at best) on the busy machine. Under the load above they took 92 ms and 182 ms, most of it waiting
//! for a core.

mod batch_writer;
mod codes;
mod continuity;
mod counters;
mod hold_reader;
mod interruption;
mod lock_rows;
mod open_hold;
mod past;
mod pending;
mod reader;
mod recorder;
mod resumption;
mod retention;
mod rows;

pub use past::{PastHistory, write_past};
pub use reader::{HistoryReader, Recording};
pub use recorder::Recorder;

#[cfg(test)]
mod tests;
