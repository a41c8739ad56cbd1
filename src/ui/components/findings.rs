//! What the doctor says of each group: findings with what they are concluded from, why they matter, and what helps.

use leptos::prelude::*;

use crate::domain::{Checkup, Finding, Severity, Timestamp, Unchecked};
use crate::ui::format;
use crate::ui::kit::{Badge, CopyButton, Tone};

/// What the doctor says of each group, kept up to date.
#[component]
pub fn Findings(
    /// What was told last.
    told: RwSignal<Option<Vec<Checkup>>>,
) -> impl IntoView {
    // When it was asked changes every time; a finding that is open stays open while it says the same.
    let said = Memo::new(move |_| {
        let mut all = told.get().unwrap_or_default();
        for checkup in &mut all {
            checkup.examined_at = Timestamp::from_millis(0);
        }
        all
    });
    let asked_at = move || {
        let at = told.with(|told| Some(told.as_ref()?.first()?.examined_at))?;
        Some(format!("Asked at {}.", format::time_of_day(at)))
    };
    let names = Memo::new(move |_| {
        said.with(|all| {
            all.iter()
                .map(|checkup| checkup.group.clone())
                .collect::<Vec<_>>()
        })
    });
    view! {
        <section class="mt-8 flex flex-col gap-5" aria-label="Doctor">
            <h2 class="text-lg font-semibold">"Fit for locking?"</h2>
            {move || names.get().into_iter().map(|name| view! { <OfGroup name said /> }.into_any()).collect_view()}
            <p class="text-xs text-muted">
                "The same on the command line: " <code>"lockkeeper check"</code> ". " {asked_at}
            </p>
        </section>
    }
}

#[component]
fn OfGroup(name: String, said: Memo<Vec<Checkup>>) -> impl IntoView {
    let label = format!("Findings in {name}");
    let checkup = Memo::new({
        let name = name.clone();
        move |_| said.with(|all| all.iter().find(|checkup| checkup.group == name).cloned())
    });
    let summary = move || {
        let checkup = checkup.read();
        let checkup = checkup.as_ref()?;
        let worst = checkup.findings.first();
        let tone = worst.map_or(Tone::Good, |finding| tone(finding.severity));
        let words = checkup.summary();
        Some(view! { <span class=format!("font-medium {}", tone.text())>{words}</span> }.into_any())
    };
    let findings = move || checkup.get().map(|checkup| checkup.findings);
    let unchecked = Memo::new(move |_| checkup.get().map(|checkup| checkup.unchecked));
    let not_checked = move || {
        let unchecked = unchecked.get().filter(|unchecked| !unchecked.is_empty());
        unchecked.map(|unchecked| view! { <NotChecked unchecked /> }.into_any())
    };
    view! {
        <div class="flex flex-col gap-2" role="group" aria-label=label>
            <h3 class="flex flex-wrap items-baseline gap-x-3">
                <span class="font-semibold">{name}</span>
                {summary}
            </h3>
            // By all that they say: one that says the same as before stays open if it was.
            <For each=move || findings().into_iter().flatten() key=Clone::clone let:finding>
                {view! { <One finding /> }.into_any()}
            </For>
            {not_checked}
        </div>
    }
}

#[component]
fn One(finding: Finding) -> impl IntoView {
    let severity = finding.severity;
    let is_open = severity == Severity::Error;
    let commands = (!finding.commands.is_empty()).then(|| {
        let commands = finding.commands.join("\n");
        view! { <Commands commands /> }.into_any()
    });
    let evidence = finding
        .evidence
        .iter()
        .map(|one| view! { <li>{format::visible(one)}</li> }.into_any())
        .collect_view();
    view! {
        <details class="rounded-xl border border-line bg-surface shadow-lift" open=is_open>
            <summary class="px-4 py-2.5">
                <Badge tone=tone(severity)>{severity.slug()}</Badge>
                " "
                <span class="font-medium wrap-anywhere">{format::visible(&finding.what)}</span>
                " "
                <code class="text-xs text-muted">{finding.code}</code>
            </summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3 wrap-anywhere">
                <ul class="flex flex-col gap-1 font-mono text-xs">{evidence}</ul>
                <p>{finding.why}</p>
                <p>
                    <span class="font-medium">"What helps: "</span>
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
        <CopyButton text=commands label="Copy" />
    }
}

#[component]
fn NotChecked(unchecked: Vec<Unchecked>) -> impl IntoView {
    let line = |one: Unchecked| {
        let told = format!("{}: {}. {}.", one.node, one.what, one.why);
        view! { <li>{format::visible(&told)}</li> }.into_any()
    };
    view! {
        <details class="rounded-xl border border-line bg-surface shadow-lift">
            <summary class="px-4 py-2.5">
                <Badge tone=Tone::Unsure>"not checked"</Badge>
                " "
                <span>"What nodes do not tell"</span>
            </summary>
            <ul class="flex flex-col gap-1 border-t border-line px-4 py-3 wrap-anywhere">
                {unchecked.into_iter().map(line).collect_view()}
            </ul>
        </details>
    }
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Alarm,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Plain,
    }
}
