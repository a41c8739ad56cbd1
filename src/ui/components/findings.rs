//! What the doctor says of a group: findings with what they are concluded from, why they matter, and what helps.

use leptos::prelude::*;

use crate::domain::{Checkup, Finding, Severity, Unchecked};
use crate::ui::format;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, CopyButton, Tone};
use crate::ui::words::{findings as words, punctuation};

/// What the doctor says of one group, kept up to date; grouped by how much it matters.
#[component]
pub fn Findings(
    /// The group.
    name: String,
    /// What was told last, without the moment: a finding that is open stays open while it says the same.
    checkup: Memo<Option<Checkup>>,
) -> impl IntoView {
    let summary = move || {
        let checkup = checkup.read();
        let checkup = checkup.as_ref()?;
        let worst = checkup.findings.first();
        let tone = worst.map_or(Tone::Good, |finding| severity_tone(finding.severity));
        let words = words::summary(checkup);
        Some(view! { <span class=format!("font-medium {}", tone.text())>{words}</span> })
    };
    let unchecked = Memo::new(move |_| checkup.get().map(|checkup| checkup.unchecked));
    let not_checked = move || {
        let unchecked = unchecked.get().filter(|unchecked| !unchecked.is_empty());
        unchecked.map(|unchecked| view! { <NotChecked unchecked /> })
    };
    // What is only good to know is folded away on a phone, all of it at once.
    let noted = Memo::new(move |_| {
        checkup.with(|checkup| {
            checkup
                .as_ref()
                .map_or(0, |checkup| checkup.count(Severity::Note))
        })
    });
    let has_notes = Memo::new(move |_| noted.get() > 0);
    let notes = move || {
        has_notes.get().then(|| {
            view! {
                <details class="fold gap-2">
                    <summary class="text-muted">{move || words::notes(noted.get())}</summary>
                    <Kind severity=Severity::Note checkup />
                </details>
            }
        })
    };
    view! {
        <div class="flex flex-col gap-2" role="group" aria-label=words::of_group(&name)>
            <h3 class="flex flex-wrap items-baseline gap-x-3">
                <span class="font-semibold">{words::doctor()}</span>
                {summary}
            </h3>
            <Kind severity=Severity::Error checkup />
            <Kind severity=Severity::Warning checkup />
            {notes}
            {not_checked}
        </div>
    }
}

/// The findings that matter so much.
#[component]
fn Kind(severity: Severity, checkup: Memo<Option<Checkup>>) -> impl IntoView {
    let of_it = move || {
        let checkup = checkup.get();
        let findings = checkup.into_iter().flat_map(|checkup| checkup.findings);
        findings
            .filter(|finding| finding.severity == severity)
            .collect::<Vec<_>>()
    };
    view! {
        // By all that they say: one that says the same as before stays open if it was.
        <For each=of_it key=Clone::clone let:finding>
            <One finding />
        </For>
    }
}

#[component]
fn One(finding: Finding) -> impl IntoView {
    let severity = finding.severity;
    let is_open = severity == Severity::Error;
    let commands = (!finding.commands.is_empty()).then(|| {
        let commands = finding.commands.join("\n");
        view! { <Commands commands /> }
    });
    let evidence = finding
        .evidence
        .iter()
        .map(|one| view! { <li>{format::visible(one)}</li> })
        .collect_view();
    view! {
        <details class=CARD open=is_open>
            <summary class="px-4 py-2.5">
                <Badge tone=severity_tone(severity)>{words::severity(severity)}</Badge>
                " "
                <span class="font-medium wrap-anywhere">{format::visible(&finding.what)}</span>
                " "
                <code class="text-xs text-muted">{finding.code}</code>
            </summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3 wrap-anywhere">
                <ul class="flex flex-col gap-1 font-mono text-xs" aria-label=words::evidence()>{evidence}</ul>
                <p>
                    <span class="font-medium">{words::why()}</span>
                    {finding.why}
                </p>
                <p>
                    <span class="font-medium">{words::what_helps()}</span>
                    {finding.fix}
                </p>
                {commands}
            </div>
        </details>
    }
}

#[component]
fn Commands(commands: String) -> impl IntoView {
    view! {
        <pre class="w-full rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere">{commands.clone()}</pre>
        <CopyButton text=commands label=words::copy_fix() />
    }
}

#[component]
fn NotChecked(unchecked: Vec<Unchecked>) -> impl IntoView {
    let line = |one: Unchecked| {
        let what = one.what + punctuation::full_stop() + &one.why;
        let told = punctuation::sentence(&punctuation::told(&one.node, &what));
        view! { <li>{format::visible(&told)}</li> }
    };
    view! {
        <details class=CARD>
            <summary class="px-4 py-2.5">
                <Badge tone=Tone::Unsure>{words::not_checked()}</Badge>
                " "
                <span>{words::not_told()}</span>
            </summary>
            <ul class="flex flex-col gap-1 border-t border-line px-4 py-3 wrap-anywhere">
                {unchecked.into_iter().map(line).collect_view()}
            </ul>
        </details>
    }
}

/// What the colour of a finding means.
pub fn severity_tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Alarm,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Plain,
    }
}
