//! Counts operations by group and result, and traces them.

use std::collections::BTreeSet;

use parking_lot::RwLock;
use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily};
use prometheus::{IntCounterVec, Opts};
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::traces::is_operational_error;
use crate::domain::{GroupView, OperationError, OperationKind};

/// The counter of operations.
pub struct OperationMetrics {
    counts: IntCounterVec,
    /// The known groups. Operations on other groups get an empty label, because a client could send
    /// any number of names.
    groups: RwLock<BTreeSet<String>>,
}

/// An operation in progress. It is counted when it finishes, or when it is dropped because the
/// client disconnected.
pub struct OperationInFlight {
    counts: IntCounterVec,
    group: String,
    operation: OperationKind,
    result: &'static str,
    span: Span,
}

impl OperationMetrics {
    /// Creates the counter for these groups.
    pub fn new<'a>(groups: impl Iterator<Item = &'a str>) -> Self {
        let counts = Opts::new(
            "lockkeeper_operations_total",
            "Operations through this console, by result: done, the error code, or cancelled if the client disconnected.",
        );
        let counts = IntCounterVec::new(counts, &["group", "operation", "result"]);
        Self {
            counts: counts.expect("name and labels are constants"),
            groups: RwLock::new(groups.map(str::to_owned).collect()),
        }
    }

    /// Adds a known group.
    pub fn add_group(&self, group: &str) {
        let mut groups = self.groups.write();
        groups.insert(group.to_owned());
    }

    /// Starts an operation with its span.
    pub fn start(&self, operation: OperationKind, group: &str) -> OperationInFlight {
        let groups = self.groups.read();
        let known = groups.get(group).cloned();
        let span = info_span!(
            "operation",
            otel.name = operation.slug(),
            otel.status_code = Empty,
            lockkeeper.group = known,
            lockkeeper.format = Empty,
            lockkeeper.tries = Empty,
            lockkeeper.outcome = Empty,
        );
        OperationInFlight {
            counts: self.counts.clone(),
            group: known.unwrap_or_default(),
            operation,
            result: "cancelled",
            span,
        }
    }

    /// The collector, for the registry.
    pub(super) fn collector(&self) -> Box<dyn Collector> {
        Box::new(self.counts.clone())
    }
}

impl OperationInFlight {
    /// Runs the future inside the operation's span.
    pub fn instrument<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        future.instrument(self.span.clone())
    }

    /// Records the result.
    pub fn finish<T>(mut self, result: &Result<T, OperationError>) {
        if result.as_ref().is_err_and(is_operational_error) {
            self.span.record("otel.status_code", "error");
        }
        self.result = result
            .as_ref()
            .map_or_else(OperationError::code, |_| "done");
    }
}

impl Drop for OperationInFlight {
    fn drop(&mut self) {
        self.span.record("lockkeeper.outcome", self.result);
        let labels = [&*self.group, self.operation.slug(), self.result];
        self.counts.with_label_values(&labels).inc();
    }
}

/// Retains the metrics of these groups and those without a group.
pub(super) fn retain_groups(
    families: Vec<MetricFamily>,
    groups: &[GroupView],
) -> Vec<MetricFamily> {
    let is_visible = |metric: &Metric| {
        let mut labels = metric.get_label().iter();
        labels
            .find(|label| label.name() == "group")
            .is_none_or(|label| {
                label.value().is_empty() || groups.iter().any(|group| group.name == label.value())
            })
    };
    let families = families.into_iter().filter_map(|mut family| {
        let mut metrics = family.take_metric();
        metrics.retain(is_visible);
        family.set_metric(metrics);
        (!family.get_metric().is_empty()).then_some(family)
    });
    families.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(metrics: &OperationMetrics, group: &str, operation: &str, result: &str) -> u64 {
        metrics
            .counts
            .with_label_values(&[group, operation, result])
            .get()
    }

    #[test]
    fn an_operation_is_counted_by_its_result_and_also_when_it_is_cancelled() {
        let metrics = OperationMetrics::new(["orders"].into_iter());
        metrics
            .start(OperationKind::Acquire, "orders")
            .finish::<()>(&Ok(()));
        metrics
            .start(OperationKind::Acquire, "orders")
            .finish::<()>(&Err(OperationError::NotHeld { nodes: Vec::new() }));
        drop(metrics.start(OperationKind::ForceRelease, "orders"));
        for (operation, result) in [
            ("acquire", "done"),
            ("acquire", "not-held"),
            ("force-release", "cancelled"),
        ] {
            assert_eq!(
                counted(&metrics, "orders", operation, result),
                1,
                "{operation} {result}"
            );
        }
    }

    #[test]
    fn an_unknown_group_does_not_become_a_label() {
        let metrics = OperationMetrics::new(["orders"].into_iter());
        for n in 0..100 {
            metrics
                .start(OperationKind::Extend, &format!("made-up-{n}"))
                .finish::<()>(&Ok(()));
        }
        assert_eq!(counted(&metrics, "", "extend", "done"), 100);
        assert_eq!(metrics.counts.collect()[0].get_metric().len(), 1);
    }
}
