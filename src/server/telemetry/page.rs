//! A page that Prometheus reads: names, labels and values, written line by line (text format, version 0.0.4).
//!
//! All numbers are there already when the page is written, so no registry is needed; and the one library that needs none either
//! writes counters in a way that `promtool check metrics` cannot read.

use std::fmt::{Display, Write as _};

use super::times::Ranges;

/// What the page is, for the header.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A label and its value.
pub type Label<'a> = (&'a str, &'a str);

/// The page as far as it is written.
#[derive(Default)]
pub struct Page(String);

/// The samples of one metric, which stand together.
pub struct Samples<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Page {
    /// Begins a metric that goes up and down.
    pub fn gauge(&mut self, name: &'static str, help: &str) -> Samples<'_> {
        self.begin(name, help, "gauge")
    }

    /// Begins a metric that only rises until the console is started anew; its name ends in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &str) -> Samples<'_> {
        self.begin(name, help, "counter")
    }

    /// Begins a metric of durations; its name ends in `_seconds`.
    pub fn histogram(&mut self, name: &'static str, help: &str) -> Samples<'_> {
        self.begin(name, help, "histogram")
    }

    /// The whole page.
    pub fn text(self) -> String {
        self.0
    }

    fn begin(&mut self, name: &'static str, help: &str, kind: &str) -> Samples<'_> {
        let text = &mut self.0;
        let _infallible = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Samples { text, name }
    }
}

impl Samples<'_> {
    /// Adds a sample.
    pub fn add(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.line("", labels, None, value);
    }

    /// Adds all samples of a histogram.
    pub fn add_ranges(&mut self, labels: &[Label<'_>], ranges: &Ranges) {
        for (bound, n) in ranges.up_to() {
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            self.line("_bucket", labels, Some(("le", &bound)), n);
        }
        self.line("_sum", labels, None, ranges.seconds());
        self.line("_count", labels, None, ranges.count());
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[Label<'_>],
        last: Option<Label<'_>>,
        value: impl Display,
    ) {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        let mut before = '{';
        for (name, value) in labels.iter().copied().chain(last) {
            self.text.push(before);
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(self.text, value);
            self.text.push('"');
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
        let _infallible = writeln!(self.text, " {value}");
    }
}

fn escape(text: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_written_as_prometheus_reads_it() {
        let mut page = Page::default();
        let mut locks = page.gauge("locks", "How many.");
        locks.add(&[("group", "orders"), ("verdict", "held")], 3);
        locks.add(&[], 0.25);
        page.counter("acts_total", "How often.").add(&[], u64::MAX);
        assert_eq!(
            page.text(),
            "# HELP locks How many.\n# TYPE locks gauge\n\
             locks{group=\"orders\",verdict=\"held\"} 3\nlocks 0.25\n\
             # HELP acts_total How often.\n# TYPE acts_total counter\nacts_total 18446744073709551615\n"
        );
    }

    #[test]
    fn no_label_can_break_out_of_its_quotes() {
        let mut page = Page::default();
        page.gauge("a", "A.").add(&[("b", "x\"} 1\nc{d=\"\\")], 1);
        let text = page.text();
        assert_eq!(
            text.lines().last(),
            Some(r#"a{b="x\"} 1\nc{d=\"\\"} 1"#),
            "{text}"
        );
    }
}
