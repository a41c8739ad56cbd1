//! The share of a node's time that scans use, compared with the configured budget.

use leptos::prelude::*;

use crate::domain::node_history::ScanBudget;
use crate::ui::format;
use crate::ui::i18n::{nodes as t, punctuation};
use crate::ui::live::Live;

/// A meter with its values.
#[component]
pub fn ScanGauge(
    /// The last measurement. `None` if there was no scan.
    scan: Option<ScanBudget>,
) -> impl IntoView {
    let live = Live::expect();
    let Some(scan) = scan else {
        return view! { <p class="text-xs text-muted">{punctuation::labelled(t::scan_budget(), t::scan_none())}</p> }.into_any();
    };
    let used = format!("{}.{}", scan.used_permille / 10, scan.used_permille % 10);
    let label = t::scan_used(used, scan.allowed_percent);
    let label = punctuation::labelled(t::scan_budget(), &label);
    let measured =
        move || t::scan_measured(scan.keys_per_call, format::ago(scan.at, live.now.get()));
    view! {
        <div class="flex flex-col gap-0.5 text-xs text-muted">
            <span>{label.clone()}</span>
            <meter
                class="gauge h-2 w-full"
                min="0"
                max=(scan.allowed_percent * 10).to_string()
                value=scan.used_permille.to_string()
                aria-label=label
            ></meter>
            <span class="tabular-nums">{measured}</span>
        </div>
    }
    .into_any()
}
