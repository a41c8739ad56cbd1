//! `/help`: terms, verdicts, flags, search syntax, shortcuts and limits of observation.
//!
//! The page is static, so it is rendered on the server only: its text would make the program of the
//! browser larger than any other page.

use leptos::html;
use leptos::prelude::*;
use leptos_meta::Title;

use crate::domain::{Flag, Verdict};
use crate::ui::components::node_dots::{Dot, NodeMark};
use crate::ui::components::resource_view::AwaitSnapshot;
use crate::ui::components::shortcuts_dialog::ShortcutsTable;
use crate::ui::components::verdict_badge::{FlagBadges, VerdictBadge};
use crate::ui::components::verdict_diagram::VerdictDiagram;
use crate::ui::i18n::{help, palette, shell};

/// The help page.
#[component]
pub fn HelpPage() -> impl IntoView {
    let node = NodeRef::<html::Div>::new();
    // After a navigation in the browser, such as the back button, there is no server-rendered
    // content.
    Effect::new(move || {
        if node
            .get()
            .is_some_and(|node| node.child_element_count() == 0)
        {
            // Fails only if there is no document to reload.
            let _infallible = window().location().reload();
        }
    });
    view! {
        <Title text=format!("{} · Lockkeeper", shell::help()) />
        <div node_ref=node inner_html=contents()></div>
        // The live indicator needs the snapshot.
        <AwaitSnapshot>""</AwaitSnapshot>
    }
}

/// The rendered content. The browser keeps what the server sent.
fn contents() -> String {
    if cfg!(target_arch = "wasm32") {
        String::new()
    } else {
        view! { <Contents /> }.to_html()
    }
}

#[component]
fn Contents() -> impl IntoView {
    let sections = [
        ("terms", help::words()),
        ("verdicts", help::verdicts()),
        ("flags", help::flags()),
        ("node-dots", help::dots()),
        ("advice", help::advice::title()),
        ("search", help::search()),
        ("activity", help::activity()),
        ("keys", palette::shortcuts()),
        ("limits", help::limits()),
        ("more", help::more()),
    ];
    let links = sections.map(|(id, title)| {
        view! {
            <li>
                <a href=format!("#{id}") rel="external" class="text-accent underline underline-offset-2">
                    {title}
                </a>
            </li>
        }
    });
    view! {
        <div class="mx-auto flex max-w-4xl flex-col gap-8">
            <header class="flex flex-col gap-2">
                <h1 class="text-xl font-semibold">{shell::help()}</h1>
                <p class="text-muted">{help::intro()}</p>
                <nav aria-label=help::contents()>
                    <ul class="flex flex-wrap gap-x-4 gap-y-1">{links.collect_view()}</ul>
                </nav>
            </header>
            <Section id="terms" title=help::words()>
                {definition_list(term_definitions())}
            </Section>
            <Section id="verdicts" title=help::verdicts()>
                <p>{help::verdicts_intro()}</p>
                <div class="grid items-start gap-6 md:grid-cols-[22rem_1fr]">
                    <VerdictDiagram />
                    <dl>{verdict_definitions().map(verdict_row).collect_view()}</dl>
                </div>
            </Section>
            <Section id="flags" title=help::flags()>
                <dl>{flag_definitions().map(flag_row).collect_view()}</dl>
            </Section>
            <Section id="node-dots" title=help::dots()>
                <p>{help::dots_intro()}</p>
                <dl>{dot_definitions().map(dot_row).collect_view()}</dl>
            </Section>
            <Section id="advice" title=help::advice::title()>
                <p>{help::advice::intro()}</p>
                {definition_list(advice_definitions())}
                <p>{help::advice::attention()}</p>
            </Section>
            <Section id="search" title=help::search()>
                <p>{help::search_intro()}</p>
                {search_examples()}
            </Section>
            <Section id="activity" title=help::activity()>
                <p>{help::activity_is()}</p>
                <p>{help::activity_find()}</p>
            </Section>
            <Section id="keys" title=palette::shortcuts()>
                <ShortcutsTable />
                <p class="text-muted">{palette::shortcuts_note()}</p>
            </Section>
            <Section id="limits" title=help::limits()>
                <ul class="flex list-disc flex-col gap-1.5 ps-5">
                    {limits().map(|limit| view! { <li>{limit}</li> }).collect_view()}
                </ul>
            </Section>
            <Section id="more" title=help::more()>
                <ul class="flex list-disc flex-col gap-1.5 ps-5">
                    {reference_links()
                        .map(|(path, label)| {
                            view! {
                                <li>
                                    <a href=path rel="external" class="text-accent underline underline-offset-2">
                                        {label}
                                    </a>
                                </li>
                            }
                        })
                        .collect_view()}
                    <li>{help::terminal()}" "<code>"lockkeeper --help"</code></li>
                </ul>
            </Section>
        </div>
    }
}

#[component]
fn Section(id: &'static str, title: &'static str, children: Children) -> impl IntoView {
    view! {
        <section id=id aria-labelledby=format!("{id}-title") class="flex flex-col gap-3">
            <h2 id=format!("{id}-title") class="text-lg font-semibold">
                {title}
            </h2>
            {children()}
        </section>
    }
}

fn advice_definitions() -> [(&'static str, &'static str); 3] {
    use crate::ui::i18n::advice::{owner_alive, owner_silent, owner_unknown};
    [
        (owner_alive(), help::advice::alive_is()),
        (owner_silent(), help::advice::silent_is()),
        (owner_unknown(), help::advice::unknown_is()),
    ]
}

