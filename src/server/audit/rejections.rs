//! Limits how many rejections are recorded: the first ones of each client within a minute one by
//! one, the others as a count. Clients without permissions control how often they are rejected, so
//! this must be cheap.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use parking_lot::Mutex;

use super::request::{AuditActor, AuditOutcome, AuditRequest, truncate};
use crate::domain::{AuditDetail, OperationKind, OperationResult, Timestamp};

/// The maximum number of rejections recorded one by one per window, per client and in total.
const MAX_PER_CLIENT: u32 = 20;
const MAX_TOTAL: u32 = 600;
/// The maximum number of clients and of kinds of rejections that are tracked; further ones share
/// one entry.
const MAX_TRACKED: usize = 1_000;
/// The window over which rejections are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The rejections of the current window.
#[derive(Default)]
pub struct RejectionLimiter(Mutex<LimiterState>);

#[derive(Default)]
struct LimiterState {
    total: WindowCount,
    by_client: HashMap<Option<IpAddr>, WindowCount>,
    counted: HashMap<RejectionKind, CountedRejections>,
}

/// The number of rejections recorded one by one in a window.
#[derive(Clone, Copy, Default)]
struct WindowCount {
    since: Option<Timestamp>,
    count: u32,
}

impl WindowCount {
    fn is_window_over(&self, now: Timestamp) -> bool {
        self.since.is_none_or(|since| is_window_over(since, now))
    }

    /// Starts a new window if the current one is over.
    fn reset_if_over(&mut self, now: Timestamp) {
        if self.is_window_over(now) {
            (self.since, self.count) = (Some(now), 0);
        }
    }
}

/// Rejections of the same kind are counted together.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RejectionKind {
    client: Option<IpAddr>,
    operation: OperationKind,
    code: &'static str,
}

/// A count of rejections of the same kind.
pub struct CountedRejections {
    kind: RejectionKind,
    actor: String,
    subject: Option<String>,
    auth_method: String,
    count: u64,
    /// The time of the first one.
    pub since: Timestamp,
}

impl CountedRejections {
    /// The request to record for them.
    pub fn to_request(&self) -> AuditRequest<'_> {
        let by = AuditActor {
            actor: &self.actor,
            subject: self.subject.as_deref(),
            auth_method: &self.auth_method,
            address: self.kind.client,
            request_id: None,
        };
        AuditRequest::new(self.kind.operation, by)
    }

    /// The outcome to record for them, with their number.
    pub fn to_outcome(&self) -> AuditOutcome {
        let client = self.kind.client.map(|client| match client {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(network) => format!("{network}/64"),
        });
        AuditOutcome {
            result: OperationResult::Refused,
            code: Some(self.kind.code),
            detail: Some(AuditDetail::MoreRejections {
                count: self.count,
                client,
            }),
            fingerprint: None,
            nodes: Vec::new(),
            observed_after: Vec::new(),
        }
    }
}

impl RejectionLimiter {
    /// Returns true if the rejection is to be recorded by itself; otherwise it is counted.
    pub fn try_admit(
        &self,
        request: &AuditRequest<'_>,
        code: &'static str,
        now: Timestamp,
    ) -> bool {
        let mut state = self.0.lock();
        // Only when the map is full: scanning it for every rejection would be expensive.
        if state.by_client.len() >= MAX_TRACKED {
            state
                .by_client
                .retain(|_, written| !written.is_window_over(now));
        }
        let client = state.client(request.by.address);
        state.total.reset_if_over(now);
        let has_room_in_all = state.total.count < MAX_TOTAL;
        let of_client = state.by_client.entry(client).or_default();
        of_client.reset_if_over(now);
        if has_room_in_all && of_client.count < MAX_PER_CLIENT {
            of_client.count += 1;
            state.total.count += 1;
            return true;
        }
        drop(state);
        self.count(request, code, now);
        false
    }

    /// Counts a rejection that is not, or could not be, recorded by itself.
    pub fn count(&self, request: &AuditRequest<'_>, code: &'static str, now: Timestamp) {
        self.merge(CountedRejections {
            kind: RejectionKind {
                client: request.by.address.map(network_of),
                operation: request.action,
                code,
            },
            actor: truncate(request.by.actor).into_owned(),
            subject: request
                .by
                .subject
                .map(|subject| truncate(subject).into_owned()),
            auth_method: request.by.auth_method.to_owned(),
            count: 1,
            since: now,
        });
    }

