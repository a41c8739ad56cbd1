//! Benchmark targets and the loads under which they are measured.

use std::fmt;

/// An implementation of acquire and release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// Raw Redis commands: two round trips.
    Raw,
    /// The console's locking code in this process. All clients share a connection to each node, as
    /// in the console.
    Code,
    /// The API of a console process; each client has its own HTTP connection.
    Http,
    /// The gateway webdis, which passes commands to one server and contains no locking logic; each
    /// client has its own HTTP connection.
    Webdis,
    /// The library rslock with a manager for each client.
    Rslock,
    /// The library rslock with one manager for all clients.
    RslockShared,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "raw round trips",
            Self::Code => "locking code",
            Self::Http => "console, HTTP",
            Self::Webdis => "webdis, HTTP",
            Self::Rslock => "rslock",
            Self::RslockShared => "rslock, shared",
        })
    }
}

/// The number of nodes and clients, and the contention between the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Nodes of the group.
    pub nodes: usize,
    /// Concurrent clients.
    pub clients: usize,
    /// All clients wait for the same lock; otherwise each client has its own lock.
    pub one_lock: bool,
    /// Every node has a one-way network delay of 2 ms.
    pub delayed: bool,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes {
            1 => f.write_str("one node")?,
            n => write!(f, "{n} nodes")?,
        }
        if self.delayed {
            f.write_str(", 2 ms delay")?;
        }
        match self.clients {
            1 => f.write_str(", 1 client")?,
            n => write!(f, ", {n} clients")?,
        }
        if self.one_lock {
            f.write_str(" waiting for one lock")?;
        }
        Ok(())
    }
}

impl Load {
    /// Whether two loads can be measured on the same servers.
    pub fn shares_testbed_with(self, other: Self) -> bool {
        (self.nodes, self.delayed) == (other.nodes, other.delayed)
    }

    /// The targets that can be compared under this load.
    pub fn targets(self) -> Vec<Target> {
        let mut targets = vec![Target::Code, Target::Http, Target::Rslock];
        if !self.one_lock {
            // Raw commands cannot wait for a lock.
            targets.insert(0, Target::Raw);
        }
        if self.nodes == 1 && !self.one_lock {
            targets.insert(3, Target::Webdis);
        }
        if self.clients > 1 {
            targets.push(Target::RslockShared);
        }
        targets
    }

    /// The key of the `n`th client. It matches a default pattern, so that the console observes the
    /// lock.
    pub fn key(self, n: usize) -> String {
        let n = if self.one_lock { 0 } else { n };
        format!("lock:bench:{n}")
    }
}

/// All loads, grouped by testbed.
pub fn loads(nodes: &[usize], clients: &[usize], plain: bool) -> Vec<Load> {
    let mut loads = Vec::new();
    for &nodes in nodes {
        let load = Load {
            nodes,
            clients: 1,
            one_lock: false,
            delayed: false,
        };
        loads.extend(clients.iter().map(|&clients| Load { clients, ..load }));
        if !plain {
            loads.push(Load {
                clients: 16,
                one_lock: true,
                ..load
            });
        }
    }
    if !plain && nodes.contains(&5) {
        loads.extend([1, 16].map(|clients| Load {
            nodes: 5,
            clients,
            one_lock: false,
            delayed: true,
        }));
    }
    loads
}
