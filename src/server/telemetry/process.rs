//! What the process itself takes, under the names that every Prometheus dashboard knows. Read from `/proc`, so on Linux only.
//!
//! Not by the library's own collector: that counts processor time in whole seconds, and brings a second version of `rustix`.

use std::fs;

use super::scrape::Scrape;
use crate::domain::Timestamp;

pub(super) fn read(scrape: &Scrape, started_at: Timestamp) {
    scrape.gauge(
        "process_start_time_seconds",
        "When the console was started, in seconds since 1970.",
        started_at.millis() as f64 / 1000.0,
    );
    if let Some((virtual_bytes, resident_bytes)) = memory() {
        scrape.gauge(
            "process_resident_memory_bytes",
            "Memory that the process has in use.",
            resident_bytes as f64,
        );
        scrape.gauge(
            "process_virtual_memory_bytes",
            "Memory that the process has reserved.",
            virtual_bytes as f64,
        );
    }
    if let Some(used) = processor_seconds() {
        scrape.counter(
            "process_cpu_seconds_total",
            "Processor time that was used, in seconds.",
            used,
        );
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        scrape.gauge(
            "process_open_fds",
            "Files and connections that are open.",
            files.count() as f64,
        );
    }
}

/// Virtual and resident size in bytes.
fn memory() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map(str::parse::<u64>);
    let (size, resident) = (pages.next()?.ok()?, pages.next()?.ok()?);
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    Some((size * page, resident * page))
}

fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses, which may hold anything.
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
    fn the_process_knows_what_it_takes() {
        let (virtual_bytes, resident_bytes) = memory().unwrap();
        assert!(resident_bytes > 100_000 && resident_bytes < virtual_bytes);
        assert!(processor_seconds().unwrap() >= 0.0);
    }
}
