//! The advice in each situation, and the words of its texts.

mod attention;

use super::*;
use crate::domain::reason::Reason;
use crate::domain::testing::{NOW, lock as plain_lock, owner};
use crate::domain::{
    Holder, LockId, Mode, NodeObservation, Observation, Owner, StatsScope, WaitQueue, Waiter,
};

use AdviceLevel::{OwnerAlive, OwnerSilent, Unknown};

/// A situation, built from a lock of one owner on one node that was acquired `held_s` seconds ago
/// and expires in 30 s.
struct Situation {
    name: &'static str,
    lock: Lock,
    hold_stats: Option<HoldStats>,
    holder: Option<HolderState>,
    connections: Option<OwnerConnections>,
    owner: Option<Fingerprint>,
}

fn situation(name: &'static str, held_s: i64) -> Situation {
    let mut lock = plain_lock(&[1], NOW.plus_millis(-held_s * 1_000), NOW);
    lock.nodes = vec![node("a", holds(1))];
    Situation {
        name,
        lock,
        hold_stats: None,
        holder: None,
        connections: None,
        owner: None,
    }
}

fn holds(n: u8) -> Observation {
    Observation::held_by(owner(n), Lease::until(NOW.plus_millis(30_000), NOW))
}

fn unreachable() -> Observation {
    Observation::Unreachable {
        reason: Reason::NoReply { timeout_ms: 500 },
    }
}

fn node(name: &str, observation: Observation) -> NodeObservation {
    NodeObservation {
        node: name.to_owned(),
        observation,
    }
}

impl Situation {
    /// The last of `count` renewals, every 10 s, was `age_s` seconds ago, for a lease of 30 s.
    fn renewed(mut self, count: u32, age_s: i64) -> Self {
        self.lock.renewals.count = count;
        self.lock.renewals.interval_ms = (count > 1).then_some(10_000);
        self.lock.renewals.last_at = Some(NOW.plus_millis(-age_s * 1_000));
        self.lock.lease = Lease::until(NOW.plus_millis((30 - age_s) * 1_000), NOW);
        self
    }

    /// `count` earlier holds of 60 s each.
    fn usually_a_minute(mut self, count: usize) -> Self {
        self.hold_stats = HoldStats::from_durations(&mut vec![60_000; count], StatsScope::Lock);
        self
    }

    fn lease(mut self, lease: Lease) -> Self {
        self.lock.lease = lease;
        self
    }

    fn expires_in(self, s: i64) -> Self {
        self.lease(Lease::until(NOW.plus_millis(s * 1_000), NOW))
    }

    fn format(mut self, format: Format) -> Self {
        self.lock = self.lock.with_format(format);
        self
    }

    fn holder(mut self, holder: HolderState) -> Self {
        self.holder = Some(holder);
        self
    }

    /// The connections of the owner on five nodes, listed 2 s ago.
    fn connections(self, nodes: u32, found: FoundConnections) -> Self {
        self.connections_of("api-1", nodes, found)
    }

    fn connections_of(mut self, client: &str, nodes: u32, found: FoundConnections) -> Self {
        self.connections = Some(OwnerConnections {
            client: client.to_owned(),
            found,
            nodes,
            total: 5,
            read_at: NOW.plus_millis(-2_000),
        });
        self
    }

    fn connected(self, idle_ms: u64) -> Self {
        let found = FoundConnections::One {
            count: 3,
            address: "10.0.0.7".to_owned(),
            idle_ms,
        };
        self.connections(5, found)
    }

    fn backend(self, activity: BackendActivity, in_state_s: u64) -> Self {
        let in_state_ms = Some(in_state_s * 1_000);
        self.format(Format::AdvisoryLock)
            .lease(Lease::Session)
            .holder(HolderState::Backend {
                activity,
                in_state_ms,
                other_locks: Vec::new(),
                other_lock_count: 0,
            })
    }

