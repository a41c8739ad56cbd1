//! The connections of an owner to the nodes of its lock (Redis): whether clients with the name or the
//! address in its label are connected.
//!
//! The server reports no lock of a client, so a match is a hint: the process is running, not that it
//! still works under the lock. A missing match proves little if clients do not set a name.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::Timestamp;

/// The maximum number of addresses in a fact.
const MAX_ADDRESSES: usize = 3;
/// Shorter names match by chance.
const MIN_NAME_CHARS: usize = 3;

/// A client connection of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConnection {
    /// The name that the client has set; empty without one.
    pub name: String,
    /// The address without the port.
    pub address: String,
    /// The time since its last command in milliseconds, as the server reports it in whole seconds.
    pub idle_ms: u64,
}

/// What a node reports about its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeConnections {
    /// All connections.
    Listed(Vec<ClientConnection>),
    /// There are more connections than are read.
    TooMany(u64),
    /// The console's user may not list them.
    Denied,
    /// The node did not reply.
    Unreachable,
}

/// The result of the search for the connections of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnerConnections {
    /// The host or client in the label.
    pub client: String,
    /// What was found.
    pub found: FoundConnections,
    /// The number of nodes whose connections were listed.
    pub nodes: u32,
    /// The number of nodes.
    pub total: u32,
    /// When they were listed.
    pub read_at: Timestamp,
}

/// The connections that match a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FoundConnections {
    /// Connections of one client.
    One {
        /// Their number.
        count: u32,
        /// Their address.
        address: String,
        /// The time since the latest command in milliseconds.
        idle_ms: u64,
    },
    /// Connections from several addresses: more than one client can have the name.
    Ambiguous {
        /// Their number.
        count: u32,
        /// Some of their addresses.
        addresses: Vec<String>,
        /// The number of addresses.
        address_count: u32,
    },
    /// No connection matches.
    None {
        /// The number of other connections without a name, which could belong to the owner. 0 if the
        /// label has an address, which every connection has.
        unnamed: u32,
    },
    /// No node lists its connections, because the permission is missing.
    Denied,
    /// No node lists its connections: there are too many.
    TooMany {
        /// The largest number on a node.
        count: u64,
    },
}

impl OwnerConnections {
    /// Searches the connections of all nodes for the client in a label; `None` if the label can match
    /// no connection or no node replied.
    pub fn search(client: &str, nodes: &[NodeConnections], read_at: Timestamp) -> Option<Self> {
        if !can_match(client) {
            return None;
        }
        let listed = || {
            nodes.iter().filter_map(|node| match node {
                NodeConnections::Listed(connections) => Some(connections),
                NodeConnections::TooMany(_)
                | NodeConnections::Denied
                | NodeConnections::Unreachable => None,
            })
        };
        let found = match listed().next() {
            Some(_) => matching(client, listed().flatten()),
            None => unlisted(nodes)?,
        };
        Some(Self {
            client: client.to_owned(),
            found,
            nodes: count(listed().count()),
            total: count(nodes.len()),
            read_at,
        })
    }

    /// Whether the absence of connections says something about the owner: all nodes were read, and
    /// the label has an address, which every connection has too. Clients can have any name.
    pub fn is_conclusive(&self) -> bool {
        let is_absent = matches!(self.found, FoundConnections::None { .. });
        is_absent && has_address(&self.client) && self.nodes == self.total
    }
}

fn matching<'a>(
    client: &str,
    connections: impl Iterator<Item = &'a ClientConnection>,
) -> FoundConnections {
    let (mut matches, mut unnamed) = (Vec::new(), 0_u32);
    let has_address = has_address(client);
    for connection in connections {
        let is_named =
            contains_word(client, &connection.name) || contains_word(&connection.name, client);
        if is_named || contains_word(client, &connection.address) {
            matches.push(connection);
        } else if connection.name.is_empty() && !has_address {
            unnamed = unnamed.saturating_add(1);
        }
    }
    let addresses: BTreeSet<&str> = matches.iter().map(|it| it.address.as_str()).collect();
    let idle_ms = matches.iter().map(|connection| connection.idle_ms).min();
    let mut named = addresses.iter().map(|address| (*address).to_owned());
    match (addresses.len(), named.next(), idle_ms) {
        (1, Some(address), Some(idle_ms)) => FoundConnections::One {
            count: count(matches.len()),
            address,
            idle_ms,
        },
        (_, Some(first), Some(_)) => FoundConnections::Ambiguous {
            count: count(matches.len()),
            address_count: count(addresses.len()),
            addresses: std::iter::once(first)
                .chain(named)
                .take(MAX_ADDRESSES)
                .collect(),
        },
        _ => FoundConnections::None { unnamed },
    }
}

/// Why no node lists its connections; `None` if none replied.
fn unlisted(nodes: &[NodeConnections]) -> Option<FoundConnections> {
    if nodes.contains(&NodeConnections::Denied) {
        return Some(FoundConnections::Denied);
    }
    let too_many = nodes.iter().filter_map(|node| match node {
        NodeConnections::TooMany(count) => Some(*count),
        NodeConnections::Listed(_) | NodeConnections::Denied | NodeConnections::Unreachable => None,
    });
    let count = too_many.max()?;
    Some(FoundConnections::TooMany { count })
}

