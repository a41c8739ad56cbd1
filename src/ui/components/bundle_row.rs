//! One bundle of locks: its name, how many they are and in which state, the oldest hold, and the lock to look at first.

use leptos::prelude::*;
use strum::VariantArray as _;

use super::lock_name::LockName;
use super::times::Times;
use super::verdict_badge::VerdictBadge;
use crate::domain::{Bundle, By, Flag, Verdict};
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::query::Query;
use crate::ui::words::{locks, rows as words, verdicts};
use crate::ui::{format, paths};

/// Longer names are shortened in the middle; the whole is in the title.
const MOST: usize = 64;

/// A row of the table of bundles.
#[component]
pub fn BundleRow(
    /// The list.
    query: Memo<Query>,
    /// What makes a bundle.
    by: By,
    /// The bundle as it is now.
    bundle: Memo<Bundle>,
    /// Which row of the table it is, counted as screen readers do.
    index: Signal<String>,
) -> impl IntoView {
    const CELL: &str = "px-3 py-1.5 align-middle";
    let live = Live::expect();
    let times = Times::expect();
    let name = bundle.with_untracked(|bundle| bundle.name.clone());
    let title = match name.as_str() {
        "" => words::unnamed(by).to_owned(),
        name => format::visible(name),
    };
    let shown = format::shorten(&title, MOST);
    let look = match (name.as_str(), by) {
        ("", _) => "italic text-muted",
        (_, By::Prefix) => "font-mono wrap-anywhere",
        (_, By::Owner | By::Group) => "wrap-anywhere",
    };
    let href = Signal::derive(move || query.with(|query| query.opened(by, &name).path()));
    let count = Memo::new(move |_| bundle.read().locks);
    let oldest = Memo::new(move |_| bundle.read().oldest);
    let held = move || match times.0.get() {
        true => format::time_of_day(oldest.get()),
        false => format::elapsed(oldest.get(), live.now.get()),
    };
    let states = Memo::new(move |_| states(&bundle.read()));
    let trouble = Memo::new(move |_| {
        let bundle = bundle.read();
        (bundle.attention, flags(&bundle))
    });
    let attention = move || {
        let (attention, flags) = trouble.get();
        let badge = (attention > 0).then(|| {
            view! { <Badge tone=Tone::Alarm>{words::need_attention(attention)}</Badge> }
        });
        let nothing = (attention == 0 && flags.is_empty())
            .then(|| view! { <span class="text-muted">"–"</span> });
        view! {
            <span class="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
                {badge}
                {flags.into_iter().map(|said| view! { <span class="whitespace-nowrap text-xs text-muted">{said}</span> }).collect_view()}
                {nothing}
            </span>
        }
    };
    let first = Memo::new(move |_| bundle.read().first.clone());
    let first = move || {
        let id = first.get();
        view! {
            <Link href=paths::lock(&id) class="block max-w-md truncate rounded underline-offset-2 hover:underline">
                <LockName key=id.key />
            </Link>
        }
    };
    view! {
        <tr role="row" class="bundle-row border-line not-first:border-t" class=("is-gone", move || count.get() == 0) aria-rowindex=move || index.get()>
            <td role="cell" class=CELL>
                <Link href=href title=words::open(&title) class="bundle-link rounded font-semibold underline-offset-2 hover:underline">
                    <bdi class=look title=title>{shown}</bdi>
                </Link>
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap") data-label=words::locks()>
                {move || locks::counted(usize::try_from(count.get()).unwrap_or(usize::MAX))}
            </td>
            <td role="cell" class=CELL data-label=words::attention()>
                {move || attention()}
            </td>
            <td role="cell" class=CELL data-label=words::verdicts()>
                <span class="inline-flex flex-wrap gap-x-3">
                    {move || {
                        states.get().into_iter().map(|(verdict, many)| view! {
                            <span class="inline-flex items-center gap-1 whitespace-nowrap"><VerdictBadge verdict /> " " {many}</span>
                        }).collect_view()
                    }}
                </span>
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap") data-label=words::oldest()>
                {move || held()}
            </td>
            <td role="cell" class=format!("{CELL} min-w-0") data-label=words::first()>
                {move || first()}
            </td>
        </tr>
    }
}

/// How many locks have which verdict, the usual one first.
fn states(bundle: &Bundle) -> Vec<(Verdict, String)> {
    let many = |verdict: Verdict| {
        let many = bundle.verdicts.get(verdict.slug())?;
        Some((verdict, format::count((*many).into())))
    };
    Verdict::VARIANTS.iter().copied().filter_map(many).collect()
}

/// How many locks have which flag, in words. A fragment is what its verdict says.
fn flags(bundle: &Bundle) -> Vec<String> {
    let told = |flag: &Flag| *flag != Flag::Fragment;
    let many = |flag: Flag| {
        let many = bundle.flags.get(flag.slug())?;
        Some(format!(
            "{} {}",
            verdicts::flag(flag),
            format::count((*many).into())
        ))
    };
    Flag::VARIANTS
        .iter()
        .copied()
        .filter(told)
        .filter_map(many)
        .collect()
}
