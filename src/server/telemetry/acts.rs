//! How many acts there were in each group, by what came of them.

use std::collections::BTreeSet;

use parking_lot::RwLock;
use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily};
use prometheus::{IntCounterVec, Opts};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::traces::is_trouble;
use crate::domain::{ActKind, Fault, GroupView};

/// What came of the acts.
pub struct Acts {
    counts: IntCounterVec,
    /// Acts on groups that do not exist are counted with an empty label: their names are whatever somebody sent.
    groups: RwLock<BTreeSet<String>>,
}

/// An act that is under way: it is counted when it ends, or when nobody waits for its end any more.
pub struct UnderWay {
    counts: IntCounterVec,
    group: String,
    act: ActKind,
    outcome: &'static str,
    span: Span,
}

impl Acts {
    /// Nothing was done yet in these groups.
    pub fn of<'a>(groups: impl Iterator<Item = &'a str>) -> Self {
        let counts = Opts::new(
            "lockkeeper_acts_total",
            "Acts through this console by what came of them: done, the code of the refusal, or given-up where the client hung up.",
        );
        let counts = IntCounterVec::new(counts, &["group", "act", "outcome"]);
        Self {
            counts: counts.expect("name and labels are constants"),
            groups: RwLock::new(groups.map(str::to_owned).collect()),
        }
    }

    /// From now on there is such a group.
    pub fn know(&self, group: &str) {
        let mut groups = self.groups.write();
        groups.insert(group.to_owned());
    }

    /// An act begins.
    pub fn begin(&self, act: ActKind, group: &str) -> UnderWay {
        let groups = self.groups.read();
        let known = groups.get(group).cloned();
        let span = info_span!(
            "act",
            otel.name = act.slug(),
            otel.status_code = Empty,
            lockkeeper.group = known,
            lockkeeper.format = Empty,
            lockkeeper.tries = Empty,
            lockkeeper.outcome = Empty,
        );
        UnderWay {
            counts: self.counts.clone(),
            group: known.unwrap_or_default(),
            act,
            outcome: "given-up",
            span,
        }
    }

    /// For the registry.
    pub(super) fn collector(&self) -> Box<dyn Collector> {
        Box::new(self.counts.clone())
    }
}

impl UnderWay {
    /// What is done while this future is worked on is done for the act.
    pub fn around<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        future.instrument(self.span.clone())
    }

    /// It ended like this.
    pub fn end<T>(mut self, end: &Result<T, Fault>) {
        if end.as_ref().is_err_and(is_trouble) {
            self.span.record("otel.status_code", "error");
        }
        self.outcome = end.as_ref().map_or_else(Fault::code, |_| "done");
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.span.record("lockkeeper.outcome", self.outcome);
        let labels = [&*self.group, self.act.slug(), self.outcome];
        self.counts.with_label_values(&labels).inc();
    }
}

/// What of this is about one of these groups, or about none.
pub(super) fn of_groups(families: Vec<MetricFamily>, groups: &[GroupView]) -> Vec<MetricFamily> {
    let is_seen = |metric: &Metric| {
        let mut labels = metric.get_label().iter();
        labels
            .find(|label| label.name() == "group")
            .is_none_or(|label| {
                label.value().is_empty() || groups.iter().any(|group| group.name == label.value())
            })
    };
    let families = families.into_iter().filter_map(|mut family| {
        let mut metrics = family.take_metric();
        metrics.retain(is_seen);
        family.set_metric(metrics);
        (!family.get_metric().is_empty()).then_some(family)
    });
    families.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(acts: &Acts, group: &str, act: &str, outcome: &str) -> u64 {
        acts.counts.with_label_values(&[group, act, outcome]).get()
    }

    #[test]
    fn an_act_is_counted_by_its_end_and_also_when_nobody_waits_for_it() {
        let acts = Acts::of(["orders"].into_iter());
        acts.begin(ActKind::Acquire, "orders").end::<()>(&Ok(()));
        acts.begin(ActKind::Acquire, "orders")
            .end::<()>(&Err(Fault::NotHeld { nodes: Vec::new() }));
        drop(acts.begin(ActKind::ForceRelease, "orders"));
        for (act, outcome) in [
            ("acquire", "done"),
            ("acquire", "not-held"),
            ("force-release", "given-up"),
        ] {
            assert_eq!(counted(&acts, "orders", act, outcome), 1, "{act} {outcome}");
        }
    }

    #[test]
    fn a_group_that_somebody_made_up_is_no_label() {
        let acts = Acts::of(["orders"].into_iter());
        for n in 0..100 {
            acts.begin(ActKind::Extend, &format!("made-up-{n}"))
                .end::<()>(&Ok(()));
        }
        assert_eq!(counted(&acts, "", "extend", "done"), 100);
        assert_eq!(acts.counts.collect()[0].get_metric().len(), 1);
    }
}
