//! The machine: compiled only with `ssr`.

pub mod clock;
pub mod config;
pub mod demo;
pub mod formats;
pub mod locking;
pub mod nodes;
