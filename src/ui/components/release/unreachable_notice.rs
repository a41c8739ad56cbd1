//! A warning about nodes that a release cannot reach.

use leptos::prelude::*;

use super::node_coverage::NodeCoverage;
use crate::ui::i18n::operations as t;
use crate::ui::kit::{Banner, Tone};

/// Lists the unreachable nodes, and warns if they are a quorum, which the owner may then keep.
#[component]
pub(super) fn UnreachableNodesNotice(coverage: Memo<NodeCoverage>) -> impl IntoView {
    move || {
        let (text, keeps_a_quorum) = coverage.with(NodeCoverage::unreachable_warning)?;
        let tone = match keeps_a_quorum {
            true => Tone::Alarm,
            false => Tone::Warn,
        };
        Some(view! {
            <Banner tone announced=false>
                <p>{text}</p>
                {keeps_a_quorum.then(|| view! { <p>{t::keeps_a_quorum()}</p> })}
            </Banner>
        })
    }
}
