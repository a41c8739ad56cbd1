//! How much processor time the parties spend: unlike pairs per second, it hardly depends on what else the machine does.

use std::time::Duration;

/// Processor time, by who spent it.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// This process: clients, and whatever else is measured in it.
    pub here: Duration,
    /// The console.
    pub console: Duration,
    /// All servers together.
    pub servers: Duration,
    /// The whole machine.
    pub machine: Duration,
}

impl Spent {
    /// What was spent since.
    pub fn since(self, before: Self) -> Self {
        Self {
            here: self.here.saturating_sub(before.here),
            console: self.console.saturating_sub(before.console),
            servers: self.servers.saturating_sub(before.servers),
            machine: self.machine.saturating_sub(before.machine),
        }
    }

    /// What those spent who have nothing to do with the measurement.
    pub fn by_others(self) -> Duration {
        let ours = self.here + self.console + self.servers;
        self.machine.saturating_sub(ours)
    }
}

/// Processor time of this process so far.
pub fn here() -> Duration {
    of("self")
}

/// Processor time of a process' children so far.
pub fn of_children(pid: u32) -> Duration {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    children.split_whitespace().map(of).sum()
}

/// The first child of a process.
pub fn child(pid: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Memory of a process that is not swapped out, in bytes: now, and the most so far.
pub fn memory_of(pid: u32) -> Option<(u64, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some((kilobytes("VmRSS:")? * 1024, kilobytes("VmHWM:")? * 1024))
}

/// Processor time of the whole machine so far, and of what runs beside it on the same hardware.
pub fn of_the_machine() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields = stat.lines().next().unwrap_or("").split_whitespace().skip(1);
    // user, nice, system, idle, waiting, interrupts, soft interrupts, stolen
    let busy = fields
        .take(8)
        .enumerate()
        .filter(|(n, _)| ![3, 4].contains(n));
    hundredths(busy.map(|(_, field)| field))
}

/// User and system time, as `/proc/[pid]/stat` tells them: in hundredths of a second on every Linux.
fn of(pid: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is a name in parentheses, which may hold anything.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    hundredths(fields.split(' ').skip(11).take(2))
}

fn hundredths<'a>(ticks: impl Iterator<Item = &'a str>) -> Duration {
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