    fn nodes(mut self, verdict: Verdict, nodes: Vec<NodeObservation>) -> Self {
        self.lock.verdict = verdict;
        self.lock.nodes = nodes;
        self
    }

    /// Two owners; the second one has renewed `age_s` seconds ago and is the one to release.
    fn shared_with_renewing(mut self, age_s: i64) -> Self {
        let [first, second] = [1, 2].map(owner);
        let details = |owner: &Owner, lock: &Lock| Holder {
            fingerprint: owner.fingerprint,
            acquired_at: lock.acquired_at,
            acquired_at_source: lock.acquired_at_source,
            expires_at: lock.lease.expires_at(),
            renewals: lock.renewals.clone(),
        };
        let of_first = details(&first, &self.lock);
        self = self.renewed(5, age_s);
        let of_second = details(&second, &self.lock);
        self.lock.renewals = of_first.renewals.clone();
        self.lock.holders = vec![of_first, of_second];
        self.owner = Some(second.fingerprint);
        self.lock.owners = vec![first, second];
        self.lock.mode = Mode::Shared;
        self
    }

    fn inputs(&self) -> AdviceInputs<'_> {
        AdviceInputs {
            lock: &self.lock,
            owner: self.owner.as_ref(),
            hold_stats: self.hold_stats.as_ref(),
            queue: None,
            holder: self.holder.as_ref(),
            connections: self.connections.as_ref(),
            now: NOW,
        }
    }

    fn advice(&self) -> ReleaseAdvice {
        ReleaseAdvice::assess(&self.inputs())
    }
}

