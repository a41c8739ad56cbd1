//! How much processor time the parties spend: unlike pairs per second, it hardly depends on what else the machine does.

use std::time::Duration;

/// Processor time, by who spent it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// This process: clients, and whatever else is measured in it.
    pub here: Duration,
    /// The console.
    pub console: Duration,
    /// All servers together.
    pub servers: Duration,
}

impl Spent {
    /// The difference, for each of so many pairs.
    pub fn per_pair(self, before: Self, pairs: usize) -> Self {
        let pairs = u32::try_from(pairs).unwrap_or(u32::MAX).max(1);
        Self {
            here: (self.here - before.here) / pairs,
            console: (self.console - before.console) / pairs,
            servers: (self.servers - before.servers) / pairs,
        }
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

/// User and system time, as `/proc/[pid]/stat` tells them: in hundredths of a second on every Linux.
fn of(pid: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is a name in parentheses, which may hold anything.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split(' ').skip(11).take(2);
    let hundredths: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(hundredths * 10)
}
