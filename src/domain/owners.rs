//! The locks per host or process, according to the labels of their owners.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use super::text::contains;
use super::{Confidence, Flag, Lock, LockId, Timestamp};

/// The maximum number of rows in a response.
pub const MAX_ROWS: usize = 500;

/// The maximum number of locks that are listed per row.
pub const MAX_LISTED_LOCKS: usize = 20;

/// How owners are grouped into rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OwnerGrouping {
    /// By the part of the label before process and thread, which is usually the host.
    #[default]
    Host,
    /// By the whole label.
    Label,
}

/// The sort order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum OwnerSort {
    /// By the number of locks that need attention, then by the oldest hold.
    #[default]
    Attention,
    /// By name.
    Name,
    /// By the number of locks.
    Locks,
    /// By the oldest hold.
    Oldest,
    /// By the number of locks at risk.
    AtRisk,
}

impl OwnerSort {
    /// The name in URLs.
    pub fn slug(self) -> &'static str {
        self.into()
    }
}

/// The grouping, filter and order of an owner list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerQuery {
    /// How owners are grouped into rows.
    pub group_by: OwnerGrouping,
    /// A case-insensitive substring of the row's name or of one of its labels.
    pub text: String,
    /// The order of the rows.
    pub sort: OwnerSort,
}

/// Owners and the locks that they hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnerList {
    /// The owners with a label, in the requested order; at most 500.
    pub rows: Vec<OwnerRow>,
    /// The total number of rows, including those that are not listed.
    pub total: u32,
    /// The locks of owners without a label; null if there are none.
    pub unlabeled: Option<OwnerRow>,
    /// The server's clock when the list was created.
    pub observed_at: Timestamp,
}

/// A host or process with its locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OwnerRow {
    /// The name; empty for owners without a label.
    pub name: String,
    /// The number of distinct labels: the processes or threads of a host.
    pub label_count: u32,
    /// The number of locks that it holds.
    pub lock_count: u32,
    /// The number of locks that need attention.
    pub attention: u32,
    /// The number of locks with the flag `at-risk`.
    pub at_risk: u32,
    /// `acquired_at` of the lock that has been held the longest.
    pub oldest_acquired_at: Timestamp,
    /// The groups of the locks.
    pub groups: Vec<String>,
    /// Some of the locks: those that need attention first, then the oldest.
    pub top_locks: Vec<LockId>,
}

impl OwnerList {
    /// Groups the owners of these locks. Possible locks are ignored.
    pub fn from_locks<'a>(
        locks: impl Iterator<Item = &'a Lock>,
        query: &OwnerQuery,
        now: Timestamp,
    ) -> Self {
        let mut totals: BTreeMap<&str, OwnerTotals<'_>> = BTreeMap::new();
        let mut unlabeled = OwnerTotals::default();
        for lock in locks.filter(|lock| lock.confidence != Confidence::Possible) {
            let mut counted = BTreeSet::new();
            for owner in &lock.owners {
                match owner.label.as_deref() {
                    Some(label) => {
                        let name = match query.group_by {
                            OwnerGrouping::Host => host(label),
                            OwnerGrouping::Label => label,
                        };
                        let total = totals.entry(name).or_default();
                        total.labels.insert(label);
                        // Several owners of a shared lock can have the same name. The lock counts
                        // once.
                        if counted.insert(name) {
                            total.locks.push(lock);
                        }
                    }
                    None if counted.insert("") => unlabeled.locks.push(lock),
                    None => {}
                }
            }
        }
        let text = query.text.trim();
        if !text.is_empty() {
            totals.retain(|name, total| {
                contains(name, text) || total.labels.iter().any(|label| contains(label, text))
            });
            // Owners without a label have no name that could match.
            unlabeled.locks.clear();
        }
        let total = u32::try_from(totals.len()).unwrap_or(u32::MAX);
        let mut rows: Vec<OwnerRow> = totals
            .into_iter()
            .map(|(name, total)| total.into_row(name.to_owned()))
            .collect();
        rows.sort_by(|a, b| {
            let first = match query.sort {
                OwnerSort::Attention => b.attention.cmp(&a.attention),
                OwnerSort::Locks => b.lock_count.cmp(&a.lock_count),
                OwnerSort::AtRisk => b.at_risk.cmp(&a.at_risk),
                OwnerSort::Name => a.name.cmp(&b.name),
                OwnerSort::Oldest => a.oldest_acquired_at.cmp(&b.oldest_acquired_at),
            };
            first
                .then(a.oldest_acquired_at.cmp(&b.oldest_acquired_at))
                .then(a.name.cmp(&b.name))
        });
        rows.truncate(MAX_ROWS);
        Self {
            rows,
            total,
            unlabeled: (!unlabeled.locks.is_empty()).then(|| unlabeled.into_row(String::new())),
            observed_at: now,
        }
    }
}

