//! The four-letter words of a server: `srvr`, which every server permits, and `cons` and `dump`,
//! which must be permitted (`4lw.commands.whitelist`).

use std::collections::HashMap;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::client::{ConnectError, Server, SessionId, open_stream};
use crate::domain::ReplicationRole;
use crate::server::stores::server_states::SessionLimits;

/// The longest reply that is read: about 50,000 connections or ephemeral nodes.
const MAX_REPLY_BYTES: u64 = 8 << 20;

/// What `srvr` reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// The version.
    pub version: Option<String>,
    /// The role; `None` for a server that is not part of an ensemble.
    pub role: Option<ReplicationRole>,
    /// The last transaction that the server has.
    pub zxid: Option<i64>,
}

/// Why a server has no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordError {
    /// The server could not be reached.
    Connect(ConnectError),
    /// The server has no quorum.
    NotServing,
    /// The word is not permitted.
    NotPermitted,
}

/// A connection of a client to one server, as `cons` reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConnection {
    /// The session.
    pub session: SessionId,
    /// The host of the client.
    pub host: String,
    /// The timeout of the session.
    pub timeout: Option<Duration>,
}

/// When sessions end, as the leader reports in `dump`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionDeadlines {
    /// Milliseconds on a clock of the server whose zero point is not known.
    pub by_session: HashMap<SessionId, i64>,
}

/// Sends a word and returns the reply, within the timeout.
pub async fn send(server: &Server, word: &str, limit: Duration) -> Result<String, WordError> {
    let exchange = async {
        let mut stream = open_stream(server).await?;
        stream.write_all(word.as_bytes()).await?;
        stream.flush().await?;
        let mut reply = Vec::new();
        // A server closes the connection after its reply. With TLS, some do so without notice.
        let read = stream.take(MAX_REPLY_BYTES).read_to_end(&mut reply).await;
        match read {
            Err(error) if reply.is_empty() => Err(ConnectError::from(error)),
            Ok(_) | Err(_) => Ok(reply),
        }
    };
    let reply = timeout(limit, exchange).await;
    let reply = reply
        .unwrap_or(Err(ConnectError::Timeout))
        .map_err(WordError::Connect)?;
    let text = String::from_utf8_lossy(&reply);
    if text.contains("is not currently serving requests") {
        return Err(WordError::NotServing);
    }
    if text.contains("is not executed because it is not in the whitelist") {
        return Err(WordError::NotPermitted);
    }
    if text.is_empty() {
        return Err(WordError::Connect(ConnectError::NoQuorum));
    }
    Ok(text.into_owned())
}

impl ServerInfo {
    /// Parses the reply to `srvr`.
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = text.lines();
            lines
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        let mode = field("Mode:")?;
        let zxid = field("Zxid: 0x").and_then(|hex| i64::from_str_radix(hex, 16).ok());
        // `3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC`
        let version = field("Zookeeper version:")
            .and_then(|version| version.split([',', '-']).next())
            .map(str::to_owned);
        Some(Self {
            version,
            role: match mode {
                "leader" => Some(ReplicationRole::Leader),
                "follower" => Some(ReplicationRole::Follower),
                "observer" => Some(ReplicationRole::Observer),
                _ => None,
            },
            zxid,
        })
    }

    /// Whether the server knows the deadlines of sessions.
    pub fn has_deadlines(&self) -> bool {
        match self.role {
            // A server outside of an ensemble is its own leader.
            None | Some(ReplicationRole::Leader) => true,
            Some(_) => false,
        }
    }
}

/// Parses the reply to `cons`.
///
/// ```text
///  /127.0.0.1:56214[1](queued=0,recved=22,sent=23,sid=0x100000d12610001,lop=GETD,est=1795458060024,to=30000,…)
/// ```
pub fn parse_connections(text: &str) -> Vec<ClientConnection> {
    let connection = |line: &str| {
        let (head, rest) = line.trim().strip_prefix('/')?.split_once("](")?;
        let (address, _interest) = head.rsplit_once('[')?;
        let (host, _port) = address.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let field = |name: &str| {
            let value = rest.split_once(name)?.1;
            value.split([',', ')']).next()
        };
        let timeout = field(",to=").and_then(|ms| ms.parse().ok());
        Some(ClientConnection {
            session: parse_session(field("sid=0x")?)?,
            host: host.to_owned(),
            timeout: timeout.map(Duration::from_millis),
        })
    };
    text.lines().filter_map(connection).collect()
}

/// Parses the reply to `conf`: lines like `minSessionTimeout=4000`.
pub fn parse_session_limits(text: &str) -> Option<SessionLimits> {
    let field = |name: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
        value.trim().parse().ok().map(Duration::from_millis)
    };
    Some(SessionLimits {
        min: field("minSessionTimeout")?,
        max: field("maxSessionTimeout")?,
    })
}

