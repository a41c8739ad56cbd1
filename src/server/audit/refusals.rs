//! How many refused operations are written down: the first ones of each client within a minute one by one, and of the others how
//! many there were. Who may do nothing chooses how often they are refused, so that must cost next to nothing.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use parking_lot::Mutex;

use super::asked::{Asked, By, End, short};
use crate::domain::{ActEnd, ActKind, Timestamp};

/// So many refusals of one client are written down one by one within a minute, and so many of all clients together.
const MAX_PER_CLIENT: u32 = 20;
const MAX_IN_ALL: u32 = 600;
/// So many clients, and so many kinds of refusals, are told apart; what comes beyond is counted as of one.
const MAX_APART: usize = 1_000;
/// So long refusals are counted before they are written down together.
const WINDOW: Duration = Duration::from_secs(60);

/// The refusals of the last minute.
#[derive(Default)]
pub struct Refusals(Mutex<State>);

#[derive(Default)]
struct State {
    in_all: Written,
    by_client: HashMap<Option<IpAddr>, Written>,
    counted: HashMap<Kind, Counted>,
}

/// How many were written down one by one since then.
#[derive(Clone, Copy, Default)]
struct Written {
    since: Option<Timestamp>,
    many: u32,
}

impl Written {
    fn is_over(&self, now: Timestamp) -> bool {
        self.since.is_none_or(|since| is_over(since, now))
    }

    /// Begins to count anew when a minute is over.
    fn renew(&mut self, now: Timestamp) {
        if self.is_over(now) {
            (self.since, self.many) = (Some(now), 0);
        }
    }
}

/// What makes refusals alike.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind {
    client: Option<IpAddr>,
    act: ActKind,
    code: &'static str,
}

/// Refusals that are alike and were not written down one by one.
pub struct Counted {
    kind: Kind,
    who: String,
    subject: Option<String>,
    via: String,
    many: u64,
    /// When the first of them was counted.
    pub since: Timestamp,
}

impl Counted {
    /// What was asked for.
    pub fn asked(&self) -> Asked<'_> {
        let by = By {
            who: &self.who,
            subject: self.subject.as_deref(),
            via: &self.via,
            address: self.kind.client,
            request: None,
        };
        Asked::new(self.kind.act, by)
    }

    /// How many there were, as their common end.
    pub fn end(&self) -> End {
        let from = match self.kind.client {
            Some(IpAddr::V4(address)) => format!(" from {address}"),
            Some(IpAddr::V6(network)) => format!(" from {network}/64"),
            None => String::new(),
        };
        End {
            end: ActEnd::Refused,
            code: Some(self.kind.code),
            detail: Some(format!(
                "{} more like this{from}, counted and not written down one by one",
                self.many
            )),
            fingerprint: None,
            nodes: Vec::new(),
            seen: Vec::new(),
        }
    }
}

impl Refusals {
    /// Takes note of a refusal; true if it is to be written down by itself, otherwise it is counted.
    pub fn take_in(&self, asked: &Asked<'_>, code: &'static str, now: Timestamp) -> bool {
        let mut state = self.0.lock();
        if state.by_client.len() >= MAX_APART {
            state.by_client.retain(|_, written| !written.is_over(now));
        }
        let client = state.client(asked.by.address);
        state.in_all.renew(now);
        let has_room_in_all = state.in_all.many < MAX_IN_ALL;
        let of_client = state.by_client.entry(client).or_default();
        of_client.renew(now);
        if has_room_in_all && of_client.many < MAX_PER_CLIENT {
            of_client.many += 1;
            state.in_all.many += 1;
            return true;
        }
        drop(state);
        self.count(asked, code, now);
        false
    }

    /// Counts a refusal that is not written down by itself, or could not be.
    pub fn count(&self, asked: &Asked<'_>, code: &'static str, now: Timestamp) {
        self.count_again(Counted {
            kind: Kind {
                client: asked.by.address.map(network),
                act: asked.act,
                code,
            },
            who: short(asked.by.who).into_owned(),
            subject: asked.by.subject.map(|subject| short(subject).into_owned()),
            via: asked.by.via.to_owned(),
            many: 1,
            since: now,
        });
    }

