//! What servers report about the sessions of other clients: their hosts, and when a session ends
//! whose client is not connected any more. Servers only report this where it is permitted.

use std::collections::HashMap;

use super::client::SessionId;
use super::four_letter_words::{ClientConnection, SessionDeadlines};
use crate::domain::{Lease, Timestamp};

/// What the servers report about sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionReport {
    hosts: HashMap<SessionId, String>,
    /// The end of each session; empty unless it is known which sessions are connected.
    ends: HashMap<SessionId, Timestamp>,
}

/// The replies of all servers of an ensemble.
#[derive(Debug, Default)]
pub struct SessionReplies {
    /// The connections to all servers that reported them.
    pub connections: Vec<ClientConnection>,
    /// Whether every server that serves clients reported its connections.
    pub are_connections_complete: bool,
    /// The deadlines that the leader reported.
    pub deadlines: Option<SessionDeadlines>,
    /// The session of the console, and when it ends without another request.
    pub own: Option<(SessionId, Timestamp)>,
}

impl SessionReport {
    /// Combines the replies.
    pub fn new(replies: SessionReplies) -> Self {
        let connections = replies.connections.into_iter();
        let hosts: HashMap<SessionId, String> = connections
            .map(|connection| (connection.session, connection.host))
            .collect();
        let mut ends = HashMap::new();
        // The leader's clock is only known by the deadline of the console's own session.
        if replies.are_connections_complete
            && let (Some(deadlines), Some((own, own_end))) = (replies.deadlines, replies.own)
            && let Some(own_deadline) = deadlines.by_session.get(&own).copied()
        {
            for (session, deadline) in deadlines.by_session {
                if !hosts.contains_key(&session) {
                    let end = own_end.plus_millis(deadline - own_deadline);
                    ends.insert(session, end);
                }
            }
        }
        Self { hosts, ends }
    }

    /// The host that a session is connected from.
    pub fn host(&self, session: Option<SessionId>) -> Option<&str> {
        self.hosts.get(&session?).map(String::as_str)
    }

    /// The lease of a node of this session: until the end of the session if its client is not
    /// connected, unknown if it is. A persistent node never ends.
    pub fn lease(&self, session: Option<SessionId>, now: Timestamp) -> Lease {
        match session {
            None => Lease::Never,
            Some(session) => match self.ends.get(&session) {
                Some(end) => Lease::until(*end, now),
                None => Lease::Session,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_458_110_000);

    fn replies(are_connections_complete: bool) -> SessionReplies {
        let session = SessionId::new;
        let deadlines = [
            (session(1), 10_000),
            (session(2), 14_000),
            (session(3), 12_500),
        ];
        SessionReplies {
            connections: vec![
                ClientConnection {
                    session: session(1),
                    host: "10.0.0.1".to_owned(),
                    timeout: None,
                },
                ClientConnection {
                    session: session(2),
                    host: "10.0.0.2".to_owned(),
                    timeout: None,
                },
            ],
            are_connections_complete,
            deadlines: Some(SessionDeadlines {
                by_session: deadlines.into_iter().collect(),
            }),
            own: Some((session(1), NOW.plus_millis(6_000))),
        }
    }

    #[test]
    fn only_the_end_of_a_session_that_is_not_connected_is_known() {
        let report = SessionReport::new(replies(true));
        let session = |id| Some(SessionId::new(id));
        assert_eq!(report.host(session(2)), Some("10.0.0.2"));
        assert_eq!(report.lease(session(2), NOW), Lease::Session);
        let expected = Lease::until(NOW.plus_millis(8_500), NOW);
        assert_eq!(report.lease(session(3), NOW), expected);
        assert_eq!(report.lease(None, NOW), Lease::Never);
    }

    #[test]
    fn a_server_that_does_not_report_its_connections_leaves_all_ends_unknown() {
        let report = SessionReport::new(replies(false));
        let session = Some(SessionId::new(3));
        assert_eq!(report.lease(session, NOW), Lease::Session);
    }
}