/// Parses the reply of a leader to `dump`; `None` for a follower, which does not know deadlines.
///
/// ```text
/// 1 expire at Mon Nov 23 18:21:11 UTC 2026:
///         0x100000d12610002
/// ```
pub fn parse_deadlines(text: &str) -> Option<SessionDeadlines> {
    let mut deadlines = SessionDeadlines::default();
    let mut current = None;
    let mut has_deadlines = false;
    for line in text.lines() {
        if let Some((_, time)) = line.split_once(" expire at ") {
            has_deadlines = true;
            current = seconds_of(time.trim_end_matches(':')).map(|seconds| seconds * 1_000);
        } else if line.starts_with("ephemeral nodes dump") {
            break;
        } else if let (Some(deadline), Some(session)) = (current, line.trim().strip_prefix("0x"))
            && let Some(session) = parse_session(session)
        {
            deadlines.by_session.insert(session, deadline);
        }
    }
    // The header of a leader without sessions.
    (has_deadlines || text.contains("Session Sets")).then_some(deadlines)
}

fn parse_session(hex: &str) -> Option<SessionId> {
    // Session ids are signed in the protocol and unsigned in this text.
    let id = u64::from_str_radix(hex, 16).ok()?;
    Some(SessionId::new(id.cast_signed()))
}

/// The seconds of `Mon Nov 23 18:21:11 UTC 2026` since a fixed moment. The zone is ignored: only
/// differences between two times of the same reply are used.
fn seconds_of(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let mut words = text.split_whitespace().skip(1);
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let day: u8 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(str::parse::<u8>);
    let (hour, minute, second) = (
        clock.next()?.ok()?,
        clock.next()?.ok()?,
        clock.next()?.ok()?,
    );
    let year: i32 = words.last()?.parse().ok()?;
    let month = time::Month::try_from(u8::try_from(month + 1).ok()?).ok()?;
    let date = time::Date::from_calendar_date(year, month, day).ok()?;
    let time = time::Time::from_hms(hour, minute, second).ok()?;
    Some(date.with_time(time).assume_utc().unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srvr_reports_version_role_and_last_transaction() {
        let text = "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC\n\
                    Latency min/avg/max: 0/0.0/0\nZxid: 0x100000d12\nMode: follower\nNode count: 5\n";
        let info = ServerInfo::parse(text).unwrap();
        assert_eq!(info.version.as_deref(), Some("3.8.0"));
        assert_eq!(info.role, Some(ReplicationRole::Follower));
        assert_eq!(info.zxid, Some(0x1_0000_0d12));
        assert!(!info.has_deadlines());
        assert!(
            ServerInfo::parse("Mode: standalone")
                .unwrap()
                .has_deadlines()
        );
        assert_eq!(ServerInfo::parse("+PONG"), None);
    }

    #[test]
    fn cons_reports_the_hosts_of_sessions() {
        let text = " /127.0.0.1:56214[1](queued=0,recved=22,sent=23,sid=0x100000d12610001,lop=GETD,est=1795458060024,to=30000)\n \
                    /[0:0:0:0:0:0:0:1]:56215[1](queued=0,sid=0xff0000d12610001,to=1)\n \
                    /127.0.0.1:1[0](queued=0,recved=1,sent=0)\n";
        let connections = parse_connections(text);
        let hosts: Vec<&str> = connections.iter().map(|one| &*one.host).collect();
        assert_eq!(hosts, ["127.0.0.1", "0:0:0:0:0:0:0:1"]);
        assert_eq!(connections[0].session, SessionId::new(0x100_000d_1261_0001));
        assert_eq!(connections[0].timeout, Some(Duration::from_secs(30)));
    }

    #[test]
    fn conf_reports_the_session_limits() {
        let text = "clientPort=22191\ntickTime=2000\nminSessionTimeout=4000\nmaxSessionTimeout=40000\nserverId=1\n";
        let limits = parse_session_limits(text).unwrap();
        assert_eq!(limits.min, Duration::from_secs(4));
        assert_eq!(limits.max, Duration::from_secs(40));
        assert_eq!(parse_session_limits("clientPort=1"), None);
    }

    #[test]
    fn dump_of_a_leader_reports_the_deadline_of_each_session() {
        let text = "SessionTracker dump:\nSession Sets (5)/(4):\n1 expire at Mon Nov 23 18:21:11 UTC 2026:\n\
                    \t0x100000d12610002\n2 expire at Mon Nov 23 18:21:13 UTC 2026:\n\t0x1\n\t0x2\n\
                    ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x100000d12610000:\n\t/locks/a\n";
        let deadlines = parse_deadlines(text).unwrap().by_session;
        assert_eq!(deadlines.len(), 3);
        let late = deadlines[&SessionId::new(1)] - deadlines[&SessionId::new(0x100_000d_1261_0002)];
        assert_eq!(late, 2_000);
        let follower = "Global Sessions(1):\n0x100000d1fa10000\t10000ms\nephemeral nodes dump:\n";
        assert_eq!(parse_deadlines(follower), None);
    }

    #[test]
    fn times_without_a_known_form_are_ignored() {
        for text in [
            "",
            "Mon",
            "Mon Nov 99 18:21:11 UTC 2026",
            "Mon Foo 1 18:21:11 UTC 2026",
        ] {
            assert_eq!(seconds_of(text), None, "{text}");
        }
    }
}
