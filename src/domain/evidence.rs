//! One sign of contention, with where it comes from and how to say it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One sign of contention together with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    /// `api-attempts`: tries through this console that found it taken. `queue`: so many stand in line. `subscribers`: so many
    /// Redisson instances have themselves told of a release. `blocked`: at most so many block on the list that is pushed to when
    /// the lock is released; the server does not say on which keys its clients block. `idle-touch`: seconds in which somebody
    /// else touched the key, at least. `monitor-sample`: tries that failed while a sample was taken.
    pub kind: String,
    /// The figure.
    pub value: u64,
    /// The time that the figure covers, in milliseconds, up to the observation; 0 for those who wait at that moment. For
    /// `idle-touch` the time that was really watched, at most a minute.
    pub window_ms: u64,
}

/// A watched minute may lack so much at its ends.
const NEARLY_A_MINUTE_MS: u64 = 57_000;

impl Evidence {
    /// The figure in words, without where it comes from: `contended 7 of the last 60 s`.
    pub fn figure(&self) -> String {
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

    /// The same with where it comes from: `contended 7 of the last 60 s · idle-touch`.
    pub fn sentence(&self) -> String {
        let figure = self.figure();
        match self.kind.as_str() {
            "queue" | "subscribers" | "blocked" => figure,
            kind => format!("{figure} · {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_says_what_it_counts_and_over_what_time() {
        for (kind, value, window_ms, sentence) in [
            (
                "idle-touch",
                7,
                60_000,
                "contended 7 of the last 60 s · idle-touch",
            ),
            (
                "idle-touch",
                2,
                9_000,
                "contended 2 of 9 s watched · idle-touch",
            ),
            ("queue", 3, 0, "queue of 3"),
            ("subscribers", 1, 0, "1 subscriber"),
            ("blocked", 2, 0, "up to 2 blocked"),
            (
                "api-attempts",
                4,
                60_000,
                "4 failed attempts here in the last 60 s · api-attempts",
            ),
            (
                "monitor-sample",
                1,
                5_001,
                "1 failed attempt in 6 s · monitor-sample",
            ),
        ] {
            let evidence = Evidence {
                kind: kind.to_owned(),
                value,
                window_ms,
            };
            assert_eq!(evidence.sentence(), sentence);
        }
    }
}
