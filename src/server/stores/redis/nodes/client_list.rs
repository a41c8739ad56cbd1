//! Lists the client connections of a node (`CLIENT LIST`), as a sign of life of lock owners.
//!
//! The command takes the server about 1 ms for 1,000 connections, and its reply 300 bytes for each of
//! them. Nodes with more than [`MAX_CONNECTIONS`] are skipped, and callers cache the result.

use redis::RedisResult;

use super::connection::Connection;
use super::node::Node;
use crate::domain::reason::Reason;
use crate::domain::release_advice::{ClientConnection, NodeConnections};

/// The maximum number of connections that are listed.
const MAX_CONNECTIONS: u64 = 10_000;
/// The maximum length of a name, in characters. Clients choose it.
const MAX_NAME_CHARS: usize = 128;
/// The names of the console's own connections start with this.
const OWN_NAME: &str = "lockkeeper";

/// Lists the connections of a node, without those of the console.
pub async fn list_connections(node: &Node) -> NodeConnections {
    let list = |mut connection: Connection| async move {
        let transport = &mut connection.transport;
        let info: String = redis::cmd("INFO")
            .arg("clients")
            .query_async(transport)
            .await?;
        let connected = parse_connected(&info).unwrap_or(0);
        if connected > MAX_CONNECTIONS {
            return Ok(NodeConnections::TooMany(connected));
        }
        let lines: RedisResult<String> = redis::cmd("CLIENT")
            .arg("LIST")
            .query_async(transport)
            .await;
        Ok(NodeConnections::Listed(parse_lines(&lines?)))
    };
    match node.call_inspection(node.command_timeout(), list).await {
        Ok(connections) => connections,
        Err(error) if matches!(error.reason(), Reason::PermissionDenied { .. }) => {
            NodeConnections::Denied
        }
        Err(_) => NodeConnections::Unreachable,
    }
}

/// The number of connections from `INFO clients`.
fn parse_connected(info: &str) -> Option<u64> {
    let mut lines = info.lines();
    let figure = lines.find_map(|line| line.strip_prefix("connected_clients:"))?;
    figure.trim().parse().ok()
}

fn parse_lines(lines: &str) -> Vec<ClientConnection> {
    let lines = lines
        .lines()
        .take(usize::try_from(MAX_CONNECTIONS).unwrap_or(usize::MAX));
    lines.filter_map(parse_line).collect()
}

/// Parses `id=7 addr=10.0.0.7:50010 … name=worker-3 … idle=0 …`. Values contain no spaces.
fn parse_line(line: &str) -> Option<ClientConnection> {
    let field = |name: &str| {
        let mut fields = line.split(' ');
        fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    };
    let name = field("name").unwrap_or_default();
    if name.starts_with(OWN_NAME) {
        return None;
    }
    // A Unix socket has the address `/path:0`, IPv6 `[::1]:50010`.
    let address = field("addr")?.rsplit_once(':')?.0;
    let idle_s: u64 = field("idle")?.parse().ok()?;
    Some(ClientConnection {
        name: name.chars().take(MAX_NAME_CHARS).collect(),
        address: address.trim_matches(['[', ']']).to_owned(),
        idle_ms: idle_s.saturating_mul(1_000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_idle_times_are_parsed() {
        let lines = "id=3 addr=10.0.0.7:50010 laddr=10.0.0.1:6379 fd=8 name=worker-3 age=9 idle=4 flags=N cmd=ping\n\
            id=4 addr=[::1]:50011 fd=9 name= age=9 idle=0 flags=N\n\
            id=5 addr=10.0.0.9:1 name=lockkeeper age=1 idle=0\n\
            id=6 addr=10.0.0.9:1 name=lockkeeper-feed age=1 idle=0\n\
            malformed\n";
        let found = parse_lines(lines);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.name.as_str(), it.address.as_str(), it.idle_ms))
            .collect();
        assert_eq!(found, [("worker-3", "10.0.0.7", 4_000), ("", "::1", 0)]);
        let info = "# Clients\r\nconnected_clients:12000\r\n";
        assert_eq!(parse_connected(info), Some(12_000));
        assert_eq!(parse_connected("# Clients\r\n"), None);
    }
}
