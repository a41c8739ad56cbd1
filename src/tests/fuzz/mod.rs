//! Property tests of all input from outside: configuration, requests, replies of nodes and audit
//! entries. Nothing may panic or grow without bound. Property tests of format detection and of
//! private parsers are next to their code.
//!
//! `PROPTEST_CASES=100000` increases the number of cases.

mod audit_files;
mod parsers;
mod replies;
mod requests;

/// The number of cases of a test that needs a server. `PROPTEST_CASES` is meant for tests that take
/// microseconds, so only a 256th of it applies here.
fn case_count(default: u32) -> u32 {
    let configured = std::env::var_os("PROPTEST_CASES");
    let configured = configured.and_then(|text| text.to_str()?.parse::<u32>().ok());
    configured.map_or(default, |count| (count / 256).max(default))
}