/// Each situation with the expected level and the start of its strongest fact.
fn situations() -> Vec<(Situation, AdviceLevel, &'static str)> {
    let nodes = |observations: Vec<Observation>| {
        let names = ["a", "b", "c", "d", "e"];
        let named = names.into_iter().zip(observations);
        named.map(|(name, seen)| node(name, seen)).collect()
    };
    let absent = || Observation::Absent;
    vec![
        (
            situation("renews on time", 100).renewed(9, 3),
            OwnerAlive,
            "Renews every 10 s; last renewal 3 s ago (9 in total)",
        ),
        (
            situation("renewed once, on time", 13).renewed(1, 3),
            OwnerAlive,
            "Renews; last renewal 3 s ago (1 in total)",
        ),
        (
            situation("the next renewal is due", 100).renewed(9, 12),
            OwnerAlive,
            "Renews every 10 s; last renewal 12 s ago",
        ),
        (
            situation("missed one renewal", 100).renewed(9, 18),
            Unknown,
            "Missed 1 renewal: expected every 10 s, last one 18 s ago",
        ),
        (
            situation("missed one renewal, within the usual time", 50)
                .renewed(3, 18)
                .usually_a_minute(9),
            Unknown,
            "Missed 1 renewal",
        ),
        (
            situation("missed two renewals", 100).renewed(9, 25),
            OwnerSilent,
            "Missed 2 renewals: expected every 10 s, last one 25 s ago",
        ),
        (
            situation("missed many renewals, the key has no expiry any more", 900)
                .renewed(9, 120)
                .lease(Lease::Never),
            OwnerSilent,
            "Missed 12 renewals",
        ),
        (
            situation("renewed once, in the last fifth of the lease", 60)
                .renewed(1, 45)
                .expires_in(5),
            Unknown,
            "Missed 1 renewal",
        ),
        (
            situation("missed two renewals, within the usual time", 50)
                .renewed(3, 25)
                .usually_a_minute(9),
            OwnerSilent,
            "Missed 2 renewals",
        ),
        (
            situation("renews on time, far beyond the usual time", 900)
                .renewed(90, 3)
                .usually_a_minute(9),
            OwnerAlive,
            "Renews every 10 s",
        ),
        (
            situation("never renewed, within the usual time", 30).usually_a_minute(9),
            OwnerAlive,
            "Held for 30 s, within the usual time: median 1 min, p99 1 min (9 holds)",
        ),
        (
            situation("never renewed, somewhat longer than usual", 100).usually_a_minute(9),
            Unknown,
            "Not renewed in 1 min 40 s; its library does not renew by itself",
        ),
        (
            situation("never renewed, far beyond the usual time", 200).usually_a_minute(9),
            OwnerSilent,
            "Held for 3 min 20 s, far longer than usual: p90 1 min (9 holds), overdue after 3 min",
        ),
        (
            situation("never renewed, too few holds", 200).usually_a_minute(4),
            Unknown,
            "Not renewed in 3 min 20 s",
        ),
        (
            situation("Redisson with a lease of its caller", 25).format(Format::Redisson),
            Unknown,
            "Not renewed in 25 s; its library renews every 18 s unless the caller sets a lease",
        ),
        (
            situation("no expiry", 30_000).lease(Lease::Never),
            Unknown,
            "Too few complete holds were observed",
        ),
        (
            situation("no expiry, within the usual time", 30)
                .lease(Lease::Never)
                .usually_a_minute(9),
            OwnerAlive,
            "Held for 30 s, within the usual time",
        ),
        (
            situation("no expiry, far beyond the usual time", 30_000)
                .lease(Lease::Never)
                .usually_a_minute(9),
            OwnerSilent,
            "Held for 8 h 20 min, far longer than usual",
        ),
        (
            situation("the announced time has passed", 100)
                .format(Format::LegacyTimestamp)
                .expires_in(-40),
            OwnerSilent,
            "The time that the owner announced ended 40 s ago; the key is still there",
        ),
        (
            situation("split", 100).nodes(
                Verdict::Split,
                nodes(vec![holds(1), holds(1), holds(2), holds(2), absent()]),
            ),
            Unknown,
            "Not renewed in",
        ),
        (
            situation("split, the owner renews", 100)
                .renewed(9, 3)
                .nodes(
                    Verdict::Split,
                    nodes(vec![holds(1), holds(1), holds(2), holds(2), absent()]),
                ),
            OwnerAlive,
            "Renews every 10 s",
        ),
        (
            situation("an acquire in progress", 1).nodes(
                Verdict::Partial,
                nodes(vec![holds(1), absent(), absent(), absent(), absent()]),
            ),
            Unknown,
            "Not renewed in 1 s",
        ),
        (
            situation("left over from a failed acquire", 20).nodes(
                Verdict::Partial,
                nodes(vec![holds(1), holds(1), absent(), absent(), absent()]),
            ),
            OwnerSilent,
            "On 2 nodes, the quorum is 3: the owner does not hold the lock",
        ),
        (
            situation("one node is unreachable, the owner renews", 100)
                .renewed(9, 3)
                .nodes(
                    Verdict::Held,
                    nodes(vec![holds(1), holds(1), holds(1), holds(1), unreachable()]),
                ),
            OwnerAlive,
            "Renews every 10 s",
        ),
        (
            situation("a quorum is unreachable, renewals are missing", 100)
                .renewed(9, 25)
                .nodes(
                    Verdict::Unknown,
                    nodes(vec![
                        holds(1),
                        holds(1),
                        unreachable(),
                        unreachable(),
                        unreachable(),
                    ]),
                ),
            Unknown,
            "Missed 2 renewals",
        ),
        (
            situation("all nodes are unreachable", 100)
                .renewed(9, 3)
                .nodes(
                    Verdict::Unknown,
                    nodes(vec![unreachable(), unreachable(), unreachable()]),
                ),
            Unknown,
            "Renews every 10 s",
        ),
        (
            situation("a renewing holder of a semaphore", 100).shared_with_renewing(3),
            OwnerAlive,
            "Renews every 10 s; last renewal 3 s ago (5 in total)",
        ),
        (
            situation("a silent holder of a semaphore", 100).shared_with_renewing(28),
            OwnerSilent,
            "Missed 2 renewals",
        ),
        (
            situation("ZooKeeper, session open", 100)
                .format(Format::Curator)
                .lease(Lease::Session),
            OwnerAlive,
            "Its ZooKeeper session is open",
        ),
        (
            situation("ZooKeeper, session disconnected", 100)
                .format(Format::Curator)
                .expires_in(8),
            OwnerSilent,
            "No client is connected to its ZooKeeper session, which ends in 8 s",
        ),
        (
            situation("etcd, lease renewed", 100)
                .format(Format::EtcdMutex)
                .renewed(9, 3),
            OwnerAlive,
            "Renews every 10 s",
        ),
        (
            situation("etcd, lease never renewed", 40)
                .format(Format::EtcdMutex)
                .expires_in(20),
            OwnerSilent,
            "No keep-alive of the lease in 40 s, although the library sends them; it ends in 20 s",
        ),
        (
            situation("etcd, first renewal not due", 5)
                .format(Format::EtcdMutex)
                .expires_in(55),
            Unknown,
            "Too few complete holds",
        ),
        (
            situation("PostgreSQL, statement running", 100).backend(BackendActivity::Active, 2),
            OwnerAlive,
            "Its database connection is running a statement for 2 s",
        ),
        (
            situation("PostgreSQL, idle connection", 100).backend(BackendActivity::Idle, 90),
            OwnerAlive,
            "Its database connection is idle for 1 min 30 s",
        ),
        (
            situation("PostgreSQL, idle in transaction", 900)
                .backend(BackendActivity::IdleInTransaction, 800),
            Unknown,
            "Its database connection is idle in transaction for 13 min 20 s",
        ),
        (
            situation("PostgreSQL, prepared transaction", 900)
                .format(Format::AdvisoryLock)
                .lease(Lease::Never)
                .holder(HolderState::PreparedTransaction),
            OwnerSilent,
            "A prepared transaction holds it",
        ),
        (
            situation("connected, never renewed", 100).connected(1_000),
            OwnerAlive,
            "3 connections of api-1 (10.0.0.7), last command 3 s ago",
        ),
        (
            situation("connected, far beyond the usual time", 200)
                .connected(0)
                .usually_a_minute(9),
            OwnerAlive,
            "3 connections of api-1",
        ),
        (
            situation("connected, two renewals are missing", 100)
                .renewed(9, 25)
                .connected(0),
            OwnerSilent,
            "Missed 2 renewals",
        ),
        (
            situation("connected without a recent command", 100).connected(90_000),
            Unknown,
            "Not renewed in",
        ),
        (
            situation("not connected to any node", 100).connections_of(
                "10.0.0.7",
                5,
                FoundConnections::None { unnamed: 0 },
            ),
            OwnerSilent,
            "No connection of 10.0.0.7 on 5 of 5 nodes, listed 2 s ago",
        ),
        (
            situation("not connected under its name", 100)
                .connections(5, FoundConnections::None { unnamed: 0 }),
            Unknown,
            "Not renewed in",
        ),
        (
            situation("not connected, but renewing", 100)
                .renewed(9, 3)
                .connections_of("10.0.0.7", 5, FoundConnections::None { unnamed: 0 }),
            OwnerAlive,
            "Renews every 10 s",
        ),
        (
            situation("not connected, within the usual time", 30)
                .connections_of("10.0.0.7", 5, FoundConnections::None { unnamed: 0 })
                .usually_a_minute(9),
            OwnerAlive,
            "Held for 30 s, within the usual time",
        ),
        (
            situation("not connected to the nodes that reply", 100).connections_of(
                "10.0.0.7",
                3,
                FoundConnections::None { unnamed: 0 },
            ),
            Unknown,
            "Not renewed in",
        ),
        (
            situation("not recognised among connections without a name", 100)
                .connections(5, FoundConnections::None { unnamed: 7 }),
            Unknown,
            "Not renewed in",
        ),
        (
            situation("several clients with the name", 100).connections(
                5,
                FoundConnections::Ambiguous {
                    count: 9,
                    addresses: vec!["10.0.0.7".to_owned()],
                    address_count: 4,
                },
            ),
            Unknown,
            "Not renewed in",
        ),
        (
            situation("connections may not be listed", 100)
                .connections(0, FoundConnections::Denied),
            Unknown,
            "Not renewed in",
        ),
        (
            situation("a lock that the console renews", 100)
                .holder(HolderState::ConsoleHold { auto_renew: true }),
            OwnerAlive,
            "This console renews it for a client",
        ),
        (
            situation("a lock of the console without auto-renewal", 100)
                .holder(HolderState::ConsoleHold { auto_renew: false }),
            Unknown,
            "It was acquired through this console, without auto-renewal",
        ),
    ]
}

