//! A lock as observed: owner, verdict, flags, lease, and what each node said.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::{
    Confidence, Evidence, Format, Lease, LockId, LockKey, NodeAnswer, Renewals, Timestamp,
};

/// The first 16 hex digits of SHA-256 over an owner's bytes: what people see, compare and type. Not a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[schema(value_type = String, example = "d3c19a0b77e04fd2")]
pub struct Fingerprint(String);

impl Fingerprint {
    /// A fingerprint from its hex digits; nothing unless there are exactly 16.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| Self(text.to_ascii_lowercase()))
    }

    /// The 16 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who a key's value says holds the lock. Claimed, not proven; never the token itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct Owner {
    /// What tells this owner from another.
    pub fingerprint: Fingerprint,
    /// The readable part: host, process, thread, time, where the format carries one.
    pub label: Option<String>,
    /// The layout that the owner was read from.
    pub format: Format,
    /// How often the owner holds the lock at once (Redisson counts re-entries); absent where the format has no count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<u32>,
}

/// Whether one owner or several may hold the lock at once.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One owner at a time.
    Exclusive,
    /// Several owners at once (readers, permits).
    Shared,
}

/// What the nodes' answers add up to. Never "free": an observer cannot prove that.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// One owner on at least a quorum of all configured nodes.
    Held,
    /// Nobody reaches the quorum and no unreachable node could change that.
    Partial,
    /// Two or more owners at once, none of them seen with a quorum, and no unreachable node could change that.
    Split,
    /// Unreachable nodes could make it held.
    Unknown,
}

impl Verdict {
    /// The word in the API, in filters and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// What needs attention about a lock, on top of its verdict.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[derive(IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Flag {
    /// The key has no TTL and the value names no end: only a release ends it.
    NoExpiry,
    /// It renews and missed its beat, or under a fifth of its lease is left and it is usually held for longer than its lease.
    AtRisk,
    /// Held past its own time: a legacy lock whose value lies in the past, or far longer than this lock's usual hold
    /// ([`Usual::overdue_after_ms`](super::Usual::overdue_after_ms)).
    Overdue,
    /// Renewed past the configured longest hold.
    Endless,
    /// Others want it too; the evidence says how that is known.
    Contended,
    /// A second owner stands beside the one that has the quorum, or nobody has it.
    Split,
    /// The owner is on fewer nodes than the quorum.
    Fragment,
    /// A node that counts restarted, without safe persistence, less than the longest lease ago.
    RestartHazard,
}

impl Flag {
    /// The word in the API, in filters and on screen.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// A lock as observed on the nodes of its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Lock {
    /// Group and name.
    #[serde(flatten)]
    pub id: LockId,
    /// Which library's layout it has.
    pub format: Format,
    /// How sure it is that this is a lock, and of that layout.
    pub confidence: Confidence,
    /// One owner at a time, or several.
    pub mode: Mode,
    /// What the nodes' answers add up to.
    pub verdict: Verdict,
    /// What needs attention, in the order of [`Flag`].
    pub flags: Vec<Flag>,
    /// The owner with a quorum; null where nobody is seen with one.
    pub owner: Option<Owner>,
    /// Every owner seen, the one on most nodes first, among equals the one that is known for longest; the last known ones where
    /// no node answers.
    pub owners: Vec<Owner>,
    /// For a held lock until its quorum is lost: the Q-th largest among the owner's nodes. Otherwise until the last remains are gone.
    #[serde(flatten)]
    pub lease: Lease,
    /// Since when this owner is known to hold it. Where several are seen, since when the first of `owners` is.
    pub acquired_at: Timestamp,
    /// `first-seen`: an earlier start cannot be excluded; `claimed`: by the owner's own time stamp.
    pub acquired_at_is: AcquiredAt,
    /// When a node last showed it.
    pub observed_at: Timestamp,
    /// What each configured node answered.
    pub nodes: Vec<NodeAnswer>,
    /// Renewals seen since this owner was first seen.
    pub renewals: Renewals,
    /// Where several owners are seen: what is known of each alone, in the order of `owners`. The lock's own figures
    /// (`acquired_at`, `renewals`) are those of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// Signs of contention; an empty list means "not observed", never "none".
    pub evidence: Vec<Evidence>,
    /// Why touches of this very lock cannot be measured (`idle-touch`); null where they can, or where no lock's can: then
    /// each node says why.
    pub unmeasured: Option<String>,
}

/// One of several owners of a lock, with what is known of it alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Holder {
    /// Which of the owners.
    pub fingerprint: Fingerprint,
    /// Since when it is known to hold it.
    pub acquired_at: Timestamp,
    /// What that means.
    pub acquired_at_is: AcquiredAt,
    /// Until when it holds it; null where that has no end. Where the format gives all of them one lease, until that ends.
    pub expires_at: Option<Timestamp>,
    /// Its renewals; none are counted where all have one lease, because nobody knows who renewed.
    pub renewals: Renewals,
}

impl Holder {
    /// The same by a clock that was set by so many milliseconds.
    pub fn shift(&mut self, ms: i64) {
        // What an owner claims is by its own clock.
        if self.acquired_at_is == AcquiredAt::FirstSeen {
            self.acquired_at = self.acquired_at.plus_millis(ms);
        }
        self.expires_at = self.expires_at.map(|at| at.plus_millis(ms));
        self.renewals.last_at = self.renewals.last_at.map(|at| at.plus_millis(ms));
    }
}

