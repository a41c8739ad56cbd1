//! The list of integration tests.

fn main() {}
