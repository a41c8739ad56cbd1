//! What one scrape reads: a registry that is filled once, and thrown away.

use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge, GaugeVec, IntCounterVec, Opts, Registry};

/// The metrics of one scrape.
#[derive(Default)]
pub(super) struct Scrape(Registry);

impl Scrape {
    /// A metric that goes up and down, to be set for each value of its labels.
    pub(super) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> GaugeVec {
        let made = GaugeVec::new(Opts::new(name, help), labels);
        self.add(made.expect("name and labels are constants"))
    }

    /// A metric that goes up and down, of which there is one.
    pub(super) fn gauge(&self, name: &str, help: &str, value: f64) {
        let made = Gauge::with_opts(Opts::new(name, help));
        self.add(made.expect("the name is a constant")).set(value);
    }

    /// A metric that only rises, counted elsewhere; its name ends in `_total`.
    pub(super) fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        let made = IntCounterVec::new(Opts::new(name, help), labels);
        self.add(made.expect("name and labels are constants"))
    }

    /// A metric that only rises, of which there is one.
    pub(super) fn counter(&self, name: &str, help: &str, value: f64) {
        let made = Counter::with_opts(Opts::new(name, help));
        self.add(made.expect("the name is a constant"))
            .inc_by(value);
    }

    /// Everything that has a sample.
    pub(super) fn gather(&self) -> Vec<MetricFamily> {
        self.0.gather()
    }

    fn add<C: Collector + Clone + 'static>(&self, metric: C) -> C {
        let added = self.0.register(Box::new(metric.clone()));
        added.expect("every metric has a name of its own");
        metric
    }
}
