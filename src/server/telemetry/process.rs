//! The standard `process_…` metrics, read from `/proc`; Linux only.
//!
//! The process collector of the `prometheus` crate is not used: it reports CPU time in whole
//! seconds and depends on a second version of `rustix`.

use std::fs;

use super::scrape::Scrape;
use crate::domain::Timestamp;

pub(super) fn record(scrape: &Scrape, started_at: Timestamp) {
    scrape.gauge(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        started_at.millis() as f64 / 1000.0,
    );
    if let Some((virtual_bytes, resident_bytes)) = memory_bytes() {
        scrape.gauge(
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            resident_bytes as f64,
        );
        scrape.gauge(
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes.",
            virtual_bytes as f64,
        );
    }
    if let Some(used) = cpu_seconds() {
        scrape.counter(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds.",
            used,
        );
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        scrape.gauge(
            "process_open_fds",
            "Number of open file descriptors.",
            files.count() as f64,
        );
    }
}

/// Virtual and resident memory size in bytes.
fn memory_bytes() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map(str::parse::<u64>);
    let (size, resident) = (pages.next()?.ok()?, pages.next()?.ok()?);
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    Some((size * page, resident * page))
}

fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program name in parentheses, which may contain spaces and
    // parentheses.
    let (_, after_name) = text.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let ticks = rustix::param::clock_ticks_per_second();
    Some((user + system) as f64 / ticks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_cpu_time_are_read_from_proc() {
        let (virtual_bytes, resident_bytes) = memory_bytes().unwrap();
        assert!(resident_bytes > 100_000 && resident_bytes < virtual_bytes);
        assert!(cpu_seconds().unwrap() >= 0.0);
    }
}
