//! The same act from a script: a command to copy.

use leptos::prelude::*;

use crate::domain::{Fingerprint, Lock, LockId, Timestamp};
use crate::ui::kit::CopyButton;
use crate::ui::paths;

/// The command that releases this lock by force.
#[component]
pub fn ScriptBox(
    /// The lock.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Whether its group asks for the name typed out.
    #[prop(into)]
    production: Signal<bool>,
) -> impl IntoView {
    // Where the console is, only the browser knows.
    let origin = RwSignal::new("http://127.0.0.1:7878".to_owned());
    Effect::new(move || {
        if let Ok(here) = window().location().origin() {
            origin.set(here);
        }
    });
    let command = Signal::derive(move || {
        let lock = lock.read();
        let Some(owner) = lock.owners.first() else {
            return String::new();
        };
        curl(
            &origin.read(),
            &lock.id,
            &owner.fingerprint,
            production.get(),
            lock.format.reuses_owners().then_some(lock.acquired_at),
        )
    });
    view! {
        <details class="rounded-xl border border-line bg-surface shadow-lift">
            <summary class="px-4 py-2.5 font-medium">"Release it from a script"</summary>
            <div class="flex flex-col items-start gap-3 border-t border-line px-4 py-3">
                <pre class="w-full overflow-x-auto rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere">{command}</pre>
                <p class="text-muted">
                    "It releases the lock only while its owner, and its hold, is still the one with this fingerprint; put your reason where it says so."
                </p>
                <CopyButton text=command label="Copy the command" />
            </div>
        </details>
    }
}

/// The command. `since` tells the hold from the next one of an owner that writes the same bytes each time.
fn curl(
    origin: &str,
    id: &LockId,
    fingerprint: &Fingerprint,
    production: bool,
    since: Option<Timestamp>,
) -> String {
    let confirm = match production {
        true => format!(",\"confirm\":{}", json(&id.key.text())),
        false => String::new(),
    };
    let seen = since.map_or_else(String::new, |since| {
        format!(",\"seen\":{{\"acquired_at\":\"{since}\"}}")
    });
    let body = format!("{{\"fingerprint\":\"{fingerprint}\",\"reason\":\"WHY\"{confirm}{seen}}}");
    let body = quoted(&body);
    format!(
        "curl -X POST {origin}{} \\\n  -H 'content-type: application/json' \\\n  -d {body}",
        paths::force_release(id)
    )
}

/// A text as JSON.
fn json(text: &str) -> String {
    serde_json::to_string(text).expect("text can always be written as JSON")
}

/// A text as one word for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_quotes_cannot_break_out_of_the_command() {
        let id = LockId {
            group: "orders".into(),
            key: "lock:it's $(rm)".into(),
        };
        let fingerprint = Fingerprint::parse("d3c19a0b77e04fd2").unwrap();
        let command = curl("http://here", &id, &fingerprint, true, None);
        assert!(
            command.contains(r#""confirm":"lock:it'\''s $(rm)""#),
            "{command}"
        );
        assert!(command.contains(
            "http://here/api/v1/groups/orders/locks/lock%3Ait%27s%20%24%28rm%29/force-release"
        ));
    }
}