#[test]
fn the_level_follows_from_the_strongest_fact_in_every_situation() {
    let situations = situations();
    assert!(situations.len() >= 25);
    for (situation, level, fact) in situations {
        let advice = situation.advice();
        let first = advice.reasons[0].to_string();
        assert_eq!(
            advice.level, level,
            "{}: {:#?}",
            situation.name, advice.reasons
        );
        assert!(first.starts_with(fact), "{}: {first}", situation.name);
    }
}

#[test]
fn no_text_says_that_a_release_is_safe() {
    for (situation, ..) in situations() {
        let advice = situation.advice();
        let mut texts: Vec<String> = advice.reasons.iter().map(ToString::to_string).collect();
        texts.extend(advice.alternatives.iter().map(ToString::to_string));
        texts.extend([
            advice.level.to_string(),
            advice.demand.to_string(),
            advice.end.to_string(),
            serde_json::to_string(&advice).unwrap(),
        ]);
        for text in texts {
            assert!(!text.to_lowercase().contains("safe"), "{text}");
            assert!(!text.ends_with('.'), "{text}");
        }
    }
}

#[test]
fn every_fact_about_nodes_and_owners_is_listed() {
    let reasons = |name: &str| {
        let mut all = situations().into_iter();
        let found = all.find(|(situation, ..)| situation.name == name);
        found.unwrap().0.advice().reasons
    };
    let split = reasons("split");
    assert!(split.contains(&AdviceReason::Split { owners: 1 }));
    assert!(split.contains(&AdviceReason::BelowQuorum {
        nodes: 2,
        quorum: 3
    }));
    let down = reasons("one node is unreachable, the owner renews");
    assert!(down.contains(&AdviceReason::NodesUnreachable {
        nodes: vec!["e".to_owned()],
        total: 5,
        age_ms: 0
    }));
    let texts = |name: &str| {
        let texts = reasons(name).into_iter().map(|reason| reason.to_string());
        texts.collect::<Vec<String>>().join("\n")
    };
    for (name, text) in [
        (
            "not recognised among connections without a name",
            "No connection of api-1 on 5 of 5 nodes, listed 2 s ago; 7 connections without a name could belong to it",
        ),
        (
            "not connected under its name",
            "No connection of api-1 on 5 of 5 nodes, listed 2 s ago; its clients can have another name",
        ),
        (
            "several clients with the name",
            "Ambiguous: 9 connections from 4 addresses match api-1 (10.0.0.7), listed 2 s ago",
        ),
        (
            "connections may not be listed",
            "needs the permission +client|list",
        ),
    ] {
        let texts = texts(name);
        assert!(texts.contains(text), "{texts}");
    }
    let shared = reasons("a renewing holder of a semaphore");
    assert!(shared.contains(&AdviceReason::Shared { owners: 2 }));
}

