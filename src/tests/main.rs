//! The list of integration tests: real servers, no mocks, no sleeps.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod api;
mod bad_acts;
mod bad_input;
mod cli;
mod demo;
mod faults;
mod fences;
mod force_release;
mod formats;
mod headers;
mod idempotency;
mod keeping;
mod keeping_for_clients;
mod limits;
mod live_feed;
mod locking;
mod looks;
mod lost_nodes;
mod newer_servers;
mod nodes;
mod openapi;
mod proxies;
mod readme;
mod real_clients;
mod restarts;
mod rooms;
mod scans;
mod secrets;
mod sizes;
mod storm;
mod support;
mod surveys;
mod verdicts;
mod waiting;
