//! Version 1 of the API, one module per resource.

pub mod audit;
mod audit_csv;
pub mod clear_restart_hazard;
mod error_responses;
pub mod events;
pub mod findings;
pub mod force_releases;
pub mod groups;
pub mod history;
pub mod lease_keys;
mod lock_csv;
pub mod locks;
pub mod locks_export;
pub mod operations;
pub mod owners;
pub mod prefixes;
mod query_values;
pub mod samples;
pub mod views;
pub mod waits;
pub mod webhooks;
