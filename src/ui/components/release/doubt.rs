//! What a release cannot reach.

use leptos::prelude::*;

use super::reach::Reach;
use crate::ui::kit::{Banner, Tone};
use crate::ui::words::act as words;

/// Names the nodes that do not answer, and says whether they are a quorum.
#[component]
pub(super) fn Doubt(reach: Memo<Reach>) -> impl IntoView {
    move || {
        let (away, keeps_a_quorum) = reach.with(Reach::doubt)?;
        let tone = match keeps_a_quorum {
            true => Tone::Alarm,
            false => Tone::Warn,
        };
        Some(view! {
            <Banner tone announced=false>
                <p>{away}</p>
                {keeps_a_quorum.then(|| view! { <p>{words::keeps_a_quorum()}</p> })}
            </Banner>
        })
    }
}
