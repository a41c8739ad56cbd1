//! The list of integration tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod formats;
mod openapi;
mod rooms;
mod support;
