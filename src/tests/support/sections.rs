//! A record of critical sections, and what has to be true of it: one at a time, and tokens that rise.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// One stay of one client in the section that one lock guards.
#[derive(Clone, Debug)]
pub struct Section {
    pub lock: String,
    pub client: usize,
    /// Its fencing token, where it was given one.
    pub fence: Option<u64>,
    pub began: Instant,
    /// When it left, or stopped believing that the lock was its own: whichever was first.
    pub ended: Instant,
}

/// What may never be.
#[derive(Clone, Debug)]
pub enum Violation {
    /// Two were inside at once.
    Overlap(Section, Section),
    /// The later one has no larger token than the one before.
    TokenDidNotRise(Section, Section),
    /// It was given no token where others were.
    NoToken(Section),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(first, second) => {
                let (a, b) = (second.began - first.began, first.ended - first.began);
                write!(
                    f,
                    "{}: client {} came {a:?} after client {}, who was in for {b:?} (tokens {:?}, {:?})",
                    first.lock, second.client, first.client, second.fence, first.fence
                )
            }
            Self::TokenDidNotRise(first, second) => write!(
                f,
                "{}: client {} has the token {:?} after client {} with {:?}",
                first.lock, second.client, second.fence, first.client, first.fence
            ),
            Self::NoToken(section) => {
                write!(
                    f,
                    "{}: client {} has no token",
                    section.lock, section.client
                )
            }
        }
    }
}

/// What all clients of one test record.
#[derive(Default)]
pub struct Sections(Mutex<Vec<Section>>);

/// A client that is inside. It is recorded when this is dropped.
pub struct Inside<'a> {
    sections: &'a Sections,
    section: Section,
    valid_until: Instant,
}

impl Sections {
    /// A client enters, who believes that the lock is its own until then; nothing if that is over already.
    pub fn enter(
        &self,
        lock: &str,
        client: usize,
        fence: Option<u64>,
        valid_until: Instant,
    ) -> Option<Inside<'_>> {
        let began = Instant::now();
        let lock = lock.to_owned();
        let section = Section {
            lock,
            client,
            fence,
            began,
            ended: began,
        };
        (began < valid_until).then(|| Inside {
            sections: self,
            section,
            valid_until,
        })
    }

    /// Everything recorded so far.
    pub fn all(&self) -> Vec<Section> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How often each client was inside.
    pub fn turns(&self) -> BTreeMap<usize, usize> {
        let mut turns = BTreeMap::new();
        for section in self.all() {
            *turns.entry(section.client).or_default() += 1;
        }
        turns
    }
}

impl Inside<'_> {
    /// Until when the client believes that the lock is its own.
    pub fn valid_until(&self) -> Instant {
        self.valid_until
    }

    /// The lock was extended.
    pub fn extended(&mut self, valid_until: Instant) {
        self.valid_until = valid_until;
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.section.ended = Instant::now().min(self.valid_until);
        let mut all = self
            .sections
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(self.section.clone());
    }
}

