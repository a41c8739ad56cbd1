//! CPU time of the benchmark, the console and the servers. Unlike pairs per second, it hardly
//! depends on other load of the machine.

use std::time::Duration;

/// CPU time by process.
#[derive(Clone, Copy, Debug)]
pub struct CpuTime {
    /// This process: the clients, and code that is measured in it.
    pub bench: Duration,
    /// The console and webdis. Only one of them is measured at a time; the other is idle.
    pub gateway: Duration,
    /// All servers together.
    pub servers: Duration,
    /// The whole machine.
    pub machine: Duration,
}

impl CpuTime {
    /// The CPU time used since an earlier measurement.
    pub fn since(self, before: Self) -> Self {
        Self {
            bench: self.bench.saturating_sub(before.bench),
            gateway: self.gateway.saturating_sub(before.gateway),
            servers: self.servers.saturating_sub(before.servers),
            machine: self.machine.saturating_sub(before.machine),
        }
    }

    /// The CPU time of processes that do not belong to the benchmark.
    pub fn of_other_processes(self) -> Duration {
        let ours = self.bench + self.gateway + self.servers;
        self.machine.saturating_sub(ours)
    }
}

/// CPU time of this process.
pub fn of_this_process() -> Duration {
    of_proc_entry("self")
}

/// CPU time of the children of a process.
pub fn of_children(pid: u32) -> Duration {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    children.split_whitespace().map(of_proc_entry).sum()
}

/// CPU time of a process without its children.
pub fn of_process(pid: u32) -> Duration {
    of_proc_entry(&pid.to_string())
}

/// The first child of a process.
pub fn first_child(pid: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Resident memory of a process in bytes: current and peak.
pub fn memory_of(pid: u32) -> Option<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some((kilobytes("VmRSS:")? * 1024, kilobytes("VmHWM:")? * 1024))
}

/// CPU time of the whole machine, including time stolen by other virtual machines on the host.
pub fn of_machine() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or("").split_whitespace().skip(1);
    // user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); idle and iowait are not busy
    let busy = fields
        .take(8)
        .enumerate()
        .filter(|(n, _)| ![3, 4].contains(n));
    sum_ticks(busy.map(|(_, field)| field))
}

/// User and system time in `/proc/[pid]/stat`, whose unit is a hundredth of a second (`USER_HZ`).
fn of_proc_entry(pid: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is the name in parentheses, which may contain spaces and parentheses.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    sum_ticks(fields.split(' ').skip(11).take(2))
}

fn sum_ticks<'a>(ticks: impl Iterator<Item = &'a str>) -> Duration {
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
