//! The doctor's findings about a group, with evidence, impact and fix.

use leptos::prelude::*;

use crate::domain::{DiagnosisView, FindingView, Severity, SkippedCheckView};
use crate::ui::format;
use crate::ui::i18n::{findings as t, punctuation};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Badge, CopyButton, Tone};

/// The findings of one group by severity. Updated live.
#[component]
pub fn Findings(
    /// The name of the group.
    name: String,
    /// The last report without its time: an expanded finding stays expanded while it does not
    /// change.
    diagnosis: Memo<Option<DiagnosisView>>,
) -> impl IntoView {
    let summary = move || {
        let diagnosis = diagnosis.read();
        let diagnosis = diagnosis.as_ref()?;
        let worst = diagnosis.findings.first();
        let tone = worst.map_or(Tone::Good, |finding| severity_tone(finding.severity));
        let text = t::summary(diagnosis);
        Some(view! { <span class=format!("font-medium {}", tone.text())>{text}</span> })
    };
    let unchecked = Memo::new(move |_| diagnosis.get().map(|diagnosis| diagnosis.unchecked));
    let not_checked = move || {
        let unchecked = unchecked.get().filter(|unchecked| !unchecked.is_empty());
        unchecked.map(|unchecked| view! { <UncheckedNodes unchecked /> })
    };
    // On phones, notes are folded into one section.
    let note_count = Memo::new(move |_| {
        diagnosis.with(|diagnosis| {
            diagnosis
                .as_ref()
                .map_or(0, |diagnosis| diagnosis.count(Severity::Note))
        })
    });
    let has_notes = Memo::new(move |_| note_count.get() > 0);
    let notes = move || {
        has_notes.get().then(|| {
            view! {
                <details class="fold gap-2">
                    <summary class="text-muted">{move || t::notes(note_count.get())}</summary>
                    <FindingsOfSeverity severity=Severity::Note diagnosis />
                </details>
            }
        })
    };
    view! {
        <div class="flex flex-col gap-2" role="group" aria-label=t::group_findings(&name)>
            <h3 class="flex flex-wrap items-baseline gap-x-3">
                <span class="font-semibold">{t::doctor()}</span>
                {summary}
            </h3>
            <FindingsOfSeverity severity=Severity::Error diagnosis />
            <FindingsOfSeverity severity=Severity::Warning diagnosis />
            {notes}
            {not_checked}
        </div>
    }
}

/// The findings of one severity.
#[component]
fn FindingsOfSeverity(severity: Severity, diagnosis: Memo<Option<DiagnosisView>>) -> impl IntoView {
    let findings = move || {
        let diagnosis = diagnosis.get();
        let findings = diagnosis
            .into_iter()
            .flat_map(|diagnosis| diagnosis.findings);
        findings
            .filter(|finding| finding.severity == severity)
            .collect::<Vec<_>>()
    };
    view! {
        // Keyed by the whole finding, so that an unchanged one stays expanded.
        <For each=findings key=Clone::clone let:finding>
            <FindingCard finding />
        </For>
    }
}

#[component]
fn FindingCard(finding: FindingView) -> impl IntoView {
    let severity = finding.severity;
    let is_open = severity == Severity::Error;
    let commands = (!finding.commands.is_empty()).then(|| {
        let commands = finding.commands.join("\n");
        view! { <FixCommands commands /> }
    });
    let evidence = finding
        .evidence
        .iter()
        .map(|item| view! { <li>{format::escape_invisible(item)}</li> })
        .collect_view();
    view! {
        <details class=CARD open=is_open>
            <summary class="px-4 py-2.5">
                <Badge tone=severity_tone(severity)>{t::severity(severity)}</Badge>
                " "
                <span class="font-medium wrap-anywhere">{format::escape_invisible(&finding.summary)}</span>
                " "
                <code class="text-xs text-muted">{finding.code}</code>
            </summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3 wrap-anywhere">
                <ul class="flex flex-col gap-1 font-mono text-xs" aria-label=t::evidence()>{evidence}</ul>
                <p>
                    <span class="font-medium">{t::impact()}</span>
                    {finding.impact}
                </p>
                <p>
                    <span class="font-medium">{t::fix()}</span>
                    {finding.fix}
                </p>
                {commands}
            </div>
        </details>
    }
}

#[component]
fn FixCommands(commands: String) -> impl IntoView {
    view! {
        <pre class="w-full rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere">{commands.clone()}</pre>
        <CopyButton text=commands label=t::copy_fix() />
    }
}

#[component]
fn UncheckedNodes(unchecked: Vec<SkippedCheckView>) -> impl IntoView {
    let line = |item: SkippedCheckView| {
        let description = item.check + punctuation::full_stop() + &item.reason;
        let text = punctuation::sentence(&punctuation::labelled(&item.node, &description));
        view! { <li>{format::escape_invisible(&text)}</li> }
    };
    view! {
        <details class=CARD>
            <summary class="px-4 py-2.5">
                <Badge tone=Tone::Unsure>{t::not_checked()}</Badge>
                " "
                <span>{t::unchecked_items()}</span>
            </summary>
            <ul class="flex flex-col gap-1 border-t border-line px-4 py-3 wrap-anywhere">
                {unchecked.into_iter().map(line).collect_view()}
            </ul>
        </details>
    }
}

/// The colour of a severity.
pub fn severity_tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Alarm,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Plain,
    }
}
