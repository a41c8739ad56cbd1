//! The filters of the audit log. An HTML form, so that it works before hydration and without
//! JavaScript.

use leptos::prelude::*;
use strum::VariantArray as _;

use crate::domain::{AuditFilter, GroupView, OperationKind, OperationResult, Timestamp};
use crate::ui::audit_query::AuditQuery;
use crate::ui::i18n::{audit as t, terms};
use crate::ui::kit::{Link, PhoneSheet, field::CONTROL};
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The class of a filter. Phones show two filters side by side.
const FIELD_CLASS: &str = "flex flex-col gap-1 text-xs text-muted max-sm:min-w-36 max-sm:grow";

/// Filters for text, operation, result, group, actor and time.
#[component]
pub fn AuditFilterForm(
    /// The current query.
    query: AuditQuery,
) -> impl IntoView {
    let live = Live::expect();
    let given = query.active_filter_count();
    let ranges = ranges(&query, live.now.get_untracked());
    let filter = query.filter;
    // Untracked: a change of the groups must not render the form again while the user types.
    let groups = untrack(|| {
        live.with_groups(|groups| {
            let name = |group: &GroupView| (group.name.clone(), group.name.clone());
            groups.iter().map(name).collect::<Vec<_>>()
        })
    });
    let operations = OperationKind::VARIANTS
        .iter()
        .map(|&kind| (kind.slug().to_owned(), terms::operation(kind).to_owned()))
        .collect::<Vec<_>>();
    let results = OperationResult::VARIANTS
        .iter()
        .map(|&result| {
            (
                result.slug().to_owned(),
                terms::operation_result(result).to_owned(),
            )
        })
        .collect::<Vec<_>>();
    let to_minutes = |time: Option<Timestamp>| time.map(|time| time.to_string()[..16].to_owned());
    let of_lock = filter.key.as_ref().map(|key| {
        let name = format::shorten(&format::escape_invisible(&key.text()), 48);
        let encoded = key.encoded();
        view! {
            <input type="hidden" name="key_encoded" value=encoded />
            <span>{t::only_lock()} <bdi class="font-mono">{name}</bdi></span>
        }
    });
    let is_filtered = filter != AuditFilter::default();
    view! {
        <form action=paths::AUDIT method="get" role="search" class="mb-4 flex flex-wrap items-end gap-2">
            <label class="flex min-w-52 max-w-md grow flex-col gap-1 text-xs text-muted max-sm:basis-full">
                {t::find()}
                <input type="search" name="q" class=CONTROL value=filter.text autocomplete="off" spellcheck="false" />
            </label>
            // On phones the other filters are in a sheet, so that the latest entries are on the
            // first screen.
            <PhoneSheet id="audit-filters" label=t::filters(given) class="h-9 rounded-md border border-line-strong px-3" close_label=t::close()>
            <FilterSelect name="action" label=t::operation() any=t::all_operations() options=operations chosen=filter.action.map(|kind| kind.slug().to_owned()) />
            <FilterSelect name="result" label=t::result() any=t::all_results() options=results chosen=filter.result.map(|result| result.slug().to_owned()) />
            <FilterSelect name="group" label=t::group() any=t::all_groups() options=groups chosen=filter.group />
            <label class=FIELD_CLASS>
                {t::principal()}
                <input name="actor" class=CONTROL value=filter.actor autocomplete="off" spellcheck="false" />
            </label>
            <label class=FIELD_CLASS>
                {t::from_utc()}
                <input type="datetime-local" name="from" class=CONTROL value=to_minutes(filter.from) />
            </label>
            <label class=FIELD_CLASS>
                {t::until_utc()}
                <input type="datetime-local" name="until" class=CONTROL value=to_minutes(filter.until) />
            </label>
            {ranges}
            {of_lock}
            <button type="submit" class="h-9 rounded-md bg-accent px-3 font-medium text-on-accent max-sm:basis-full">
                {t::show()}
            </button>
            </PhoneSheet>
            {is_filtered
                .then(|| {
                    view! {
                        <Link href=paths::AUDIT.to_owned() class="inline-flex h-9 items-center underline underline-offset-2">
                            {t::clear_filters()}
                        </Link>
                    }
                })}
        </form>
    }
}

/// Links to the entries of the last hour, day and week.
fn ranges(query: &AuditQuery, now: Timestamp) -> impl IntoView + use<> {
    let link = |hours: i64, label: &'static str| {
        // Whole minutes, as in the form's fields.
        let minute = now.millis() / 60_000 - hours * 60;
        let path = query.since(Timestamp::from_millis(minute * 60_000)).path();
        view! {
            <Link href=path class="inline-flex h-9 items-center rounded-md px-2 text-muted whitespace-nowrap hover:bg-sunken hover:text-ink">
                {label}
            </Link>
        }
    };
    view! {
        <nav aria-label=t::ranges() class="flex">
            {link(1, t::last_hour())}
            {link(24, t::last_day())}
            {link(168, t::last_week())}
        </nav>
    }
}

#[component]
fn FilterSelect(
    name: &'static str,
    label: &'static str,
    any: &'static str,
    options: Vec<(String, String)>,
    chosen: Option<String>,
) -> impl IntoView {
    let option = |(slug, label): (String, String)| {
        let is_chosen = chosen.as_ref() == Some(&slug);
        view! {
            <option value=slug selected=is_chosen>
                {label}
            </option>
        }
    };
    view! {
        <label class=FIELD_CLASS>
            {label} <select name=name class=CONTROL>
                <option value="" selected=chosen.is_none()>
                    {any}
                </option>
                {options.into_iter().map(option).collect_view()}
            </select>
        </label>
    }
}

/// Replaces the hyphens of a slug: `force-release` becomes `force release`.
pub fn humanize_slug(slug: &str) -> String {
    slug.replace('-', " ")
}
