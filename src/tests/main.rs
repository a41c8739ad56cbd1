//! The list of integration tests: real servers, no mocks, no sleeps.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod api;
mod bad_input;
mod cli;
mod demo;
mod fences;
mod force_release;
mod formats;
mod legacy;
mod live_feed;
mod locking;
mod looks;
mod lost_nodes;
mod newer_servers;
mod nodes;
mod openapi;
mod readme;
mod redisson;
mod redisson_clients;
mod redisson_fair;
mod redisson_line;
mod redisson_nodes;
mod restarts;
mod rooms;
mod scans;
mod secrets;
mod support;
mod verdicts;
mod waiting;