#[test]
fn the_next_renewal_and_the_end_follow_from_the_renewals() {
    let advice = situation("", 100).renewed(9, 3).advice();
    assert_eq!(advice.library.next_renewal_in_ms, Some(7_000));
    assert_eq!(
        advice.end.to_string(),
        "in 27 s if the owner stops renewing"
    );
    let late = situation("", 100).renewed(9, 25).advice();
    assert_eq!(late.library.next_renewal_in_ms, None);
    assert_eq!(late.end.to_string(), "in 5 s unless renewed");
    let expired = situation("", 100).renewed(9, 40).advice();
    assert_eq!(
        expired.end.to_string(),
        "the last observed lease has expired"
    );
    let never = situation("", 100).lease(Lease::Never).advice();
    assert_eq!(never.end, LockEnd::Never);
}

#[test]
fn the_least_disruptive_alternative_is_first() {
    let instead = |situation: Situation| {
        let advice = situation.advice();
        let texts = advice.alternatives.iter().map(ToString::to_string);
        texts.collect::<Vec<_>>()
    };
    assert_eq!(
        instead(situation("", 30).usually_a_minute(9)),
        [
            "Wait: it is usually released within 30 s",
            "Wait 30 s until it expires",
            "Stop the process of api-1; the lock then ends within 1 min",
        ]
    );
    assert_eq!(
        instead(situation("", 100).renewed(9, 25)),
        [
            "Wait 5 s until it expires",
            "Check that the process of api-1 has ended before the release",
        ]
    );
    assert_eq!(
        instead(situation("", 100).format(Format::Bullmq).renewed(9, 3)),
        [
            "Fail or move the job in its queue",
            "Stop the process of api-1; the lock then ends within 30 s",
        ]
    );
    let own = situation("", 100).holder(HolderState::ConsoleHold { auto_renew: true });
    assert_eq!(own.advice().alternatives[0], Alternative::ReleaseWithToken);
}

