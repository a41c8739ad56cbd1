//! How many acts there were in each group, by what came of them.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use strum::VariantArray as _;

use super::counts::Counts;
use super::page::Page;
use super::traces;
use crate::domain::{ActKind, Fault, GroupView};

/// One for each kind of act.
type OfGroup = Arc<[Counts<&'static str>; ActKind::VARIANTS.len()]>;

/// What came of the acts.
pub struct Acts {
    groups: RwLock<BTreeMap<String, OfGroup>>,
    /// Acts on groups that do not exist: their names are whatever somebody sent.
    elsewhere: OfGroup,
}

/// An act that is under way: it is counted when it ends, or when nobody waits for its end any more.
pub struct UnderWay {
    counts: OfGroup,
    act: usize,
    outcome: &'static str,
    trace: traces::Act,
}

impl Acts {
    /// Nothing was done yet in these groups.
    pub fn of<'a>(groups: impl Iterator<Item = &'a str>) -> Self {
        Self {
            groups: RwLock::new(
                groups
                    .map(|group| (group.to_owned(), Default::default()))
                    .collect(),
            ),
            elsewhere: Default::default(),
        }
    }

    /// From now on there is such a group.
    pub fn know(&self, group: &str) {
        let mut groups = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        groups.entry(group.to_owned()).or_default();
    }

    fn of_group(&self, group: &str) -> Option<OfGroup> {
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner);
        groups.get(group).cloned()
    }

    /// An act begins.
    pub fn begin(&self, act: ActKind, group: &str) -> UnderWay {
        let counts = self.of_group(group);
        let trace = traces::Act::begin(act, counts.as_ref().map(|_| group));
        UnderWay {
            trace,
            counts: counts.unwrap_or_else(|| Arc::clone(&self.elsewhere)),
            act: act as usize,
            outcome: "given-up",
        }
    }

    /// Those on these groups, and on groups that do not exist.
    pub(super) fn write(&self, page: &mut Page, groups: &[GroupView]) {
        let names = groups.iter().map(|group| group.name.as_str());
        self.write_of(page, names);
    }

    fn write_of<'a>(&self, page: &mut Page, names: impl Iterator<Item = &'a str>) {
        let mut acts = page.counter(
            "lockkeeper_acts_total",
            "Acts through this console by what came of them: done, the code of the refusal, or given-up where the client hung up.",
        );
        let groups = names.filter_map(|name| Some((name, self.of_group(name)?)));
        let elsewhere = ("", Arc::clone(&self.elsewhere));
        for (group, counts) in groups.chain([elsewhere]) {
            for (act, counts) in ActKind::VARIANTS.iter().copied().zip(counts.iter()) {
                for (outcome, n) in counts.each() {
                    let labels = [("group", group), ("act", act.slug()), ("outcome", outcome)];
                    acts.add(&labels, n);
                }
            }
        }
    }
}

impl UnderWay {
    /// What is done while this future is worked on is done for the act.
    pub fn around<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        self.trace.around(future)
    }

    /// It ended like this.
    pub fn end<T>(mut self, end: &Result<T, Fault>) {
        self.trace.ended(end);
        self.outcome = end.as_ref().map_or_else(Fault::code, |_| "done");
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.counts[self.act].add(self.outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(acts: &Acts) -> String {
        let mut page = Page::default();
        acts.write_of(&mut page, ["orders"].into_iter());
        page.text()
    }

    #[test]
    fn an_act_is_counted_by_its_end_and_also_when_nobody_waits_for_it() {
        let acts = Acts::of(["orders"].into_iter());
        acts.begin(ActKind::Acquire, "orders").end::<()>(&Ok(()));
        acts.begin(ActKind::Acquire, "orders")
            .end::<()>(&Err(Fault::NotHeld { nodes: Vec::new() }));
        drop(acts.begin(ActKind::ForceRelease, "orders"));
        let page = page_of(&acts);
        for line in [
            r#"lockkeeper_acts_total{group="orders",act="acquire",outcome="done"} 1"#,
            r#"lockkeeper_acts_total{group="orders",act="acquire",outcome="not-held"} 1"#,
            r#"lockkeeper_acts_total{group="orders",act="force-release",outcome="given-up"} 1"#,
        ] {
            assert!(page.contains(line), "{page}");
        }
    }

    #[test]
    fn a_group_that_somebody_made_up_is_no_label() {
        let acts = Acts::of(["orders"].into_iter());
        for n in 0..100 {
            acts.begin(ActKind::Extend, &format!("made-up-{n}"))
                .end::<()>(&Ok(()));
        }
        let page = page_of(&acts);
        assert!(page.ends_with("{group=\"\",act=\"extend\",outcome=\"done\"} 100\n"));
        assert!(!page.contains("made-up"));
    }
}
