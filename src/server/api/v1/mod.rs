//! Version 1 of the API: one file per noun.

pub mod acts;
pub mod audit;
pub mod events;
pub mod findings;
pub mod force_releases;
pub mod groups;
mod lock_sheet;
pub mod locks;
pub mod locks_export;
pub mod owners;
mod refusals;
pub mod samples;
mod sheet;
pub mod vouch;
pub mod waits;
