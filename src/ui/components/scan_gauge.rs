//! How much of a node's time its scan takes, of what the configuration allows.

use leptos::prelude::*;

use crate::domain::node_past::ScanBudget;
use crate::ui::format;
use crate::ui::live::Live;
use crate::ui::words::{nodes as words, punctuation};

/// The gauge: a real meter, and its figures.
#[component]
pub fn ScanGauge(
    /// What was measured.
    scan: Option<ScanBudget>,
) -> impl IntoView {
    let live = Live::expect();
    let Some(scan) = scan else {
        return view! { <p class="text-xs text-muted">{punctuation::told(words::scan_budget(), words::scan_none())}</p> }.into_any();
    };
    let used = format!("{}.{}", scan.used_permille / 10, scan.used_permille % 10);
    let told = words::scan_used(used, scan.allowed_percent);
    let told = punctuation::told(words::scan_budget(), &told);
    let measured =
        move || words::scan_measured(scan.keys_a_call, format::ago(scan.at, live.now.get()));
    view! {
        <div class="flex flex-col gap-0.5 text-xs text-muted">
            <span>{told.clone()}</span>
            <meter
                class="gauge h-2 w-full"
                min="0"
                max=(scan.allowed_percent * 10).to_string()
                value=scan.used_permille.to_string()
                aria-label=told
            ></meter>
            <span class="tabular-nums">{measured}</span>
        </div>
    }
    .into_any()
}