/// Fails with everything that may not be in these sections.
pub fn assert_sound(sections: &[Section], context: &str) {
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

/// Everything that may not be in these sections.
pub fn violations(sections: &[Section]) -> Vec<Violation> {
    let mut of_each_lock: BTreeMap<&str, Vec<&Section>> = BTreeMap::new();
    for section in sections {
        of_each_lock.entry(&section.lock).or_default().push(section);
    }
    let mut found = Vec::new();
    for mut sections in of_each_lock.into_values() {
        sections.sort_by_key(|section| section.began);
        let fenced = sections.iter().any(|section| section.fence.is_some());
        // Of those that began earlier: who stays longest, and who has the largest token.
        let mut longest: Option<&Section> = None;
        let mut largest: Option<&Section> = None;
        for section in sections {
            if let Some(other) = longest.filter(|other| section.began < other.ended) {
                found.push(Violation::Overlap(other.clone(), section.clone()));
            }
            if longest.is_none_or(|other| section.ended > other.ended) {
                longest = Some(section);
            }
            if fenced && section.fence.is_none() {
                found.push(Violation::NoToken(section.clone()));
            } else if let Some(other) =
                largest.filter(|other| section.fence <= other.fence && fenced)
            {
                found.push(Violation::TokenDidNotRise(other.clone(), section.clone()));
            } else {
                largest = Some(section);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Sections of one lock, each from when to when, and its token.
    fn of(times: &[(u64, u64, Option<u64>)]) -> Vec<Section> {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let section =
            |(client, &(began, ended, fence)): (usize, &(u64, u64, Option<u64>))| Section {
                lock: "lock:a".to_owned(),
                client,
                fence,
                began: at(began),
                ended: at(ended),
            };
        times.iter().enumerate().map(section).collect()
    }

    #[test]
    fn one_after_the_other_with_rising_tokens_is_fine() {
        let found = violations(&of(&[(5, 9, Some(7)), (0, 5, Some(3)), (20, 21, Some(8))]));
        assert!(found.is_empty(), "{found:?}");
        let unfenced = violations(&of(&[(0, 5, None), (5, 9, None)]));
        assert!(unfenced.is_empty(), "{unfenced:?}");
    }

    #[test]
    fn an_overlap_is_found_also_with_one_who_entered_long_before() {
        let found = violations(&of(&[(0, 100, None), (10, 11, None), (50, 60, None)]));
        let clients: Vec<_> = found
            .iter()
            .map(|violation| match violation {
                Violation::Overlap(a, b) => (a.client, b.client),
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
        expected = "seed 7: 1 violations\nlock:a: client 1 came 1ms after client 0, who was in for 2ms"
    )]
    fn a_test_with_an_overlap_fails() {
        assert_sound(&of(&[(0, 2, None), (1, 3, None)]), "seed 7");
    }

    #[test]
    fn sections_of_different_locks_may_overlap() {
        let mut sections = of(&[(0, 10, Some(9)), (5, 15, Some(3))]);
        assert_eq!(violations(&sections).len(), 2);
        sections[1].lock = "lock:b".to_owned();
        assert!(violations(&sections).is_empty());
    }

    #[test]
    fn a_token_that_falls_repeats_or_is_missing_is_found() {
        let falls = violations(&of(&[(0, 1, Some(5)), (2, 3, Some(4)), (4, 5, Some(6))]));
        assert!(
            matches!(&falls[..], [Violation::TokenDidNotRise(..)]),
            "{falls:?}"
        );
        let repeats = violations(&of(&[(0, 1, Some(5)), (2, 3, Some(5))]));
        assert!(
            matches!(&repeats[..], [Violation::TokenDidNotRise(..)]),
            "{repeats:?}"
        );
        let below_an_earlier_one =
            violations(&of(&[(0, 1, Some(5)), (2, 3, Some(2)), (4, 5, Some(3))]));
        assert_eq!(below_an_earlier_one.len(), 2);
        let missing = violations(&of(&[(0, 1, Some(5)), (2, 3, None), (4, 5, Some(6))]));
        assert!(
            matches!(&missing[..], [Violation::NoToken(..)]),
            "{missing:?}"
        );
    }

    #[test]
    fn a_client_counts_as_inside_only_while_it_believes_so() {
        let sections = Sections::default();
        let now = Instant::now();
        assert!(
            sections.enter("lock:a", 1, None, now).is_none(),
            "it is over already"
        );
        let overdue = now + Duration::from_millis(5);
        drop(sections.enter("lock:a", 2, None, overdue).inspect(|_| {
            while Instant::now() < overdue + Duration::from_millis(5) {
                std::hint::spin_loop();
            }
        }));
        drop(sections.enter("lock:a", 3, None, now + Duration::from_secs(9)));
        for section in sections.all() {
            assert!(section.client == 3 || section.ended == overdue);
        }
        assert!(violations(&sections.all()).is_empty());
        assert_eq!(sections.turns().get(&3), Some(&1));
        assert_eq!(sections.turns().get(&1), None);
    }
}
