//! The remaining lease over time, for charts. It decreases and is reset by each renewal.

use super::{RenewalEvent, Timestamp};

/// A period between two renewals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseSegment {
    /// The renewal or the start of the hold.
    pub from: Timestamp,
    /// The next renewal, the end of the hold, the expiry, or now.
    pub until: Timestamp,
    /// When the lease expires without a renewal.
    pub expires_at: Timestamp,
    /// Whether the segment ends with a renewal.
    pub ends_with_renewal: bool,
}

/// Returns the segments of these renewals, the earliest first. `hold_ends` are the ends of holds: a
/// segment also ends there.
pub fn lease_segments(
    renewals: &[RenewalEvent],
    hold_ends: &[Timestamp],
    now: Timestamp,
) -> Vec<LeaseSegment> {
    let next = renewals.iter().skip(1).map(Some).chain([None]);
    let segment = |(renewal, next): (&RenewalEvent, Option<&RenewalEvent>)| {
        let lease_end = next.map_or(now, |next| next.at).min(renewal.expires_at);
        let hold_end = hold_ends
            .iter()
            .find(|end| **end > renewal.at && **end <= lease_end)
            .copied();
        LeaseSegment {
            from: renewal.at,
            until: hold_end.unwrap_or(lease_end).max(renewal.at),
            expires_at: renewal.expires_at,
            ends_with_renewal: hold_end.is_none() && next.is_some_and(|next| next.at == lease_end),
        }
    };
    renewals.iter().zip(next).map(segment).collect()
}

/// Appends the current lease of the lock, which started at `started_at`, to its recorded renewals.
/// A hold without renewals has a single event.
pub fn with_current_lease(
    renewals: &[RenewalEvent],
    started_at: Timestamp,
    expires_at: Timestamp,
) -> Vec<RenewalEvent> {
    let mut renewals = renewals.to_vec();
    match renewals.last_mut() {
        // The current lease is the last recorded renewal.
        Some(last) if last.at >= started_at => last.expires_at = last.expires_at.max(expires_at),
        Some(_) | None => renewals.push(RenewalEvent {
            at: started_at,
            expires_at,
        }),
    }
    renewals
}

#[cfg(test)]
mod tests {
    use super::super::testing::NOW;
    use super::*;

    fn renewal(at: i64, left: i64) -> RenewalEvent {
        RenewalEvent {
            at: NOW.plus_millis(at),
            expires_at: NOW.plus_millis(at + left),
        }
    }

    fn segments_of(renewals: &[RenewalEvent], ends: &[i64], now: i64) -> Vec<(i64, i64, bool)> {
        let ends: Vec<_> = ends.iter().map(|ms| NOW.plus_millis(*ms)).collect();
        let segments = lease_segments(renewals, &ends, NOW.plus_millis(now));
        let since = |at: Timestamp| at.millis_since(NOW);
        let segments = segments.iter();
        segments
            .map(|segment| {
                (
                    since(segment.from),
                    since(segment.until),
                    segment.ends_with_renewal,
                )
            })
            .collect()
    }

    #[test]
    fn each_renewal_starts_a_segment_and_the_last_one_ends_now() {
        let renewals = [renewal(0, 30), renewal(10, 30), renewal(20, 30)];
        assert_eq!(
            segments_of(&renewals, &[], 25),
            [(0, 10, true), (10, 20, true), (20, 25, false)]
        );
    }

    #[test]
    fn a_segment_ends_with_the_hold_or_the_lease() {
        let renewals = [renewal(0, 30), renewal(100, 30)];
        assert_eq!(segments_of(&renewals, &[12], 110)[0], (0, 12, false));
        assert_eq!(segments_of(&renewals, &[], 110)[0], (0, 30, false));
        assert_eq!(segments_of(&renewals, &[], 900)[1], (100, 130, false));
    }

    #[test]
    fn the_current_lease_is_the_last_event() {
        let now = with_current_lease(&[], NOW, NOW.plus_millis(30));
        assert_eq!(now, [renewal(0, 30)]);
        let repeated = with_current_lease(&now, NOW, NOW.plus_millis(30));
        assert_eq!(repeated, now);
        let renewed = with_current_lease(&now, NOW.plus_millis(10), NOW.plus_millis(40));
        assert_eq!(renewed, [renewal(0, 30), renewal(10, 30)]);
    }
}
