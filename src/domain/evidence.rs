//! Evidence of contention: the kind, the value and a description.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Evidence of contention, with its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    /// `api-attempts`: acquires through this console that failed because the lock was held.
    /// `queue`: clients in the lock's queue. `subscribers`: Redisson instances that subscribed to
    /// release notifications. `blocked`: an upper bound of the clients that block on the list
    /// that a release pushes to; Redis does not report the keys that its clients block on.
    /// `idle-touch`: a lower bound of the seconds in which another client accessed the key.
    /// `monitor-sample`: failed attempts during a monitor sample.
    pub kind: String,
    /// The number of clients, attempts or seconds.
    pub value: u64,
    /// The period before the observation that the value covers, in milliseconds; 0 for clients that
    /// were waiting at the time of the observation. For `idle-touch` the measured time, at most one
    /// minute.
    pub window_ms: u64,
}

/// A measured minute can be incomplete at both ends.
const NEARLY_A_MINUTE_MS: u64 = 57_000;

impl Evidence {
    /// The value as text, without the source: `contended 7 of the last 60 s`.
    pub fn summary(&self) -> String {
        let Self {
            value, window_ms, ..
        } = self;
        let seconds = window_ms.div_ceil(1_000);
        let s = if *value == 1 { "" } else { "s" };
        match self.kind.as_str() {
            "idle-touch" if *window_ms >= NEARLY_A_MINUTE_MS => {
                format!("contended {value} of the last 60 s")
            }
            "idle-touch" => format!("contended {value} of {seconds} s watched"),
            "queue" => format!("queue of {value}"),
            "subscribers" => format!("{value} subscriber{s}"),
            "blocked" => format!("up to {value} blocked"),
            "api-attempts" => format!("{value} failed attempt{s} here in the last {seconds} s"),
            "monitor-sample" => format!("{value} failed attempt{s} in {seconds} s"),
            other => format!("{other}: {value}"),
        }
    }

    /// The value as text, with the source: `contended 7 of the last 60 s · OBJECT IDLETIME`.
    pub fn describe(&self) -> String {
        let summary = self.summary();
        match self.kind.as_str() {
            "queue" | "subscribers" | "blocked" => summary,
            "idle-touch" => format!("{summary} · OBJECT IDLETIME"),
            "api-attempts" => format!("{summary} · API requests"),
            "monitor-sample" => format!("{summary} · MONITOR sample"),
            kind => format!("{summary} · {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_described_with_its_value_and_period() {
        for (kind, value, window_ms, expected) in [
            (
                "idle-touch",
                7,
                60_000,
                "contended 7 of the last 60 s · OBJECT IDLETIME",
            ),
            (
                "idle-touch",
                2,
                9_000,
                "contended 2 of 9 s watched · OBJECT IDLETIME",
            ),
            ("queue", 3, 0, "queue of 3"),
            ("subscribers", 1, 0, "1 subscriber"),
            ("blocked", 2, 0, "up to 2 blocked"),
            (
                "api-attempts",
                4,
                60_000,
                "4 failed attempts here in the last 60 s · API requests",
            ),
            (
                "monitor-sample",
                1,
                5_001,
                "1 failed attempt in 6 s · MONITOR sample",
            ),
        ] {
            let evidence = Evidence {
                kind: kind.to_owned(),
                value,
                window_ms,
            };
            assert_eq!(evidence.describe(), expected);
        }
    }
}
