//! One bucket of locks: name, number of locks by state, the oldest hold, and the lock that needs
//! attention most.

use leptos::prelude::*;
use strum::VariantArray as _;

use super::lock_name::LockName;
use super::time_display::TimeDisplay;
use super::verdict_badge::VerdictBadge;
use crate::domain::{Bucket, Flag, GroupBy, Verdict};
use crate::ui::i18n::{grouping as t, locks, terms};
use crate::ui::kit::{Badge, Link, Tone};
use crate::ui::live::Live;
use crate::ui::locks_query::LocksQuery;
use crate::ui::{format, paths};

/// Longer names are shortened in the middle; the title has the full name.
const MAX_NAME_CHARS: usize = 64;

/// A row of the bucket table.
#[component]
pub fn BucketRow(
    /// The query of the list.
    query: Memo<LocksQuery>,
    /// The grouping.
    by: GroupBy,
    /// The current bucket.
    bucket: Memo<Bucket>,
    /// The ARIA row index.
    index: Signal<String>,
) -> impl IntoView {
    const CELL: &str = "px-3 py-1.5 align-middle";
    let live = Live::expect();
    let time_display = TimeDisplay::expect();
    let name = bucket.with_untracked(|bucket| bucket.name.clone());
    let title = match name.as_str() {
        "" => t::empty_bucket(by).to_owned(),
        name => format::escape_invisible(name),
    };
    let shortened = format::shorten(&title, MAX_NAME_CHARS);
    let name_class = match (name.as_str(), by) {
        ("", _) => "italic text-muted",
        (_, GroupBy::Prefix) => "font-mono wrap-anywhere",
        (_, GroupBy::Owner | GroupBy::Group) => "wrap-anywhere",
    };
    let href =
        Signal::derive(move || query.with(|query| query.narrowed_to_bucket(by, &name).path()));
    let count = Memo::new(move |_| bucket.read().lock_count);
    let oldest = Memo::new(move |_| bucket.read().oldest_acquired_at);
    let held = move || match time_display.0.get() {
        true => format::time_of_day(oldest.get()),
        false => format::elapsed(oldest.get(), live.now.get()),
    };
    let verdicts = Memo::new(move |_| verdict_counts(&bucket.read()));
    let attention_and_flags = Memo::new(move |_| {
        let bucket = bucket.read();
        (bucket.attention, flag_counts(&bucket))
    });
    let attention = move || {
        let (attention, flags) = attention_and_flags.get();
        let badge = (attention > 0).then(|| {
            view! { <Badge tone=Tone::Alarm>{t::need_attention(attention)}</Badge> }
        });
        let nothing = (attention == 0 && flags.is_empty())
            .then(|| view! { <span class="text-muted">"–"</span> });
        view! {
            <span class="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
                {badge}
                {flags.into_iter().map(|text| view! { <span class="whitespace-nowrap text-xs text-muted">{text}</span> }).collect_view()}
                {nothing}
            </span>
        }
    };
    let first = Memo::new(move |_| bucket.read().first_lock.clone());
    let first = move || {
        let id = first.get();
        view! {
            <Link href=paths::lock(&id) class="block max-w-md truncate rounded underline-offset-2 hover:underline">
                <LockName key=id.key />
            </Link>
        }
    };
    view! {
        <tr role="row" class="bucket-row border-line not-first:border-t" class=("is-gone", move || count.get() == 0) aria-rowindex=move || index.get()>
            <td role="cell" class=CELL>
                <Link href=href title=t::open(&title) class="bucket-link rounded font-semibold underline-offset-2 hover:underline">
                    <bdi class=name_class title=title>{shortened}</bdi>
                </Link>
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap") data-label=t::locks()>
                {move || locks::counted(usize::try_from(count.get()).unwrap_or(usize::MAX))}
            </td>
            <td role="cell" class=CELL data-label=t::attention()>
                {move || attention()}
            </td>
            <td role="cell" class=CELL data-label=t::verdicts()>
                <span class="inline-flex flex-wrap gap-x-3">
                    {move || {
                        verdicts.get().into_iter().map(|(verdict, count)| view! {
                            <span class="inline-flex items-center gap-1 whitespace-nowrap"><VerdictBadge verdict /> " " {count}</span>
                        }).collect_view()
                    }}
                </span>
            </td>
            <td role="cell" class=format!("{CELL} whitespace-nowrap") data-label=t::oldest()>
                {move || held()}
            </td>
            <td role="cell" class=format!("{CELL} min-w-0") data-label=t::first()>
                {move || first()}
            </td>
        </tr>
    }
}

/// The number of locks by verdict, in the order of the enum.
fn verdict_counts(bucket: &Bucket) -> Vec<(Verdict, String)> {
    let count = |verdict: Verdict| {
        let count = bucket.verdicts.get(verdict.slug())?;
        Some((verdict, format::count((*count).into())))
    };
    Verdict::VARIANTS
        .iter()
        .copied()
        .filter_map(count)
        .collect()
}

/// The number of locks by flag, as text. `fragment` is left out, because the verdict implies it.
fn flag_counts(bucket: &Bucket) -> Vec<String> {
    let is_shown = |flag: &Flag| *flag != Flag::Fragment;
    let count = |flag: Flag| {
        let count = bucket.flags.get(flag.slug())?;
        Some(format!(
            "{} {}",
            terms::flag(flag),
            format::count((*count).into())
        ))
    };
    Flag::VARIANTS
        .iter()
        .copied()
        .filter(is_shown)
        .filter_map(count)
        .collect()
}
