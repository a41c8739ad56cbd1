//! What was left of a lease over time, as far as it was seen: it runs down, and every renewal lifts it.

use super::{Beat, Timestamp};

/// A stretch in which a lease ran down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it began, with a renewal or with the hold.
    pub from: Timestamp,
    /// Until when it is drawn: the next renewal, the end of the hold, or now.
    pub until: Timestamp,
    /// When it would have ended by itself.
    pub expires_at: Timestamp,
    /// Whether the next one begins where this one ends: a renewal lifted it.
    pub is_lifted: bool,
}

/// The stretches of these renewals, the earliest first. Where a hold ended between two of them, at one of `ends`, the lease did
/// not run on.
pub fn saw_tooth(beats: &[Beat], ends: &[Timestamp], now: Timestamp) -> Vec<Stretch> {
    let next = beats.iter().skip(1).map(Some).chain([None]);
    let stretch = |(beat, next): (&Beat, Option<&Beat>)| {
        let reaches = next.map_or(now, |next| next.at).min(beat.expires_at);
        let mut ended = ends
            .iter()
            .filter(|end| **end > beat.at && **end <= reaches);
        let ended = ended.next().copied();
        Stretch {
            from: beat.at,
            until: ended.unwrap_or(reaches).max(beat.at),
            expires_at: beat.expires_at,
            is_lifted: ended.is_none() && next.is_some_and(|next| next.at == reaches),
        }
    };
    beats.iter().zip(next).map(stretch).collect()
}

/// These renewals and what is known by now: the lease of the lock as it stands, seen to begin at that moment. A hold that was never
/// renewed is one tooth.
pub fn up_to_now(beats: &[Beat], began: Timestamp, expires_at: Timestamp) -> Vec<Beat> {
    let mut beats = beats.to_vec();
    match beats.last_mut() {
        // The same renewal as it is known by now: a lease that was shortened or looked at again.
        Some(last) if last.at >= began => last.expires_at = last.expires_at.max(expires_at),
        Some(_) | None => beats.push(Beat {
            at: began,
            expires_at,
        }),
    }
    beats
}

#[cfg(test)]
mod tests {
    use super::super::testing::NOW;
    use super::*;

    fn beat(at: i64, left: i64) -> Beat {
        Beat {
            at: NOW.plus_millis(at),
            expires_at: NOW.plus_millis(at + left),
        }
    }

    fn drawn(beats: &[Beat], ends: &[i64], now: i64) -> Vec<(i64, i64, bool)> {
        let ends: Vec<_> = ends.iter().map(|ms| NOW.plus_millis(*ms)).collect();
        let stretches = saw_tooth(beats, &ends, NOW.plus_millis(now));
        let since = |at: Timestamp| at.millis_since(NOW);
        let told = stretches.iter();
        told.map(|one| (since(one.from), since(one.until), one.is_lifted))
            .collect()
    }

    #[test]
    fn each_renewal_lifts_the_lease_and_the_last_runs_down_to_now() {
        let beats = [beat(0, 30), beat(10, 30), beat(20, 30)];
        assert_eq!(
            drawn(&beats, &[], 25),
            [(0, 10, true), (10, 20, true), (20, 25, false)]
        );
    }

    #[test]
    fn a_hold_that_ended_and_a_lease_that_ran_out_do_not_run_on() {
        let beats = [beat(0, 30), beat(100, 30)];
        assert_eq!(drawn(&beats, &[12], 110)[0], (0, 12, false));
        assert_eq!(drawn(&beats, &[], 110)[0], (0, 30, false));
        assert_eq!(drawn(&beats, &[], 900)[1], (100, 130, false));
    }

    #[test]
    fn what_is_known_by_now_is_the_last_tooth() {
        let now = up_to_now(&[], NOW, NOW.plus_millis(30));
        assert_eq!(now, [beat(0, 30)]);
        let again = up_to_now(&now, NOW, NOW.plus_millis(30));
        assert_eq!(again, now);
        let renewed = up_to_now(&now, NOW.plus_millis(10), NOW.plus_millis(40));
        assert_eq!(renewed, [beat(0, 30), beat(10, 30)]);
    }
}
