//! What tests are told with.

pub mod console;