fn definition_list<const N: usize>(terms: [(&'static str, &'static str); N]) -> impl IntoView {
    let row = |(term, meaning): (&'static str, _)| {
        view! { <Definition term=term.into_any() meaning /> }
    };
    view! { <dl>{terms.map(row).collect_view()}</dl> }
}

/// A term as it is drawn on the other pages, and its meaning.
#[component]
fn Definition(
    /// The term.
    term: AnyView,
    /// Its meaning.
    meaning: &'static str,
    /// The target of links to the explanation.
    #[prop(optional, into)]
    id: Option<String>,
) -> impl IntoView {
    view! {
        <div id=id class="grid items-baseline gap-x-4 border-b border-line py-1.5 target:bg-accent-soft sm:grid-cols-[9rem_1fr]">
            <dt class="font-medium">{term}</dt>
            <dd>{meaning}</dd>
        </div>
    }
}

fn verdict_row((verdict, meaning): (Verdict, &'static str)) -> impl IntoView {
    let term = view! { <VerdictBadge verdict /> }.into_any();
    view! { <Definition term meaning id=format!("verdict-{}", verdict.slug()) /> }
}

fn flag_row((flag, meaning): (Flag, &'static str)) -> impl IntoView {
    let term = view! { <FlagBadges flags=vec![flag] evidence=Vec::new() /> }.into_any();
    view! { <Definition term meaning id=format!("flag-{}", flag.slug()) /> }
}

fn dot_row((mark, meaning): (NodeMark, &'static str)) -> impl IntoView {
    let term = view! {
        <span class="inline-flex items-center gap-1.5"><Dot mark /> {mark.label()}</span>
    };
    view! { <Definition term=term.into_any() meaning /> }
}

fn search_examples() -> impl IntoView {
    let row = |(write, means)| {
        view! {
            <tr class="border-b border-line">
                <td class="py-1.5 pe-4">
                    <code class="wrap-break-word">{write}</code>
                </td>
                <td class="py-1.5">{means}</td>
            </tr>
        }
    };
    let rows = [
        ("group:orders", help::of_group()),
        ("verdict:held", help::of_verdict()),
        ("flag:no-expiry", help::of_flag()),
        ("format:redisson", help::of_format()),
        ("owner:web-3", help::of_owner()),
        ("key:lock:invoice:*", help::of_key()),
        ("prefix:lock:invoice:", help::of_prefix()),
        ("host:web-3", help::of_host()),
        ("node:a", help::of_node()),
        ("held>10m", help::of_held()),
        ("lease<5s", help::of_lease()),
        ("-group:orders", help::of_minus()),
    ];
    view! {
        <table>
            <thead class="text-start text-muted">
                <tr class="border-b border-line">
                    <th scope="col" class="py-1.5 pe-4 text-start font-medium">{help::search_write()}</th>
                    <th scope="col" class="py-1.5 text-start font-medium">{help::search_means()}</th>
                </tr>
            </thead>
            <tbody>{rows.map(row).collect_view()}</tbody>
        </table>
    }
}

fn term_definitions() -> [(&'static str, &'static str); 11] {
    [
        (help::group(), help::group_is()),
        (help::node(), help::node_is()),
        (help::lock(), help::lock_is()),
        (help::owner(), help::owner_is()),
        (help::fingerprint(), help::fingerprint_is()),
        (help::token(), help::token_is()),
        (help::lease(), help::lease_is()),
        (help::quorum(), help::quorum_is()),
        (help::renewal(), help::renewal_is()),
        (help::evidence(), help::evidence_is()),
        (help::force_release(), help::force_release_is()),
    ]
}

fn verdict_definitions() -> [(Verdict, &'static str); 4] {
    [
        (Verdict::Held, help::held_is()),
        (Verdict::Unknown, help::unknown_is()),
        (Verdict::Split, help::split_is()),
        (Verdict::Partial, help::partial_is()),
    ]
}

fn flag_definitions() -> [(Flag, &'static str); 8] {
    [
        (Flag::NoExpiry, help::no_expiry_is()),
        (Flag::AtRisk, help::at_risk_is()),
        (Flag::Overdue, help::overdue_is()),
        (Flag::Endless, help::endless_is()),
        (Flag::Contended, help::contended_is()),
        (Flag::Split, help::split_flag_is()),
        (Flag::Fragment, help::fragment_is()),
        (Flag::RestartHazard, help::restart_hazard_is()),
    ]
}

fn dot_definitions() -> [(NodeMark, &'static str); 4] {
    [
        (NodeMark::Holds, help::dot_holds_is()),
        (NodeMark::OtherOwner, help::dot_other_is()),
        (NodeMark::Unreachable, help::dot_unreachable_is()),
        (NodeMark::Absent, help::dot_absent_is()),
    ]
}

fn limits() -> [&'static str; 8] {
    [
        help::limit_latest(),
        help::limit_free(),
        help::limit_process(),
        help::limit_contention(),
        help::limit_since(),
        help::limit_clock(),
        help::limit_between(),
        help::limit_services(),
    ]
}

fn reference_links() -> [(&'static str, &'static str); 3] {
    [
        (crate::ui::paths::API_DOCS, help::api_docs()),
        ("/api/openapi.json", help::api_document()),
        ("/metrics", help::metrics()),
    ]
}