/// Whether `word` is in the text and no letter, digit or `-`, `_`, `.` continues it: `worker-3` is in
/// `api@worker-3`, not in `worker-31` or `my-worker-3`.
fn contains_word(text: &str, word: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.chars().count() < MIN_NAME_CHARS {
        return false;
    }
    text.match_indices(word).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let after = text[start + found.len()..].chars().next();
        !before.is_some_and(continues) && !after.is_some_and(continues)
    })
}

/// Whether a part of the label is an IP address.
pub fn has_address(client: &str) -> bool {
    let is_address = |text: &str| text.parse::<std::net::IpAddr>().is_ok();
    client.split('@').any(is_address)
}

/// Whether a connection can have the name or address. A name contains no spaces, and ids that a
/// library generates for each process (hexadecimal, or the address of a network card) are no names.
fn can_match(client: &str) -> bool {
    let is_of_id = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '-');
    let has_space = client.contains(char::is_whitespace);
    client.chars().count() >= MIN_NAME_CHARS
        && !has_space
        && (has_address(client) || !client.chars().all(is_of_id))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::NOW;

    fn connection(name: &str, address: &str, idle_s: u64) -> ClientConnection {
        ClientConnection {
            name: name.to_owned(),
            address: address.to_owned(),
            idle_ms: idle_s * 1_000,
        }
    }

    fn search(client: &str, nodes: &[NodeConnections]) -> Option<FoundConnections> {
        OwnerConnections::search(client, nodes, NOW).map(|found| found.found)
    }

    fn listed(connections: &[(&str, &str, u64)]) -> NodeConnections {
        let connections = connections.iter();
        NodeConnections::Listed(
            connections
                .map(|(name, address, idle_s)| connection(name, address, *idle_s))
                .collect(),
        )
    }

    #[test]
    fn names_and_addresses_match_as_whole_words() {
        let clients = [
            ("worker-3", "10.0.0.7", 4),
            ("worker-31", "10.0.0.8", 1),
            ("my-worker-3", "10.0.0.9", 1),
            ("billing@worker-4:7", "10.0.0.5", 2),
            ("", "10.0.0.50", 0),
        ];
        let one = |count, address: &str, idle_s: u64| {
            Some(FoundConnections::One {
                count,
                address: address.to_owned(),
                idle_ms: idle_s * 1_000,
            })
        };
        let unnamed = |unnamed| Some(FoundConnections::None { unnamed });
        for (client, found) in [
            ("worker-3", one(1, "10.0.0.7", 4)),
            ("worker-4", one(1, "10.0.0.5", 2)),
            ("billing@10.0.0.5", one(1, "10.0.0.5", 2)),
            ("10.0.0.50", one(1, "10.0.0.50", 0)),
            ("10.0.0.51", unnamed(0)),
            ("worker", unnamed(1)),
            ("no-such-host", unnamed(1)),
            ("w", None),
            ("fa44d678", None),
            ("02:42:ac:11:00:07", None),
            ("worker d6880ea4", None),
            ("", None),
        ] {
            assert_eq!(search(client, &[listed(&clients)]), found, "{client}");
        }
    }

    #[test]
    fn a_name_at_several_addresses_is_ambiguous() {
        let nodes = [
            listed(&[("api", "10.0.0.1", 1), ("api", "10.0.0.2", 1)]),
            listed(&[("api", "10.0.0.1", 1)]),
        ];
        let ambiguous = FoundConnections::Ambiguous {
            count: 3,
            addresses: vec!["10.0.0.1".to_owned(), "10.0.0.2".to_owned()],
            address_count: 2,
        };
        assert_eq!(search("api", &nodes), Some(ambiguous));
        let same = [
            listed(&[("api", "10.0.0.1", 9)]),
            listed(&[("api", "10.0.0.1", 2)]),
        ];
        let one = FoundConnections::One {
            count: 2,
            address: "10.0.0.1".to_owned(),
            idle_ms: 2_000,
        };
        assert_eq!(search("api", &same), Some(one));
    }

    #[test]
    fn an_absence_is_conclusive_only_for_an_address_and_if_all_nodes_were_read() {
        use NodeConnections::{Denied, TooMany, Unreachable};
        let named = || listed(&[("other", "10.0.0.1", 1)]);
        let is_conclusive = |nodes: &[NodeConnections]| {
            OwnerConnections::search("app@10.0.0.7", nodes, NOW)
                .is_some_and(|it| it.is_conclusive())
        };
        assert!(is_conclusive(&[named(), named()]));
        assert!(is_conclusive(&[named(), listed(&[("", "10.0.0.1", 1)])]));
        for other in [Denied, Unreachable, TooMany(20_000)] {
            assert!(!is_conclusive(&[named(), other]));
        }
        assert!(!is_conclusive(&[listed(&[("worker-3", "10.0.0.7", 1)])]));
        let by_name = OwnerConnections::search("worker-3", &[listed(&[])], NOW);
        assert!(!by_name.unwrap().is_conclusive());
        assert_eq!(
            search("worker-3", &[Denied]),
            Some(FoundConnections::Denied)
        );
        let too_many = FoundConnections::TooMany { count: 20_000 };
        assert_eq!(search("worker-3", &[TooMany(20_000)]), Some(too_many));
        assert_eq!(search("worker-3", &[Unreachable]), None);
    }
}
