//! The list of integration tests: real servers, no mocks, no sleeps.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod api;
mod bad_input;
mod cli;
mod demo;
mod faults;
mod force_release;
mod formats;
mod live_feed;
mod locking;
mod looks;
mod lost_nodes;
mod nodes;
mod openapi;
mod proxies;
mod readme;
mod real_clients;
mod rooms;
mod scans;
mod secrets;
mod storm;
mod support;
mod verdicts;
