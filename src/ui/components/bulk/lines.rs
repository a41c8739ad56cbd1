//! The locks of the dialog, a row each, with what becomes of them.

use leptos::prelude::*;

use super::report::told;
use super::run::{Line, Run};
use crate::ui::components::lock_name::LockName;
use crate::ui::kit::Table;
use crate::ui::live::Live;
use crate::ui::words::bulk as words;

/// Of more locks than this those are followed only that are on the page anyway.
const FOLLOWED: usize = 50;

/// The table of the dialog.
#[component]
pub(super) fn Lines(
    /// What is being done.
    run: Run,
) -> impl IntoView {
    let count = Memo::new(move |_| run.lines.with(Vec::len));
    let head = "sticky top-0 bg-sunken px-3 py-1.5 text-start font-medium text-muted";
    view! {
        <div
            class="max-h-64 overflow-auto rounded-lg border border-line"
            role="region"
            aria-label=words::each()
            tabindex="0"
        >
            <Table
                titles=vec![words::lock(), words::owner(), words::outcome()]
                title_class=head
                class="w-full border-collapse text-start [&_td]:border-t [&_td]:border-line [&_td]:px-3 [&_td]:py-1.5 [&_td]:align-top"
            >
                <For each=move || 0..count.get() key=|nth| *nth let:nth>
                    {run.lines.with_untracked(|lines| lines.get(nth).cloned()).map(|line| view! { <Row run nth line /> })}
                </For>
            </Table>
        </div>
    }
}

#[component]
fn Row(run: Run, nth: usize, line: Line) -> impl IntoView {
    let live = Live::expect();
    let id = line.picked.id.clone();
    if run.lines.with_untracked(Vec::len) <= FOLLOWED {
        live.follow(&id);
    }
    let outcome = Memo::new(move |_| {
        run.lines.with(|lines| {
            let line = lines.get(nth)?;
            let lock = live.with_locks(|locks| locks.get(&line.picked.id).cloned());
            Some(told(line, lock.as_deref()))
        })
    });
    let said = move || {
        let (words, tone) = outcome.get()?;
        Some(view! { <span class=tone.text()>{words}</span> })
    };
    view! {
        <tr>
            <td>
                <LockName key=id.key most=60 />
                <span class="block text-xs text-muted">{id.group}</span>
            </td>
            <td class="wrap-anywhere"><bdi>{line.owner}</bdi></td>
            <td class="wrap-anywhere">{said}</td>
        </tr>
    }
}
