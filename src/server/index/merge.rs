//! Pure: what several nodes showed of one key becomes one set of answers, or nothing where it is no lock.

use super::history::Expected;
use super::holders::Deadlines;
use crate::domain::{
    Answer, Confidence, Evidence, Fingerprint, Format, LockKey, Mode, NodeAnswer, Timestamp,
};
use crate::server::config::Naming;
use crate::server::formats::{self, Recognised};
use crate::server::nodes::Look;

/// One key of a look, recognised: what each configured node answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: LockKey,
    /// What each configured node answered, in order.
    pub nodes: Vec<NodeAnswer>,
    /// What the format told beyond the owner; nothing where no node shows a lock.
    pub told: Option<Told>,
    /// A node that shows the lock restarted lately, and may have forgotten another.
    pub restart_hazard: bool,
    /// Signs of contention that the nodes show; the observer adds what it knows.
    pub evidence: Vec<Evidence>,
    /// Why touches of this key cannot be told; the observer adds it.
    pub unmeasured: Option<String>,
    /// Until when each owner has it by the value, where the format says so.
    pub(super) deadlines: Deadlines,
    /// How this key is watched; the watcher adds what it knows.
    pub watched: Watched,
    /// What is expected of a hold by those before it; the observer adds what it knows.
    pub(super) expected: Option<Expected>,
    /// Whose lease was renewed through this console, and how often; the observer adds what it knows.
    pub renewed_here: Option<(Fingerprint, u32)>,
}

/// How a key is watched between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watched {
    /// Since when the nodes tell of every change of it; nothing where it is only looked at again and again.
    pub fed_since: Option<Timestamp>,
    /// How many writes a quorum of the nodes told since the last look.
    pub writes: u32,
    /// Changes of owner a minute, where they are too many to look at each.
    pub hand_overs_per_minute: Option<f64>,
}

/// What a format tells beyond the owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// Which library's layout it has.
    pub format: Format,
    /// How sure that is.
    pub confidence: Confidence,
    /// One owner at a time, or several.
    pub mode: Mode,
    /// When the owner says it asked for the lock.
    pub claimed_at: Option<Timestamp>,
    /// Several such locks together may turn out to be a registry's.
    pub may_be_of_a_registry: bool,
}

impl Entry {
    /// The lock turned out to be of another format than it looks like alone.
    pub(super) fn set_format(&mut self, format: Format) {
        if let Some(told) = &mut self.told {
            told.format = format;
        }
        for node in &mut self.nodes {
            let owners = node.answer.owners_mut();
            owners.for_each(|owner| owner.format = format);
        }
    }
}

/// Turns a look at `keys` into one entry per key, in order.
pub fn merge(look: Look, keys: &[LockKey], naming: Naming<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = keys
        .iter()
        .map(|key| Entry {
            key: key.clone(),
            nodes: Vec::with_capacity(look.nodes.len()),
            told: None,
            restart_hazard: false,
            evidence: Vec::new(),
            unmeasured: None,
            deadlines: Deadlines::new(),
            watched: Watched::default(),
            expected: None,
            renewed_here: None,
        })
        .collect();
    for node in look.nodes {
        let places = node.places(keys.len());
        match node.seen {
            Ok(sightings) => {
                for (place, sighting) in places.into_iter().zip(sightings) {
                    let Some(entry) = entries.get_mut(place) else {
                        continue;
                    };
                    let recognised = sighting
                        .as_ref()
                        .and_then(|sighting| formats::recognise_named(sighting, naming));
                    if let Some(told) = recognised.as_ref().map(told) {
                        // Nodes may disagree while owners change; the first answer stands for the row.
                        entry.told.get_or_insert(told);
                        entry.restart_hazard |= node.is_hazard;
                    }
                    for seen in recognised.iter().flat_map(|lock| &lock.owners) {
                        if let Some(until) = seen.until {
                            let own = entry.deadlines.entry(seen.owner.fingerprint.clone());
                            own.or_default().push(until);
                        }
                    }
                    let waiting = recognised.as_ref().and_then(|lock| lock.waiting);
                    queue(&mut entry.evidence, waiting.unwrap_or(0));
                    entry.nodes.push(NodeAnswer {
                        node: node.node.clone(),
                        answer: answer(recognised),
                    });
                }
            }
            Err(missed) => {
                for place in places {
                    let Some(entry) = entries.get_mut(place) else {
                        continue;
                    };
                    let answer = Answer::Unreachable {
                        reason: missed.reason().to_owned(),
                    };
                    entry.nodes.push(NodeAnswer {
                        node: node.node.clone(),
                        answer,
                    });
                }
            }
        }
    }
    entries
}

fn told(recognised: &Recognised) -> Told {
    Told {
        format: recognised.format,
        confidence: recognised.confidence,
        mode: recognised.mode,
        claimed_at: recognised.claimed_at,
        may_be_of_a_registry: recognised.may_be_of_a_registry,
    }
}

/// A key that is there but is no lock counts as absent: nobody holds a lock by it.
fn answer(recognised: Option<Recognised>) -> Answer {
    match recognised {
        Some(Recognised { owners, lease, .. }) => {
            let mut owners = owners.into_iter().map(|seen| seen.owner);
            match owners.next() {
                Some(owner) => Answer::Holds {
                    owner,
                    lease,
                    others: owners.collect(),
                },
                None => Answer::Absent,
            }
        }
        None => Answer::Absent,
    }
}

/// Those who wait on a node, where it keeps them. The same ones may wait on every node: the longest queue counts.
fn queue(evidence: &mut Vec<Evidence>, waiting: u32) {
    let waiting = u64::from(waiting);
    match evidence.first_mut() {
        Some(known) => known.value = known.value.max(waiting),
        None if waiting > 0 => evidence.push(Evidence {
            kind: "queue".to_owned(),
            value: waiting,
            window_ms: 0,
        }),
        None => {}
    }
}
