//! The history that survives a restart: what happened to locks and nodes, in the database.
//!
//! The observer reports records into a bounded queue; [`Recorder`] writes them in batches, at least
//! once a second, and [`HistoryReader`] answers queries for a range of time. Every batch contains
//! the time until when everything is recorded. What is missing after it is a gap, and a hold
//! continues after a gap only if that is proven (`continuity`).
//!
//! Measured (`tests::measurement`, SQLite, a build without optimisation on a machine of two busy
//! cores, 75 seconds with 100,000 locks, 1,000 hand-overs and 1,000 renewals per second): 17 % of a
//! core, including the generation of the records; resident memory 86 MB at the start and 90 MB at
//! the end. One lock's day: 2 ms. One group's hour: 40 ms for 1,000 holds, the default of the API,
//! and 507 ms for 10,000. A million holds in the same tables, filled by a script, took 107 MB with
//! their index entries, so an hour of this load takes about 385 MB.

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
