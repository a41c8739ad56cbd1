//! What the audit is narrowed to. A real form: it works before the page has woken up, and without JavaScript.

use leptos::prelude::*;
use strum::VariantArray as _;

use crate::domain::{ActEnd, ActKind, AuditFilter, GroupView, Timestamp};
use crate::ui::audit_query::AuditQuery;
use crate::ui::kit::{Link, field::CONTROL};
use crate::ui::live::Live;
use crate::ui::words::{audit as say, verdicts};
use crate::ui::{format, paths};

/// A filter. On a phone two stand side by side and reach both edges.
const FIELD: &str = "flex flex-col gap-1 text-xs text-muted max-sm:min-w-36 max-sm:grow";

/// Search, kind of act, end, group, person and time.
#[component]
pub fn AuditFilterForm(
    /// What is shown now.
    query: AuditQuery,
) -> impl IntoView {
    let live = Live::expect();
    let given = query.given();
    let filter = query.filter;
    // Drawn once: what somebody types must not be drawn over when a node goes down.
    let groups = untrack(|| {
        live.with_groups(|groups| {
            let name = |group: &GroupView| (group.name.clone(), group.name.clone());
            groups.iter().map(name).collect::<Vec<_>>()
        })
    });
    let acts = ActKind::VARIANTS
        .iter()
        .map(|&kind| (kind.slug().to_owned(), verdicts::act(kind).to_owned()))
        .collect::<Vec<_>>();
    let ends = ActEnd::VARIANTS
        .iter()
        .map(|&end| (end.slug().to_owned(), verdicts::act_end(end).to_owned()))
        .collect::<Vec<_>>();
    let minutes =
        |moment: Option<Timestamp>| moment.map(|moment| moment.to_string()[..16].to_owned());
    let of_lock = filter.key.as_ref().map(|key| {
        let name = format::shorten(&format::visible(&key.text()), 48);
        let encoded = key.encoded();
        view! {
            <input type="hidden" name="key_encoded" value=encoded />
            <span>{say::only_of()} <bdi class="font-mono">{name}</bdi></span>
        }
    });
    let is_narrowed = filter != AuditFilter::default();
    let is_unfolded = RwSignal::new(false);
    view! {
        <form action=paths::AUDIT method="get" role="search" class="mb-4 flex flex-wrap items-end gap-2">
            <label class="flex min-w-52 max-w-md grow flex-col gap-1 text-xs text-muted max-sm:basis-full">
                {say::find()}
                <input type="search" name="q" class=CONTROL value=filter.text autocomplete="off" spellcheck="false" />
            </label>
            // On a phone the rest is one press away, so that the latest acts are on the first screen.
            <button
                type="button"
                class="needs-script h-9 rounded-md border border-line-strong px-3 aria-expanded:w-full aria-expanded:bg-accent-soft sm:hidden"
                aria-expanded=move || is_unfolded.get().to_string()
                aria-controls="audit-filters"
                on:click=move |_| is_unfolded.update(|is_unfolded| *is_unfolded = !*is_unfolded)
            >
                {say::filters(given)}
            </button>
            <div id="audit-filters" class="table-more" class=("is-unfolded", move || is_unfolded.get())>
            <Choice name="act" label=say::act() any=say::every_act() options=acts chosen=filter.act.map(|act| act.slug().to_owned()) />
            <Choice name="end" label=say::end() any=say::every_end() options=ends chosen=filter.end.map(|end| end.slug().to_owned()) />
            <Choice name="group" label=say::group() any=say::all_groups() options=groups chosen=filter.group />
            <label class=FIELD>
                {say::who()}
                <input name="who" class=CONTROL value=filter.who autocomplete="off" spellcheck="false" />
            </label>
            <label class=FIELD>
                {say::from_utc()}
                <input type="datetime-local" name="from" class=CONTROL value=minutes(filter.from) />
            </label>
            <label class=FIELD>
                {say::until_utc()}
                <input type="datetime-local" name="until" class=CONTROL value=minutes(filter.until) />
            </label>
            </div>
            {of_lock}
            <button type="submit" class="h-9 rounded-md bg-accent px-3 font-medium text-on-accent">
                {say::show()}
            </button>
            {is_narrowed
                .then(|| {
                    view! {
                        <Link href=paths::AUDIT.to_owned() class="inline-flex h-9 items-center underline underline-offset-2">
                            {say::everything()}
                        </Link>
                    }
                })}
        </form>
    }
}

#[component]
fn Choice(
    name: &'static str,
    label: &'static str,
    any: &'static str,
    options: Vec<(String, String)>,
    chosen: Option<String>,
) -> impl IntoView {
    let option = |(slug, words): (String, String)| {
        let is_chosen = chosen.as_ref() == Some(&slug);
        view! {
            <option value=slug selected=is_chosen>
                {words}
            </option>
        }
    };
    view! {
        <label class=FIELD>
            {label} <select name=name class=CONTROL>
                <option value="" selected=chosen.is_none()>
                    {any}
                </option>
                {options.into_iter().map(option).collect_view()}
            </select>
        </label>
    }
}

/// `force-release` as people say it.
pub fn words(slug: &str) -> String {
    slug.replace('-', " ")
}
