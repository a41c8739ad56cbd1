//! The nodes of a lock: one line while all of them agree, otherwise their replies.

use leptos::prelude::*;

use super::node_dots::{NodeDots, NodeMark, node_marks};
use super::node_matrix::NodeMatrix;
use crate::domain::{GroupView, Lock};
use crate::ui::format;
use crate::ui::i18n::lock as t;
use crate::ui::i18n::punctuation;
use crate::ui::kit::card::CARD;

/// The replies of all nodes, folded while every node shows the owner.
#[component]
pub fn LockNodes(
    /// The lock, updated live.
    #[prop(into)]
    lock: Signal<Lock>,
    /// The lock's group, for the state of the nodes.
    #[prop(into)]
    group: Signal<Option<GroupView>>,
) -> impl IntoView {
    let agree = Memo::new(move |_| has_agreement(&lock.read()));
    let total = Memo::new(move |_| lock.read().nodes.len());
    let marks = Memo::new(move |_| node_marks(&lock.read()));
    let latency = Memo::new(move |_| group.with(|group| latency_range(group.as_ref())));
    let summary = move || {
        let latency = latency.get();
        let latency = latency.map(|range| punctuation::comma().to_owned() + &range);
        t::nodes_agree(total.get()) + &latency.unwrap_or_default()
    };
    move || match agree.get() {
        false => view! { <NodeMatrix lock group /> }.into_any(),
        true => view! {
            <details class=CARD>
                <summary class="flex flex-wrap items-center gap-x-3 px-4 py-2.5">
                    {move || view! { <NodeDots node_marks=marks.get() /> }}
                    <span class="font-medium">{summary}</span>
                </summary>
                <NodeMatrix lock group />
            </details>
        }
        .into_any(),
    }
}

/// Whether every node shows the same owner and no other.
fn has_agreement(lock: &Lock) -> bool {
    let marks = node_marks(lock);
    let is_alone = |node: &crate::domain::NodeObservation| {
        node.observation.owners().count() == lock.owners.len()
    };
    marks.len() > 1
        && marks.iter().all(|(_, mark)| *mark == NodeMark::Holds)
        && lock.nodes.iter().all(is_alone)
}

/// The smallest and the largest latency of the nodes: `0.2–0.5 ms`.
fn latency_range(group: Option<&GroupView>) -> Option<String> {
    let nodes = group?.nodes.iter();
    let latencies: Vec<f64> = nodes.filter_map(|node| node.latency_ms).collect();
    let least = latencies.iter().copied().reduce(f64::min)?;
    let most = latencies.iter().copied().reduce(f64::max)?;
    let (least, most) = (format::latency(least), format::latency(most));
    Some(match least == most {
        true => least,
        false => t::latency_range(&least, &most),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::{NOW, lock, owner};
    use crate::domain::{Lease, NodeObservation, Observation};

    #[test]
    fn nodes_agree_if_all_of_them_show_the_only_owner() {
        let seen = |observations: [Observation; 3]| {
            let mut lock = lock(&[1], NOW, NOW);
            let named = ["a", "b", "c"].into_iter().zip(observations);
            lock.nodes = named
                .map(|(node, observation)| NodeObservation {
                    node: node.into(),
                    observation,
                })
                .collect();
            has_agreement(&lock)
        };
        let holds = |n| Observation::held_by(owner(n), Lease::Never);
        assert!(seen([holds(1), holds(1), holds(1)]));
        assert!(!seen([holds(1), holds(1), holds(2)]));
        assert!(!seen([holds(1), holds(1), Observation::Absent]));
    }
}
