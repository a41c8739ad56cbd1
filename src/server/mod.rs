//! The machine: compiled only with `ssr`.

pub mod clock;
pub mod config;
pub mod formats;
pub mod index;
pub mod locking;
pub mod nodes;
pub mod operations;
