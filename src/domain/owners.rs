//! Who holds what: the locks of each host or process added up, as far as owners' labels tell them apart.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::text::contains;
use super::{Confidence, Flag, Lock, LockId, Timestamp};

/// So many rows are told at most.
pub const MOST_ROWS: usize = 500;

/// So many locks of a row are named.
pub const MOST_NAMED: usize = 20;

/// What makes one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OwnersBy {
    /// The host, or whatever else stands before process and thread.
    #[default]
    Host,
    /// The whole label.
    Label,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum OwnersSort {
    /// Those that need attention, then by their oldest hold.
    #[default]
    Attention,
    /// By name.
    Name,
    /// Those with most locks.
    Locks,
    /// Those whose oldest hold is the oldest.
    Oldest,
    /// Those with most locks at risk.
    AtRisk,
}

impl OwnersSort {
    /// The word in the URL.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// Which rows are asked for, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnersAsked {
    /// What makes one row.
    pub by: OwnersBy,
    /// Only rows whose name, or one of whose labels, has this in it, in any case.
    pub text: String,
    /// What comes first.
    pub sort: OwnersSort,
}

/// Who holds what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Owners {
    /// Those with a name, the ones that need attention first, then by their oldest hold.
    pub rows: Vec<OwnerRow>,
    /// How many rows there are, told or not.
    pub total: u32,
    /// Owners whose format carries no label: nobody can tell which of them are one.
    pub unnamed: Option<OwnerRow>,
    /// The server's clock when it was added up.
    pub observed_at: Timestamp,
}

/// One host or process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnerRow {
    /// What it is called; empty for those without a label.
    pub name: String,
    /// How many different labels that are: processes or threads of a host.
    pub labels: u32,
    /// How many locks show it as an owner.
    pub locks: u32,
    /// How many of them a person should look at.
    pub attention: u32,
    /// How many missed a renewal or run out without one (`at-risk`).
    pub at_risk: u32,
    /// Since when the oldest of them is known to be held.
    pub oldest: Timestamp,
    /// The groups that they are in.
    pub groups: Vec<String>,
    /// Some of them: those that need attention first, then the oldest.
    pub named: Vec<LockId>,
}

impl Owners {
    /// Adds up these locks. Possible locks say nothing about anybody.
    pub fn of<'a>(
        locks: impl Iterator<Item = &'a Lock>,
        asked: &OwnersAsked,
        now: Timestamp,
    ) -> Self {
        let mut sums: BTreeMap<&str, Sum<'_>> = BTreeMap::new();
        let mut unnamed = Sum::default();
        for lock in locks.filter(|lock| lock.confidence != Confidence::Possible) {
            let mut named = BTreeSet::new();
            for owner in &lock.owners {
                match owner.label.as_deref() {
                    Some(label) => {
                        let name = match asked.by {
                            OwnersBy::Host => host(label),
                            OwnersBy::Label => label,
                        };
                        let sum = sums.entry(name).or_default();
                        sum.labels.insert(label);
                        // Several owners of one name hold it together: that is one lock all the same.
                        if named.insert(name) {
                            sum.locks.push(lock);
                        }
                    }
                    None if named.insert("") => unnamed.locks.push(lock),
                    None => {}
                }
            }
        }
        let text = asked.text.trim();
        if !text.is_empty() {
            sums.retain(|name, sum| {
                contains(name, text) || sum.labels.iter().any(|label| contains(label, text))
            });
            unnamed.locks.clear();
        }
        let total = u32::try_from(sums.len()).unwrap_or(u32::MAX);
        let mut rows: Vec<OwnerRow> = sums
            .into_iter()
            .map(|(name, sum)| sum.row(name.to_owned()))
            .collect();
        rows.sort_by(|a, b| {
            let first = match asked.sort {
                OwnersSort::Attention => b.attention.cmp(&a.attention),
                OwnersSort::Locks => b.locks.cmp(&a.locks),
                OwnersSort::AtRisk => b.at_risk.cmp(&a.at_risk),
                OwnersSort::Name => a.name.cmp(&b.name),
                OwnersSort::Oldest => a.oldest.cmp(&b.oldest),
            };
            first
                .then(a.oldest.cmp(&b.oldest))
                .then(a.name.cmp(&b.name))
        });
        rows.truncate(MOST_ROWS);
        Self {
            rows,
            total,
            unnamed: (!unnamed.locks.is_empty()).then(|| unnamed.row(String::new())),
            observed_at: now,
        }
    }
}

/// The part of a label that names the machine or the client: what stands before process and thread.
pub fn host(label: &str) -> &str {
    let ends = [" pid ", " thread "].map(|word| label.find(word));
    let end = ends.into_iter().flatten().min().unwrap_or(label.len());
    match label[..end].trim() {
        "" => label,
        host => host,
    }
}

#[derive(Default)]
struct Sum<'a> {
    labels: BTreeSet<&'a str>,
    locks: Vec<&'a Lock>,
}

impl Sum<'_> {
    fn row(mut self, name: String) -> OwnerRow {
        let count = |which: &dyn Fn(&Lock) -> bool| {
            let many = self.locks.iter().filter(|lock| which(lock)).count();
            u32::try_from(many).unwrap_or(u32::MAX)
        };
        let (attention, at_risk) = (
            count(&Lock::needs_attention),
            count(&|lock| lock.has(Flag::AtRisk)),
        );
        let locks = count(&|_| true);
        let groups: BTreeSet<&str> = self
            .locks
            .iter()
            .map(|lock| lock.id.group.as_str())
            .collect();
        let groups = groups.into_iter().map(str::to_owned).collect();
        let oldest = self.locks.iter().map(|lock| lock.acquired_at).min();
        let rank = |lock: &&Lock| (!lock.needs_attention(), lock.acquired_at);
        if self.locks.len() > MOST_NAMED {
            self.locks.select_nth_unstable_by_key(MOST_NAMED, rank);
            self.locks.truncate(MOST_NAMED);
        }
        self.locks.sort_by_key(rank);
        OwnerRow {
            name,
            labels: u32::try_from(self.labels.len()).unwrap_or(u32::MAX),
            locks,
            attention,
            at_risk,
            oldest: oldest.unwrap_or(Timestamp::from_millis(0)),
            groups,
            named: self.locks.iter().map(|lock| lock.id.clone()).collect(),
        }
    }
}

#[cfg(test)]
#[path = "owners_tests.rs"]
mod tests;
