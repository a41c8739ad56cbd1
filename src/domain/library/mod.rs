//! Which library's layout a lock has, and what that library does when somebody else releases it.
//!
//! [`table`] has one row per format. What libraries have in common is a column: code elsewhere asks for that, not for
//! formats one by one.

mod release;
mod table;

pub use release::Harm;
pub use table::Format;

/// What a row of the table says about a format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Library {
    /// The name in the API, in filters and on screen.
    pub slug: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// What it means that the key is there.
    pub meaning: Meaning,
    /// How it is released by somebody else.
    pub recipe: Recipe,
    /// What else a release by somebody else does.
    pub hazards: &'static [Hazard],
    /// What that library does next, in one sentence.
    pub after_release: &'static str,
}

/// What it means that the key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Somebody works on something and keeps others out.
    Lock,
    /// One process of several leads; whoever has it takes it again and again.
    Leader,
    /// A worker has this job in its hands.
    Job,
    /// Something was asked for and is not to be asked for twice. Nobody needs to be working on it.
    Once,
}

/// How a lock is released by somebody else: what is compared, and what has to be mended with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// The whole string is compared and the key deleted.
    Value,
    /// The same, and the signal list is pushed to (python-redis-lock).
    ValueAndSignal,
    /// The same, and the registry's channel is told (Spring Integration).
    ValueAndPublish,
    /// The field of Redisson's hash, then the channel, or the first in the queue's own.
    RedissonHash,
    /// The field, its timeout keys, and the mode (Redisson's read-write lock).
    RedissonReadWrite,
    /// The three fields of one value (Redisson's faster multi-lock).
    RedissonMulti,
    /// The member, and the permit is given back (Redisson).
    RedissonPermit,
    /// The member of the sorted set, a writer's mark with it, and the TTL; an old string is compared and deleted (Symfony).
    SymfonyMember,
    /// The member of a sorted set, a permit of several members as a whole; a string is compared and deleted.
    Member,
    /// The member of the readers' set, or the writer's string.
    ReaderOrWriter,
    /// The job's id in the hash, with everything that stands beside it.
    SidekiqJob,
    /// The token goes back from the hash to the list.
    TokenBack,
    /// One entry of the array within the string.
    SuoEntry,
    /// The field of a hash that has other fields too.
    Field,
    /// It has no owner that could be compared.
    Nothing,
}

/// What a release by somebody else may bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hazard {
    /// The owner, if it lives, puts the lock back at its next renewal.
    ComesBack,
    /// The owner deletes the next owner's lock when it ends: it does not compare.
    EndsTheNext,
    /// The work is handed to somebody else while the owner still does it.
    RunsTwice,
    /// The owner's process ends.
    StopsTheOwner,
}

/// How often a library renews by itself, unless it is told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// Milliseconds from one renewal to the next.
    pub every_ms: u32,
    /// The lease that each gives.
    pub lease_ms: u32,
}

impl Format {
    /// The name in the API, in filters and on screen.
    pub fn slug(self) -> &'static str {
        self.library().slug
    }

    /// What happens next in that library once its lock was released by somebody else: one sentence for the dialog.
    pub fn after_release(self) -> &'static str {
        self.library().after_release
    }

    /// Whether an owner that acquires its lock again has to release it again.
    pub fn counts_entries(self) -> bool {
        matches!(
            self.library().recipe,
            Recipe::RedissonHash | Recipe::RedissonReadWrite | Recipe::RedissonMulti
        )
    }

    /// Whether it is, or may be, one string whose bytes are the owner's.
    pub fn may_be_a_string(self) -> bool {
        match self.library().recipe {
            Recipe::Value
            | Recipe::ValueAndSignal
            | Recipe::ValueAndPublish
            | Recipe::SymfonyMember
            | Recipe::Member
            | Recipe::Field
            | Recipe::Nothing => true,
            Recipe::RedissonHash
            | Recipe::RedissonReadWrite
            | Recipe::RedissonMulti
            | Recipe::RedissonPermit
            | Recipe::ReaderOrWriter
            | Recipe::SidekiqJob
            | Recipe::TokenBack
            | Recipe::SuoEntry => false,
        }
    }

    /// Whether the lock stays where it is when its own time is over, until somebody takes it.
    pub fn outlives_its_lease(self) -> bool {
        matches!(self, Self::LegacyTimestamp)
    }

    /// How often the library renews by itself; nothing where it does not, or where the caller decides.
    pub fn cadence(self) -> Option<Cadence> {
        let known = CADENCES.iter().find(|(format, ..)| *format == self);
        known.map(|&(_, every_ms, lease_ms)| Cadence { every_ms, lease_ms })
    }
}

/// Format, milliseconds from one renewal to the next, and the lease each gives.
const CADENCES: [(Format, u32, u32); 13] = [
    (Format::Redisson, 10_000, 30_000),
    (Format::RedissonFair, 10_000, 30_000),
    (Format::RedissonFenced, 10_000, 30_000),
    (Format::RedissonReadWrite, 10_000, 30_000),
    (Format::RedissonMulti, 10_000, 30_000),
    (Format::Bullmq, 15_000, 30_000),
    (Format::Bull, 15_000, 30_000),
    (Format::Hangfire, 15_000, 30_000),
    (Format::Madelson, 9_000, 30_000),
    (Format::MadelsonReadWrite, 9_000, 30_000),
    (Format::MadelsonSemaphore, 9_000, 90_000),
    (Format::Aioredlock, 6_000, 10_000),
    (Format::RedisSemaphore, 8_000, 10_000),
];

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;

    #[test]
    fn the_slug_is_what_goes_over_the_wire() {
        for &format in Format::VARIANTS {
            assert_eq!(
                serde_json::to_string(&format).unwrap(),
                format!("\"{}\"", format.slug())
            );
            assert_eq!(format.slug().parse(), Ok(format));
        }
    }

    #[test]
    fn every_row_ends_like_a_part_of_a_sentence() {
        for &format in Format::VARIANTS {
            let says = format.after_release();
            assert!(!says.is_empty() && !says.ends_with('.'), "{format}: {says}");
            assert!(!says.starts_with(' '), "{format}: {says}");
        }
    }

    #[test]
    fn a_lock_that_comes_back_says_so() {
        let returning = Format::VARIANTS
            .iter()
            .copied()
            .filter(|format| format.library().hazards.contains(&Hazard::ComesBack));
        for format in returning {
            assert!(format.after_release().contains("back"), "{format}");
        }
    }
}
