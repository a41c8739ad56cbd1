//! A log of critical sections and its check: sections of one lock never overlap and fencing tokens
//! increase.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// One pass of one client through the critical section that a lock guards.
#[derive(Clone, Debug)]
pub struct Section {
    pub lock: String,
    pub client: usize,
    /// The fencing token, if the group issues them.
    pub fence: Option<u64>,
    pub entered_at: Instant,
    /// When the client left or its lease ended, whichever was first.
    pub left_at: Instant,
}

/// A violation of mutual exclusion or of the order of fencing tokens.
#[derive(Clone, Debug)]
pub enum SectionViolation {
    /// Two clients were inside at the same time.
    Overlap(Section, Section),
    /// The later section does not have a larger token than the earlier one.
    TokenNotIncreasing(Section, Section),
    /// The section has no token although other sections of the same lock have one.
    MissingToken(Section),
}

impl fmt::Display for SectionViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(first, second) => {
                let (a, b) = (
                    second.entered_at - first.entered_at,
                    first.left_at - first.entered_at,
                );
                write!(
                    f,
                    "{}: client {} entered {a:?} after client {}, which was inside for {b:?} (tokens {:?}, {:?})",
                    first.lock, second.client, first.client, second.fence, first.fence
                )
            }
            Self::TokenNotIncreasing(first, second) => write!(
                f,
                "{}: client {} has the token {:?} after client {} with {:?}",
                first.lock, second.client, second.fence, first.client, first.fence
            ),
            Self::MissingToken(section) => {
                write!(
                    f,
                    "{}: client {} has no token",
                    section.lock, section.client
                )
            }
        }
    }
}

/// The critical sections of all clients of one test.
#[derive(Default)]
pub struct SectionLog(Mutex<Vec<Section>>);

/// A client that is inside the section. The section is recorded when this is dropped.
pub struct SectionGuard<'a> {
    sections: &'a SectionLog,
    section: Section,
    valid_until: Instant,
}

impl SectionLog {
    /// Enters the section with a lease that is valid until `valid_until`. Returns `None` if the
    /// lease has ended already.
    pub fn enter(
        &self,
        lock: &str,
        client: usize,
        fence: Option<u64>,
        valid_until: Instant,
    ) -> Option<SectionGuard<'_>> {
        let entered_at = Instant::now();
        let lock = lock.to_owned();
        let section = Section {
            lock,
            client,
            fence,
            entered_at,
            left_at: entered_at,
        };
        (entered_at < valid_until).then(|| SectionGuard {
            sections: self,
            section,
            valid_until,
        })
    }

    /// All sections recorded so far.
    pub fn all(&self) -> Vec<Section> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The number of recorded sections of each client.
    pub fn turns(&self) -> BTreeMap<usize, usize> {
        let mut turns = BTreeMap::new();
        for section in self.all() {
            *turns.entry(section.client).or_default() += 1;
        }
        turns
    }
}

impl SectionGuard<'_> {
    /// The end of the client's lease.
    pub fn valid_until(&self) -> Instant {
        self.valid_until
    }

    /// Records that the lease was extended.
    pub fn set_valid_until(&mut self, valid_until: Instant) {
        self.valid_until = valid_until;
    }
}

impl Drop for SectionGuard<'_> {
    fn drop(&mut self) {
        self.section.left_at = Instant::now().min(self.valid_until);
        let mut all = self
            .sections
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(self.section.clone());
    }
}

/// Panics with all violations if there are any.
pub fn assert_mutual_exclusion(sections: &[Section], context: &str) {
    let found: Vec<String> = violations(sections)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        found.is_empty(),
        "{context}: {} violations\n{}",
        found.len(),
        found.join("\n")
    );
}

