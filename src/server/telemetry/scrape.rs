//! The registry of one scrape, which is filled once and dropped.

use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge, GaugeVec, IntCounterVec, Opts, Registry};

/// The metrics of one scrape.
#[derive(Default)]
pub(super) struct Scrape(Registry);

impl Scrape {
    /// Adds a gauge with labels.
    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> GaugeVec {
        let gauges = GaugeVec::new(Opts::new(name, help), labels);
        self.add(gauges.expect("name and labels are constants"))
    }

    /// Adds a gauge without labels.
    pub(super) fn gauge(&self, name: &str, help: &str, value: f64) {
        let gauge = Gauge::with_opts(Opts::new(name, help));
        self.add(gauge.expect("the name is a constant")).set(value);
    }

    /// Adds a counter with labels, whose values are counted elsewhere. Its name ends in `_total`.
    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        let counters = IntCounterVec::new(Opts::new(name, help), labels);
        self.add(counters.expect("name and labels are constants"))
    }

    /// Adds a counter without labels.
    pub(super) fn counter(&self, name: &str, help: &str, value: f64) {
        let counter = Counter::with_opts(Opts::new(name, help));
        self.add(counter.expect("the name is a constant"))
            .inc_by(value);
    }

    /// All metric families with samples.
    pub(super) fn gather(&self) -> Vec<MetricFamily> {
        self.0.gather()
    }

    fn add<C: Collector + Clone + 'static>(&self, metric: C) -> C {
        let registered = self.0.register(Box::new(metric.clone()));
        registered.expect("metric names are unique");
        metric
    }
}
