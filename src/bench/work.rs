//! What is measured: ways to take a lock, and loads to take it under.

use std::fmt;

/// A way to take a lock and give it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// Bare round trips.
    Raw,
    /// Our locking code, called in this process; all clients share a node's connection, as in the console.
    Code,
    /// The console, a process of its own; each client on a connection of its own.
    Http,
    /// The library rslock with a manager for each client.
    Rslock,
    /// The library rslock with one manager for all clients.
    RslockShared,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "raw round trips",
            Self::Code => "locking code",
            Self::Http => "console, HTTP",
            Self::Rslock => "rslock",
            Self::RslockShared => "rslock, shared",
        })
    }
}

/// Who takes what where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Nodes of the group.
    pub nodes: usize,
    /// Clients at the same time.
    pub clients: usize,
    /// All want the same lock and wait for it; otherwise each has one of its own.
    pub one_lock: bool,
    /// Every node is 2 ms away.
    pub delayed: bool,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes {
            1 => f.write_str("one node")?,
            n => write!(f, "{n} nodes")?,
        }
        if self.delayed {
            f.write_str(", each 2 ms away")?;
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
    /// Whether it can be measured on the same servers.
    pub fn same_bed(self, other: Self) -> bool {
        (self.nodes, self.delayed) == (other.nodes, other.delayed)
    }

    /// What can be compared under this load.
    pub fn ways(self) -> Vec<Way> {
        let mut ways = vec![Way::Code, Way::Http, Way::Rslock];
        if !self.one_lock {
            // The floor does not wait.
            ways.insert(0, Way::Raw);
        }
        if self.clients > 1 {
            ways.push(Way::RslockShared);
        }
        ways
    }

    /// The lock that the `n`th client takes. Named so that the console watches it, as it would watch anybody's.
    pub fn key(self, n: usize) -> String {
        let n = if self.one_lock { 0 } else { n };
        format!("lock:bench:{n}")
    }
}

/// Every load, those on the same servers side by side.
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
        loads.push(Load {
            nodes: 5,
            clients: 1,
            one_lock: false,
            delayed: true,
        });
    }
    loads
}