/// All violations in these sections.
pub fn violations(sections: &[Section]) -> Vec<SectionViolation> {
    let mut sections_by_lock: BTreeMap<&str, Vec<&Section>> = BTreeMap::new();
    for section in sections {
        sections_by_lock
            .entry(&section.lock)
            .or_default()
            .push(section);
    }
    let mut violations = Vec::new();
    for mut sections in sections_by_lock.into_values() {
        sections.sort_by_key(|section| section.entered_at);
        let fenced = sections.iter().any(|section| section.fence.is_some());
        // Of the earlier sections, the one that ends last and the one with the largest token:
        // comparing with these two finds every violation in one pass.
        let mut longest: Option<&Section> = None;
        let mut largest: Option<&Section> = None;
        for section in sections {
            if let Some(other) = longest.filter(|other| section.entered_at < other.left_at) {
                violations.push(SectionViolation::Overlap(other.clone(), section.clone()));
            }
            if longest.is_none_or(|other| section.left_at > other.left_at) {
                longest = Some(section);
            }
            if fenced && section.fence.is_none() {
                violations.push(SectionViolation::MissingToken(section.clone()));
            } else if let Some(other) =
                largest.filter(|other| section.fence <= other.fence && fenced)
            {
                violations.push(SectionViolation::TokenNotIncreasing(
                    other.clone(),
                    section.clone(),
                ));
            } else {
                largest = Some(section);
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Sections of one lock from (entered ms, left ms, token).
    fn sections_at(times: &[(u64, u64, Option<u64>)]) -> Vec<Section> {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let section =
            |(client, &(entered, left, fence)): (usize, &(u64, u64, Option<u64>))| Section {
                lock: "lock:a".to_owned(),
                client,
                fence,
                entered_at: at(entered),
                left_at: at(left),
            };
        times.iter().enumerate().map(section).collect()
    }

    #[test]
    fn consecutive_sections_with_increasing_tokens_are_valid() {
        let found = violations(&sections_at(&[
            (5, 9, Some(7)),
            (0, 5, Some(3)),
            (20, 21, Some(8)),
        ]));
        assert!(found.is_empty(), "{found:?}");
        let unfenced = violations(&sections_at(&[(0, 5, None), (5, 9, None)]));
        assert!(unfenced.is_empty(), "{unfenced:?}");
    }

    #[test]
    fn an_overlap_with_a_much_earlier_section_is_found() {
        let found = violations(&sections_at(&[
            (0, 100, None),
            (10, 11, None),
            (50, 60, None),
        ]));
        let clients: Vec<_> = found
            .iter()
            .map(|violation| match violation {
                SectionViolation::Overlap(a, b) => (a.client, b.client),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            clients,
            [(0, 1), (0, 2)].map(|(a, b): (usize, usize)| (a, b))
        );
    }

    #[test]
    #[should_panic(
        expected = "seed 7: 1 violations\nlock:a: client 1 entered 1ms after client 0, which was inside for 2ms"
    )]
    fn an_overlap_panics() {
        assert_mutual_exclusion(&sections_at(&[(0, 2, None), (1, 3, None)]), "seed 7");
    }

    #[test]
    fn sections_of_different_locks_may_overlap() {
        let mut sections = sections_at(&[(0, 10, Some(9)), (5, 15, Some(3))]);
        assert_eq!(violations(&sections).len(), 2);
        sections[1].lock = "lock:b".to_owned();
        assert!(violations(&sections).is_empty());
    }

    #[test]
    fn a_decreasing_repeated_or_missing_token_is_found() {
        let decreasing = violations(&sections_at(&[
            (0, 1, Some(5)),
            (2, 3, Some(4)),
            (4, 5, Some(6)),
        ]));
        assert!(
            matches!(&decreasing[..], [SectionViolation::TokenNotIncreasing(..)]),
            "{decreasing:?}"
        );
        let repeated = violations(&sections_at(&[(0, 1, Some(5)), (2, 3, Some(5))]));
        assert!(
            matches!(&repeated[..], [SectionViolation::TokenNotIncreasing(..)]),
            "{repeated:?}"
        );
        let below_the_largest = violations(&sections_at(&[
            (0, 1, Some(5)),
            (2, 3, Some(2)),
            (4, 5, Some(3)),
        ]));
        assert_eq!(below_the_largest.len(), 2);
        let missing = violations(&sections_at(&[
            (0, 1, Some(5)),
            (2, 3, None),
            (4, 5, Some(6)),
        ]));
        assert!(
            matches!(&missing[..], [SectionViolation::MissingToken(..)]),
            "{missing:?}"
        );
    }

    #[test]
    fn a_client_counts_as_inside_only_until_its_lease_ends() {
        let sections = SectionLog::default();
        let now = Instant::now();
        assert!(
            sections.enter("lock:a", 1, None, now).is_none(),
            "the lease has ended"
        );
        let lease_end = now + Duration::from_millis(5);
        drop(sections.enter("lock:a", 2, None, lease_end).inspect(|_| {
            while Instant::now() < lease_end + Duration::from_millis(5) {
                std::hint::spin_loop();
            }
        }));
        drop(sections.enter("lock:a", 3, None, now + Duration::from_secs(9)));
        for section in sections.all() {
            assert!(section.client == 3 || section.left_at == lease_end);
        }
        assert!(violations(&sections.all()).is_empty());
        assert_eq!(sections.turns().get(&3), Some(&1));
        assert_eq!(sections.turns().get(&1), None);
    }
}