/// What can follow the host in a label: see [`host`].
pub const HOST_ENDS: [char; 4] = [' ', '/', ':', '|'];

/// The part of a label before process and thread, which names the machine or the client:
/// `web-2 pid 7 thread 9`, and `billing@10.0.0.5/4711` for a database connection.
///
/// Clients of all lock services write such labels, each in its own form. A form that can mean
/// something else is not split: `jobs:3` may be the third of some jobs.
pub fn host(label: &str) -> &str {
    // The holds of a client that acquires through the console have this in their labels in Redis
    // only.
    let label = label.strip_suffix(" (console)").unwrap_or(label);
    let ends = [" pid ", " thread "].map(|word| label.find(word));
    let end = ends.into_iter().flatten().min();
    let host = end.map_or_else(|| host_before_number(label), |end| &label[..end]);
    match host.trim() {
        "" => label,
        host => host,
    }
}

/// The address of the container that a label names by its MAC address. Docker derives one from the
/// other on its bridge networks: the container with `02:42:ac:11:00:07` has the address 172.17.0.7.
pub fn container_address(label: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 6];
    let mut parts = host(label).split(':');
    for octet in &mut octets {
        *octet = parts
            .next()
            .filter(|part| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|part| u8::from_str_radix(part, 16).ok())?;
    }
    let [0x02, 0x42, a, b, c, d] = octets else {
        return None;
    };
    parts.next().is_none().then(|| Ipv4Addr::new(a, b, c, d))
}

/// The part of a label before a process id, a port, or the address of the host.
fn host_before_number(label: &str) -> &str {
    // Liquibase.
    if let Some((host, address)) = label.rsplit_once(" (")
        && let Some(address) = address.strip_suffix(')')
        && address.parse::<IpAddr>().is_ok()
    {
        return host;
    }
    let before = label.trim_end_matches(|c: char| c.is_ascii_digit());
    if before.len() == label.len() {
        return label;
    }
    let is_end = |c: char| HOST_ENDS.contains(&c);
    let word = before.strip_suffix([':', '=', '-']).unwrap_or(before);
    if let Some(host) = word
        .strip_suffix("pid")
        .and_then(|it| it.strip_suffix(is_end))
    {
        return host;
    }
    if let Some(host) = before.strip_suffix('/') {
        return host;
    }
    let host = before.strip_suffix([':', '|']);
    host.filter(|host| is_numbered_host(host)).unwrap_or(label)
}

/// Whether a text is the address of a host, or a name as only hosts have it: with a number of its own,
/// or with a domain. A number after it is a process id or a port.
fn is_numbered_host(text: &str) -> bool {
    let in_brackets = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    if in_brackets.is_some_and(|text| text.parse::<Ipv6Addr>().is_ok()) {
        return true;
    }
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_name_char)
        && text.contains(|c: char| c == '.' || c.is_ascii_digit());
    is_name || text.parse::<Ipv4Addr>().is_ok()
}

#[derive(Default)]
struct OwnerTotals<'a> {
    labels: BTreeSet<&'a str>,
    locks: Vec<&'a Lock>,
}

impl OwnerTotals<'_> {
    fn into_row(mut self, name: String) -> OwnerRow {
        let count = |predicate: &dyn Fn(&Lock) -> bool| {
            let count = self.locks.iter().filter(|lock| predicate(lock)).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        let (attention, at_risk) = (
            count(&Lock::needs_attention),
            count(&|lock| lock.has_flag(Flag::AtRisk)),
        );
        let lock_count = count(&|_| true);
        let groups: BTreeSet<&str> = self
            .locks
            .iter()
            .map(|lock| lock.id.group.as_str())
            .collect();
        let groups = groups.into_iter().map(str::to_owned).collect();
        let oldest = self.locks.iter().map(|lock| lock.acquired_at).min();
        let rank = |lock: &&Lock| (!lock.needs_attention(), lock.acquired_at);
        // Only the listed locks are sorted. Selecting them is O(n).
        if self.locks.len() > MAX_LISTED_LOCKS {
            self.locks
                .select_nth_unstable_by_key(MAX_LISTED_LOCKS, rank);
            self.locks.truncate(MAX_LISTED_LOCKS);
        }
        self.locks.sort_by_key(rank);
        OwnerRow {
            name,
            label_count: u32::try_from(self.labels.len()).unwrap_or(u32::MAX),
            lock_count,
            attention,
            at_risk,
            oldest_acquired_at: oldest.unwrap_or(Timestamp::from_millis(0)),
            groups,
            top_locks: self.locks.iter().map(|lock| lock.id.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
