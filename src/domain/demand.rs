//! How many clients want a lock that is held, as far as its evidence of contention shows.

use super::Evidence;

/// The demand for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Clients tried to acquire the lock and failed.
    Attempts {
        /// The attempts per minute.
        per_minute: u64,
        /// Whether there may have been more: the source does not show every attempt.
        is_lower_bound: bool,
    },
    /// Clients wait for the lock without trying again.
    Waiters {
        /// The number of clients.
        count: u64,
        /// Whether there may be fewer.
        is_upper_bound: bool,
    },
}

impl Demand {
    /// The demand that the evidence shows; `None` if it shows none, which does not mean that there
    /// is none.
    ///
    /// Different pieces of evidence may show the same attempts, so the highest rate counts, not the
    /// sum. A rate counts more than a number of waiters, because waiters are also attempts.
    pub fn of(evidence: &[Evidence]) -> Option<Self> {
        let rate = |evidence: &Evidence| {
            // `idle-touch` counts seconds with at least one access, `api-attempts` only the
            // attempts through this console.
            let is_lower_bound = match evidence.kind.as_str() {
                "idle-touch" | "api-attempts" => true,
                "monitor-sample" => false,
                _ => return None,
            };
            let minutes = evidence.value.saturating_mul(60_000);
            let per_minute = minutes.checked_div(evidence.window_ms)?;
            (per_minute > 0).then_some((per_minute, is_lower_bound))
        };
        // At the same rate, a measured one is preferred to a lower bound.
        let best = evidence
            .iter()
            .filter_map(rate)
            .max_by_key(|(per_minute, is_lower_bound)| (*per_minute, !is_lower_bound));
        if let Some((per_minute, is_lower_bound)) = best {
            return Some(Self::Attempts {
                per_minute,
                is_lower_bound,
            });
        }
        let waiters = |evidence: &Evidence| {
            let is_upper_bound = match evidence.kind.as_str() {
                "queue" | "subscribers" => false,
                "blocked" => true,
                _ => return None,
            };
            (evidence.value > 0).then_some((evidence.value, is_upper_bound))
        };
        let most = evidence
            .iter()
            .filter_map(waiters)
            .max_by_key(|(count, is_upper_bound)| (!is_upper_bound, *count));
        most.map(|(count, is_upper_bound)| Self::Waiters {
            count,
            is_upper_bound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(items: &[(&str, u64, u64)]) -> Vec<Evidence> {
        let item = |(kind, value, window_ms): &(&str, u64, u64)| Evidence {
            kind: (*kind).to_owned(),
            value: *value,
            window_ms: *window_ms,
        };
        items.iter().map(item).collect()
    }

    #[test]
    fn the_highest_rate_counts_and_waiters_count_if_there_is_no_rate() {
        let attempts = |per_minute, is_lower_bound| {
            Some(Demand::Attempts {
                per_minute,
                is_lower_bound,
            })
        };
        let waiters = |count, is_upper_bound| {
            Some(Demand::Waiters {
                count,
                is_upper_bound,
            })
        };
        for (items, expected) in [
            (&[][..], None),
            (&[("idle-touch", 36, 60_000)][..], attempts(36, true)),
            (&[("idle-touch", 0, 60_000)][..], None),
            (&[("api-attempts", 4, 60_000)][..], attempts(4, true)),
            (&[("monitor-sample", 49, 5_000)][..], attempts(588, false)),
            (
                &[("idle-touch", 60, 60_000), ("monitor-sample", 5, 5_000)][..],
                attempts(60, false),
            ),
            (
                &[("queue", 3, 0), ("idle-touch", 6, 60_000)][..],
                attempts(6, true),
            ),
            (&[("queue", 3, 0), ("blocked", 9, 0)][..], waiters(3, false)),
            (&[("blocked", 9, 0)][..], waiters(9, true)),
            (&[("unheard-of", 9, 1_000)][..], None),
            (&[("idle-touch", 9, 0)][..], None),
        ] {
            assert_eq!(Demand::of(&evidence(items)), expected, "{items:?}");
        }
    }
}
