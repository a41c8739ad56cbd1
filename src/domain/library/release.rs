//! What a release by somebody else means for a format: whether it can be done at all, what harm it does, whether the owner's
//! bytes tell one of its holds from the next, and how long it takes a living owner to put the lock back.

use super::{Format, Hazard, Meaning, Recipe};
use crate::domain::Environment;

/// A living owner renews within this time, where nothing better is known.
const WATCH_MS: u64 = 10_000;
/// Nobody watches longer.
const LONGEST_WATCH_MS: u64 = 120_000;

/// The formats whose owners write the same bytes for every hold: of the process, of the thread, or of the object that locks.
const REUSED: [Format; 20] = [
    Format::Plain,
    Format::PythonRedisLock,
    Format::Rq,
    Format::Arq,
    Format::Huey,
    Format::Bull,
    Format::RedisSemaphore,
    Format::GoZero,
    Format::Redisson,
    Format::RedissonFair,
    Format::RedissonFenced,
    Format::RedissonReadWrite,
    Format::RedissonMulti,
    Format::SpringIntegration,
    Format::Symfony,
    Format::PhpredisSession,
    Format::Hangfire,
    Format::Sentry,
    Format::ResqueScheduler,
    Format::N8n,
];

/// What harm a release does that is not the point of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The owner's process ends.
    StopsTheOwner,
    /// The same work runs a second time.
    RunsTwice,
    /// What is released may be another owner's by now.
    NamesNobody,
    /// Two lead at once for a while.
    TwoLeaders,
    /// Nobody needs to be working on it, and it may be asked for again.
    AskedTwice,
}

impl Harm {
    /// In a sentence without its full stop.
    pub fn words(self) -> &'static str {
        match self {
            Self::StopsTheOwner => "A release ends the process that holds it",
            Self::RunsTwice => {
                "A release lets the same work run a second time while the first may go on"
            }
            Self::NamesNobody => "Nothing in it names an owner: it may be another one's by now",
            Self::TwoLeaders => "A release may give the others two leaders for a while",
            Self::AskedTwice => {
                "It keeps something from being asked for twice, and nobody needs to be working on it"
            }
        }
    }
}

impl Format {
    /// Why nobody can release it for its owner; nothing where that can be done.
    pub fn why_not_releasable(self) -> Option<&'static str> {
        match self.library().recipe {
            Recipe::Nothing => Some(
                "The key counts what is left and names nobody: there is no owner whose permit could be given back.",
            ),
            Recipe::Value
            | Recipe::ValueAndSignal
            | Recipe::ValueAndPublish
            | Recipe::RedissonHash
            | Recipe::RedissonReadWrite
            | Recipe::RedissonMulti
            | Recipe::RedissonPermit
            | Recipe::SymfonyMember
            | Recipe::Member
            | Recipe::ReaderOrWriter
            | Recipe::SidekiqJob
            | Recipe::TokenBack
            | Recipe::SuoEntry
            | Recipe::Field => None,
        }
    }

    /// Whether whoever releases a lock of this format by force has to type out its name. A group whose environment is not known may be
    /// one that matters.
    pub fn asks_to_confirm(self, environment: Option<Environment>) -> bool {
        self.harm_done().is_some() || environment.is_none_or(Environment::asks_to_confirm)
    }

    /// What harm a release does that is not the point of it: whoever asks for one is asked again, everywhere.
    pub fn harm(self) -> Option<&'static str> {
        self.harm_done().map(Harm::words)
    }

    /// The same, for those who word it otherwise.
    pub fn harm_done(self) -> Option<Harm> {
        let library = self.library();
        let has = |hazard| library.hazards.contains(&hazard);
        if has(Hazard::StopsTheOwner) {
            Some(Harm::StopsTheOwner)
        } else if has(Hazard::RunsTwice) {
            Some(Harm::RunsTwice)
        } else if library.recipe == Recipe::Field {
            Some(Harm::NamesNobody)
        } else {
            match library.meaning {
                Meaning::Leader => Some(Harm::TwoLeaders),
                Meaning::Once => Some(Harm::AskedTwice),
                Meaning::Lock | Meaning::Job => None,
            }
        }
    }

    /// Whether the owner's bytes do not tell one hold of the same owner from the next.
    pub fn reuses_owners(self) -> bool {
        REUSED.contains(&self)
    }

    /// Whether an owner that lives may put the lock back after somebody else released it.
    pub fn may_come_back(self) -> bool {
        self.library().hazards.contains(&Hazard::ComesBack)
    }

    /// For how long to watch whether a living owner puts the lock back: one renewal as it was seen, as the library does it,
    /// or at most until the lease that it had would have ended.
    pub fn watch_ms(self, seen_every_ms: Option<u64>, lease_ms: Option<u64>) -> u64 {
        let usual = || self.cadence().map(|cadence| u64::from(cadence.every_ms));
        let renews_before = || lease_ms.filter(|_| self.may_come_back());
        let interval = seen_every_ms.or_else(usual).or_else(renews_before);
        interval.unwrap_or(WATCH_MS).clamp(2_000, LONGEST_WATCH_MS)
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn what_runs_twice_or_ends_a_process_is_asked_for_twice_and_an_ordinary_lock_is_not() {
        for format in [
            Format::Bullmq,
            Format::Bull,
            Format::Redbeat,
            Format::Arq,
            Format::Rq,
            Format::Huey,
            Format::Gitlab,
            Format::SidekiqUniqueJobs,
        ] {
            assert!(format.harm().is_some(), "{format}");
        }
        for format in [Format::Plain, Format::RedisPy, Format::Redisson] {
            assert_eq!(format.harm(), None, "{format}");
        }
    }

    #[test]
    fn a_name_is_typed_out_in_production_where_harm_is_done_and_where_nobody_knows() {
        for (format, environment, asks) in [
            (Format::Plain, Some(Environment::Production), true),
            (Format::Plain, Some(Environment::Staging), false),
            (Format::Plain, Some(Environment::Development), false),
            (Format::Plain, None, true),
            (Format::Bull, Some(Environment::Development), true),
        ] {
            assert_eq!(
                format.asks_to_confirm(environment),
                asks,
                "{format} {environment:?}"
            );
        }
    }

    #[test]
    fn only_a_counter_without_owners_cannot_be_released() {
        let stuck = Format::VARIANTS
            .iter()
            .copied()
            .filter(|format| format.why_not_releasable().is_some());
        assert_eq!(stuck.collect::<Vec<_>>(), [Format::RedissonSemaphore]);
    }

    #[test]
    fn a_lock_is_watched_for_a_renewal_that_was_seen_then_for_the_librarys_then_for_its_lease() {
        assert_eq!(Format::Aioredlock.watch_ms(Some(3_000), Some(9_000)), 3_000);
        assert_eq!(Format::Aioredlock.watch_ms(None, Some(9_000)), 6_000);
        assert_eq!(Format::RedlockNet.watch_ms(None, Some(25_000)), 25_000);
        assert_eq!(Format::RedlockNet.watch_ms(None, Some(900_000)), 120_000);
        assert_eq!(Format::RedlockNet.watch_ms(None, None), 10_000);
        assert_eq!(Format::RedisPy.watch_ms(None, Some(900_000)), 10_000);
    }
}
