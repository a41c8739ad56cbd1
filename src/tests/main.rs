//! The list of integration tests: real servers, no mocks, no sleeps.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

mod force_release;
mod locking;
mod nodes;