    /// Counts what could not be written down together either.
    pub fn count_again(&self, mut counted: Counted) {
        let mut state = self.0.lock();
        if state.counted.len() >= MAX_APART && !state.counted.contains_key(&counted.kind) {
            counted.kind.client = None;
        }
        let kind = counted.kind.clone();
        let Some(known) = state.counted.get_mut(&kind) else {
            state.counted.insert(kind, counted);
            return;
        };
        known.many = known.many.saturating_add(counted.many);
        known.since = known.since.min(counted.since);
        if known.who != counted.who {
            known.who = "(several)".to_owned();
        }
    }

    /// What was counted for a minute, or everything that was counted; it is counted here no more.
    pub fn take(&self, everything: bool, now: Timestamp) -> Vec<Counted> {
        let mut state = self.0.lock();
        let due = |_: &Kind, counted: &mut Counted| everything || is_over(counted.since, now);
        let due = state.counted.extract_if(due);
        due.map(|(_, counted)| counted).collect()
    }
}

impl State {
    /// As whom a client is counted: of too many, the further ones are one.
    fn client(&self, address: Option<IpAddr>) -> Option<IpAddr> {
        let client = address.map(network);
        let is_known = self.by_client.contains_key(&client);
        client.filter(|_| is_known || self.by_client.len() < MAX_APART)
    }
}

/// A clock that went back ends it as well.
fn is_over(since: Timestamp, now: Timestamp) -> bool {
    now < since || now.since(since) >= WINDOW
}

/// Of IPv6 the first 64 bits, for a host may choose the others.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn asked(who: &str, address: u32) -> Asked<'_> {
        let by = By {
            who,
            subject: None,
            via: "token",
            address: Some(IpAddr::V4(address.into())),
            request: None,
        };
        Asked::new(ActKind::Acquire, by)
    }

    fn told(refusals: &Refusals, everything: bool, now: Timestamp) -> Vec<(String, String)> {
        let taken = refusals.take(everything, now).into_iter();
        let mut told: Vec<_> = taken
            .map(|counted| {
                (
                    counted.asked().by.who.to_owned(),
                    counted.end().detail.unwrap(),
                )
            })
            .collect();
        told.sort();
        told
    }

    #[test]
    fn the_first_refusals_of_each_client_are_told_apart_and_the_others_counted_for_a_minute() {
        let refusals = Refusals::default();
        let apart = |who, address, now| {
            let asked = asked(who, address);
            (0..100)
                .filter(|_| refusals.take_in(&asked, "forbidden", now))
                .count()
        };
        assert_eq!(
            (apart("a", 1, NOW), apart("b", 2, NOW), apart("c", 2, NOW)),
            (20, 20, 0)
        );
        assert_eq!(told(&refusals, false, NOW.plus(WINDOW / 2)), []);
        let later = NOW.plus(WINDOW);
        let expected = [
            (
                "(several)",
                "180 more like this from 0.0.0.2, counted and not written down one by one",
            ),
            (
                "a",
                "80 more like this from 0.0.0.1, counted and not written down one by one",
            ),
        ];
        let expected = expected.map(|(who, what)| (who.to_owned(), what.to_owned()));
        assert_eq!(told(&refusals, false, later), expected);
        assert_eq!(told(&refusals, true, later), []);
        assert_eq!(apart("a", 1, later), 20);
        // A clock that went back begins another minute.
        assert_eq!(apart("a", 1, NOW), 20);
    }

    #[test]
    fn however_many_clients_there_are_what_is_kept_of_them_is_bounded() {
        let refusals = Refusals::default();
        let clients = 5 * u32::try_from(MAX_APART).unwrap();
        let apart = (0..clients)
            .filter(|address| refusals.take_in(&asked("a", *address), "forbidden", NOW));
        assert_eq!(apart.count(), usize::try_from(MAX_IN_ALL).unwrap());
        let state = refusals.0.lock();
        assert!(
            state.by_client.len() <= MAX_APART + 1,
            "{}",
            state.by_client.len()
        );
        assert!(
            state.counted.len() <= MAX_APART + 1,
            "{}",
            state.counted.len()
        );
        let counted: u64 = state.counted.values().map(|counted| counted.many).sum();
        assert_eq!(counted, u64::from(clients - MAX_IN_ALL));
    }
}