#[test]
fn waiters_and_attempts_are_counted() {
    let waiter = |n: u8, since_s: i64| Waiter {
        queue: WaitQueue::Service,
        label: None,
        fingerprint: owner(n).fingerprint,
        waiting_since: Some(NOW.plus_millis(-since_s * 1_000)),
        expires_at: None,
        held_locks: Vec::new(),
        deadlock: false,
    };
    let mut contended = situation("", 100);
    contended.lock.evidence = vec![Evidence {
        kind: "idle-touch".to_owned(),
        value: 36,
        window_ms: 60_000,
    }];
    let queue = BlockingLock {
        lock: LockId {
            group: "orders".into(),
            key: "lock:a".into(),
        },
        owners: Vec::new(),
        held_since: None,
        waiters: vec![waiter(7, 12), waiter(8, 3)],
        waiter_count: 2,
        blocked_waiter_count: 0,
        depth: 0,
        deadlock: false,
    };
    let advice = ReleaseAdvice::assess(&AdviceInputs {
        queue: Some(&queue),
        ..contended.inputs()
    });
    assert_eq!(
        advice.demand.to_string(),
        "2 clients waiting, the longest for 12 s; contended 36 of the last 60 s · OBJECT IDLETIME"
    );
    let quiet = situation("", 100).advice();
    assert_eq!(quiet.demand.to_string(), "no waiters or attempts observed");
}

#[test]
fn the_flags_use_the_same_thresholds() {
    let late = crate::domain::renewal_stats::late_after_ms(10_000);
    assert_eq!(late, 16_001);
    let stats = situation("", 1).usually_a_minute(9).hold_stats.unwrap();
    let after_ms = i64::try_from(stats.overdue_after_ms().unwrap()).unwrap();
    let at = |held_ms: i64| {
        let mut situation = situation("", 0).usually_a_minute(9);
        situation.lock.acquired_at = NOW.plus_millis(-held_ms);
        situation.advice().level
    };
    assert_eq!((at(after_ms), at(after_ms + 1)), (Unknown, OwnerSilent));
}
