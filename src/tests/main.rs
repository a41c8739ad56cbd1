//! The list of integration tests: real servers, no mocks, no sleeps.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod api;
mod bad_input;
mod cli;
mod demo;
mod force_release;
mod formats;
mod late_release;
mod live_feed;
mod locking;
mod looks;
mod lost_nodes;
mod nodes;
mod openapi;
mod readme;
mod rooms;
mod scans;
mod secrets;
mod simulation;
mod support;
mod verdicts;