/// What `acquired_at` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcquiredAt {
    /// The moment this console first saw this owner; or the end of the lock's own time, where that was over before.
    FirstSeen,
    /// The owner's own time stamp (`ShedLock`, UUID version 1): when it says it asked for the lock.
    Claimed,
}

impl Lock {
    /// The lock's name.
    pub fn key(&self) -> &LockKey {
        &self.id.key
    }

    /// The same lock, known to be of another format than it looks like alone.
    pub fn of_format(&self, format: Format) -> Self {
        let mut lock = self.clone();
        lock.format = format;
        let of_nodes = lock
            .nodes
            .iter_mut()
            .flat_map(|node| node.answer.owners_mut());
        let owners = lock.owners.iter_mut().chain(&mut lock.owner);
        owners
            .chain(of_nodes)
            .for_each(|owner| owner.format = format);
        lock
    }

    /// Whether the flag is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// What is known of one of its owners alone, where several are seen.
    pub fn holder(&self, fingerprint: &Fingerprint) -> Option<&Holder> {
        let mut holders = self.holders.iter();
        holders.find(|holder| holder.fingerprint == *fingerprint)
    }

    /// How many nodes show it.
    pub fn nodes_held(&self) -> usize {
        let nodes = self.nodes.iter();
        nodes.filter(|node| node.answer.owner().is_some()).count()
    }

    /// Whether an owner's label contains this, in any case, or its fingerprint begins with it.
    pub fn is_owned_by(&self, part: &str) -> bool {
        let begins = |text: &str| {
            let (text, part) = (text.as_bytes(), part.as_bytes());
            text.len() >= part.len() && text[..part.len()].eq_ignore_ascii_case(part)
        };
        self.owners.iter().any(|owner| {
            let label = owner.label.as_deref();
            label.is_some_and(|label| super::text::contains(label, part))
                || begins(owner.fingerprint.as_str())
        })
    }

    /// How much this lock needs a person: higher first in the default order.
    pub fn attention(&self) -> u8 {
        let of_verdict = match self.verdict {
            Verdict::Split => 7,
            Verdict::Unknown => 4,
            Verdict::Partial => 3,
            Verdict::Held => 0,
        };
        let of_flag = |flag: &Flag| match flag {
            Flag::Split => 7,
            Flag::NoExpiry => 6,
            Flag::Overdue | Flag::Endless => 5,
            Flag::AtRisk => 2,
            Flag::RestartHazard => 4,
            Flag::Contended | Flag::Fragment => 1,
        };
        self.flags
            .iter()
            .map(of_flag)
            .max()
            .unwrap_or(0)
            .max(of_verdict)
    }

    /// Whether a person should look at it: what the "needs attention" count counts.
    pub fn needs_attention(&self) -> bool {
        self.confidence != Confidence::Possible && self.attention() >= 3
    }

    /// The verdict in words that a tired person understands.
    pub fn sentence(&self) -> String {
        let asked = self.nodes.len();
        let holding = |owner: &Owner| {
            self.nodes
                .iter()
                .filter(|node| node.answer.shows(owner))
                .count()
        };
        let silent = self
            .nodes
            .iter()
            .filter(|node| !node.answer.is_answer())
            .count();
        let quorum = super::quorum::majority(asked);
        let unreachable = match silent {
            0 => String::new(),
            1 => " One node cannot be asked.".to_owned(),
            n => format!(" {n} nodes cannot be asked."),
        };
        match (self.verdict, &self.owner) {
            (Verdict::Held, Some(owner)) if asked == 1 => match self.owners.len() {
                0 | 1 => format!("Held by {}.", owner.name()),
                n => format!("Held by {} and {} more.", owner.name(), n - 1),
            },
            (Verdict::Held, Some(owner)) => {
                format!(
                    "Held by {} on {} of {asked} nodes; {quorum} make a quorum.{unreachable}",
                    owner.name(),
                    holding(owner)
                )
            }
            (Verdict::Split, _) => {
                let each: Vec<String> = self
                    .owners
                    .iter()
                    .map(|owner| format!("{} on {}", owner.name(), holding(owner)))
                    .collect();
                format!(
                    "Split: {} of {asked} nodes. Nobody is seen with the quorum of {quorum}.{unreachable}",
                    each.join(", ")
                )
            }
            (Verdict::Partial, _) => {
                let held = self.owners.first().map_or(0, holding);
                format!(
                    "On {held} of {asked} nodes only; a quorum takes {quorum}. Nobody holds it: the remains of a failed or dying acquire.{unreachable}"
                )
            }
            (Verdict::Unknown, _) if silent == asked => match self.owners.first() {
                Some(owner) => format!("No node can be asked. Last seen with {}.", owner.name()),
                None => "No node can be asked.".to_owned(),
            },
            (Verdict::Unknown, _) | (Verdict::Held, None) => {
                let held = self.owners.first().map_or(0, holding);
                format!(
                    "Seen on {held} of {asked} nodes; those that cannot be asked could make it held ({quorum} needed).{unreachable}"
                )
            }
        }
    }
}

impl Owner {
    /// What to call this owner: its label, else the start of its fingerprint.
    pub fn name(&self) -> String {
        self.label
            .clone()
            .unwrap_or_else(|| format!("owner {}", &self.fingerprint.as_str()[..8]))
    }
}
