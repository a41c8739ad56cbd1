//! Pure: what several nodes showed of one key becomes one set of answers, or nothing where it is no lock.

use crate::domain::{Answer, Evidence, Format, LockKey, Mode, NodeAnswer, Timestamp};
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
    /// Signs of contention; the observer adds what it knows.
    pub evidence: Vec<Evidence>,
}

/// What a format tells beyond the owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// Which library's layout it has.
    pub format: Format,
    /// One owner at a time, or several.
    pub mode: Mode,
    /// When the owner says it asked for the lock.
    pub claimed_at: Option<Timestamp>,
}

/// Turns a look at `keys` into one entry per key, in order.
pub fn merge(look: Look, keys: &[LockKey], named_by_operator: bool) -> Vec<Entry> {
    let mut entries: Vec<Entry> = keys
        .iter()
        .map(|key| Entry {
            key: key.clone(),
            nodes: Vec::with_capacity(look.nodes.len()),
            told: None,
            restart_hazard: false,
            evidence: Vec::new(),
        })
        .collect();
    for node in look.nodes {
        match node.seen {
            Ok(sightings) => {
                for (entry, sighting) in entries.iter_mut().zip(sightings) {
                    let recognised = sighting
                        .as_ref()
                        .and_then(|sighting| formats::recognise(sighting, named_by_operator));
                    if let Some(told) = recognised.as_ref().map(told) {
                        // Nodes may disagree while owners change; the first answer stands for the row.
                        entry.told.get_or_insert(told);
                        entry.restart_hazard |= node.is_hazard;
                    }
                    entry.nodes.push(NodeAnswer {
                        node: node.node.clone(),
                        answer: answer(recognised),
                    });
                }
            }
            Err(reason) => {
                for entry in &mut entries {
                    let answer = Answer::Unreachable {
                        reason: reason.clone(),
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
        mode: recognised.mode,
        claimed_at: recognised.claimed_at,
    }
}

/// A key that is there but is no lock counts as absent: nobody holds a lock by it.
fn answer(recognised: Option<Recognised>) -> Answer {
    match recognised {
        Some(Recognised { owners, lease, .. }) => match owners.into_iter().next() {
            Some(first) => Answer::Holds {
                owner: first.owner,
                lease,
            },
            None => Answer::Absent,
        },
        None => Answer::Absent,
    }
}