    /// Adds a count back that could not be recorded.
    pub fn merge(&self, mut counted: CountedRejections) {
        let mut state = self.0.lock();
        if state.counted.len() >= MAX_TRACKED && !state.counted.contains_key(&counted.kind) {
            // Bounds the memory that clients with many addresses can use.
            counted.kind.client = None;
        }
        let kind = counted.kind.clone();
        let Some(existing) = state.counted.get_mut(&kind) else {
            state.counted.insert(kind, counted);
            return;
        };
        existing.count = existing.count.saturating_add(counted.count);
        existing.since = existing.since.min(counted.since);
        if existing.actor != counted.actor {
            // Not part of the kind: a client that varies the name must not create more entries.
            existing.actor = "(several)".to_owned();
        }
    }

    /// Takes the counts whose window is over, or all of them.
    pub fn take_due(&self, all: bool, now: Timestamp) -> Vec<CountedRejections> {
        let mut state = self.0.lock();
        let due = |_: &RejectionKind, counted: &mut CountedRejections| {
            all || is_window_over(counted.since, now)
        };
        let due = state.counted.extract_if(due);
        due.map(|(_, counted)| counted).collect()
    }
}

impl LimiterState {
    /// The tracked client, or `None` for clients beyond [`MAX_TRACKED`].
    fn client(&self, address: Option<IpAddr>) -> Option<IpAddr> {
        let client = address.map(network_of);
        let is_known = self.by_client.contains_key(&client);
        client.filter(|_| is_known || self.by_client.len() < MAX_TRACKED)
    }
}

/// A clock that was set back ends the window as well.
fn is_window_over(since: Timestamp, now: Timestamp) -> bool {
    now < since || now.since(since) >= WINDOW
}

/// The IPv4 address, or the first 64 bits of an IPv6 address, because a host can choose the others.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn request_from(actor: &str, address: u32) -> AuditRequest<'_> {
        let by = AuditActor {
            actor,
            subject: None,
            auth_method: "token",
            address: Some(IpAddr::V4(address.into())),
            request_id: None,
        };
        AuditRequest::new(OperationKind::Acquire, by)
    }

    fn recorded_counts(
        limiter: &RejectionLimiter,
        all: bool,
        now: Timestamp,
    ) -> Vec<(String, String)> {
        let taken = limiter.take_due(all, now).into_iter();
        let mut recorded_counts: Vec<_> = taken
            .map(|counted| {
                (
                    counted.to_request().by.actor.to_owned(),
                    counted.to_outcome().detail.unwrap().to_string(),
                )
            })
            .collect();
        recorded_counts.sort();
        recorded_counts
    }

    #[test]
    fn the_first_rejections_of_each_client_are_recorded_and_the_others_counted() {
        let limiter = RejectionLimiter::default();
        let count_admitted = |actor, address, now| {
            let request = request_from(actor, address);
            (0..100)
                .filter(|_| limiter.try_admit(&request, "forbidden", now))
                .count()
        };
        assert_eq!(
            (
                count_admitted("a", 1, NOW),
                count_admitted("b", 2, NOW),
                count_admitted("c", 2, NOW)
            ),
            (20, 20, 0)
        );
        assert_eq!(recorded_counts(&limiter, false, NOW.plus(WINDOW / 2)), []);
        let later = NOW.plus(WINDOW);
        let expected = [
            (
                "(several)",
                "180 more rejections of this kind from 0.0.0.2, recorded as a count",
            ),
            (
                "a",
                "80 more rejections of this kind from 0.0.0.1, recorded as a count",
            ),
        ];
        let expected = expected.map(|(actor, what)| (actor.to_owned(), what.to_owned()));
        assert_eq!(recorded_counts(&limiter, false, later), expected);
        assert_eq!(recorded_counts(&limiter, true, later), []);
        assert_eq!(count_admitted("a", 1, later), 20);
        // A clock that was set back starts a new window.
        assert_eq!(count_admitted("a", 1, NOW), 20);
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_clients() {
        let limiter = RejectionLimiter::default();
        let clients = 5 * u32::try_from(MAX_TRACKED).unwrap();
        let count_admitted = (0..clients)
            .filter(|address| limiter.try_admit(&request_from("a", *address), "forbidden", NOW));
        assert_eq!(count_admitted.count(), usize::try_from(MAX_TOTAL).unwrap());
        let state = limiter.0.lock();
        assert!(
            state.by_client.len() <= MAX_TRACKED + 1,
            "{}",
            state.by_client.len()
        );
        assert!(
            state.counted.len() <= MAX_TRACKED + 1,
            "{}",
            state.counted.len()
        );
        let counted: u64 = state.counted.values().map(|counted| counted.count).sum();
        assert_eq!(counted, u64::from(clients - MAX_TOTAL));
    }
}
