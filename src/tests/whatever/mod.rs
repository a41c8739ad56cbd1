//! Whatever comes in from outside, nothing panics and nothing grows without bound: configuration, requests, replies of nodes,
//! lines of the audit. The recognisers of formats, and parsers that nobody else may call, are tried like this beside their code.
//!
//! `PROPTEST_CASES=100000` tries more than the ordinary run.

mod audit_files;
mod parsers;
mod replies;
mod requests;

/// How often something is tried that needs a server: the ordinary number of cases is meant for what takes microseconds.
fn cases(ordinarily: u32) -> u32 {
    let wanted = std::env::var_os("PROPTEST_CASES");
    let wanted = wanted.and_then(|text| text.to_str()?.parse::<u32>().ok());
    wanted.map_or(ordinarily, |wanted| (wanted / 256).max(ordinarily))
}
