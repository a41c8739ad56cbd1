//! The operations on a lock as commands to copy: for curl and for the CLI. They contain no token.

use leptos::prelude::*;

use crate::domain::{Fingerprint, Format, Lock, LockId, SessionKind, Timestamp};
use crate::ui::i18n::lock as t;
use crate::ui::kit::CopyButton;
use crate::ui::kit::card::CARD;
use crate::ui::live::Live;
use crate::ui::{format, paths};

/// The commands for the operations on this lock.
#[component]
pub fn ScriptCard(
    /// The lock that the commands are for.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Whether the group requires the lock's name as confirmation.
    #[prop(into)]
    production: Signal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    // Only the browser knows the public URL of the console.
    let origin = RwSignal::new("http://127.0.0.1:7878".to_owned());
    Effect::new(move || {
        if let Ok(current) = window().location().origin() {
            origin.set(current);
        }
    });
    let command = move |render: fn(&CommandContext) -> String| {
        Signal::derive(move || {
            render(&CommandContext {
                origin: origin.get(),
                lock: lock.get(),
                production: production.get(),
                needs_token: live.user.with(|me| {
                    let method = me.as_ref().map(|me| me.session);
                    matches!(method, Some(SessionKind::SignedIn | SessionKind::External))
                }),
            })
        })
    };
    let operation = move |title: &'static str,
                          curl: fn(&CommandContext) -> String,
                          cli: fn(&CommandContext) -> String| {
        view! {
            <section class="flex w-full flex-col gap-2">
                <h3 class="font-medium">{title}</h3>
                <CommandBlock what=t::with_curl() command=command(curl) />
                <CommandBlock what=t::with_cli() command=command(cli) />
            </section>
        }
    };
    view! {
        <details class=CARD>
            <summary class="px-4 py-2.5 font-medium">{t::scripts()}</summary>
            <div class="flex flex-col items-start gap-4 border-t border-line px-4 py-3">
                {operation(t::force(), CommandContext::force_release_curl, CommandContext::force_release_cli)}
                {operation(t::show(), CommandContext::show_curl, CommandContext::show_cli)}
                {move || {
                    let is_acquirable = lock.with(|lock| acquirable_format(lock.format).is_some());
                    is_acquirable.then(|| operation(t::acquire(), CommandContext::acquire_curl, CommandContext::acquire_cli))
                }}
                {operation(t::extend(), CommandContext::extend_curl, CommandContext::extend_cli)}
                {operation(t::release(), CommandContext::release_curl, CommandContext::release_cli)}
                <p class="text-muted">{t::scripts_hint()}</p>
            </div>
        </details>
    }
}

#[component]
fn CommandBlock(what: &'static str, command: Signal<String>) -> impl IntoView {
    view! {
        <div class="flex flex-col items-start gap-1.5">
            <p class="text-xs text-muted">{what}</p>
            <pre class="w-full overflow-x-auto rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere">{command}</pre>
            <CopyButton text=command label=t::copy() />
        </div>
    }
}

/// The values that the commands contain.
struct CommandContext {
    origin: String,
    lock: Lock,
    production: bool,
    /// Whether the API requires a token. The command reads it from a file, because the shell's
    /// history would store it.
    needs_token: bool,
}

impl CommandContext {
    fn post(&self, operation: &str, body: &str) -> String {
        let (origin, path) = (&self.origin, paths::api_lock(&self.lock.id));
        format!(
            "curl -X POST {}{origin}{path}/{operation} \\\n  -H 'content-type: application/json' \\\n  -d {}",
            self.auth_header(),
            shell_quote(body)
        )
    }

    fn auth_header(&self) -> &'static str {
        match self.needs_token {
            true => "-H \"Authorization: Bearer $(cat API_TOKEN_FILE)\" ",
            false => "",
        }
    }

    fn cli(&self, operation: &str, options: &str) -> String {
        let LockId { group, key } = &self.lock.id;
        // A name with unprintable characters is percent-encoded.
        let (flag, key) = match std::str::from_utf8(key.as_bytes()) {
            Ok(text) if format::escape_invisible(text) == text => ("", text.to_owned()),
            Ok(_) | Err(_) => ("--key-encoded ", key.encoded()),
        };
        format!(
            "lockkeeper {operation} {options}{flag}-- {} {}",
            shell_quote(group),
            shell_quote(&key)
        )
    }

    /// One command per owner, because owners are released one by one.
    fn each_owner(&self, command: impl Fn(&Fingerprint) -> String) -> String {
        let owners = self.lock.owners.iter();
        let commands = owners.map(|owner| command(&owner.fingerprint));
        commands.collect::<Vec<_>>().join("\n\n")
    }

    fn force_release_curl(&self) -> String {
        let lock = &self.lock;
        let since = lock.format.reuses_owner_value().then_some(lock.acquired_at);
        self.each_owner(|owner| {
            self.post(
                "force-release",
                &force_release_body(&lock.id, owner, self.production, since),
            )
        })
    }

    fn force_release_cli(&self) -> String {
        let confirm = match self.production {
            true => format!("--confirm {} ", shell_quote(&self.lock.id.key.text())),
            false => String::new(),
        };
        self.each_owner(|owner| {
            let options = format!("--fingerprint {owner} --reason WHY {confirm}");
            self.cli("force-release", &options)
        })
    }

    fn show_curl(&self) -> String {
        let (origin, path) = (&self.origin, paths::api_lock(&self.lock.id));
        format!("curl {}{origin}{path}", self.auth_header())
    }

    fn show_cli(&self) -> String {
        self.cli("show", "")
    }

    fn acquire_curl(&self) -> String {
        let format = match acquirable_format(self.lock.format) {
            None | Some(Format::Plain) => String::new(),
            Some(other) => format!(",\"format\":{}", to_json(other.slug())),
        };
        self.post(
            "acquire",
            &format!("{{\"ttl_ms\":30000,\"wait_ms\":0{format}}}"),
        )
    }

    fn acquire_cli(&self) -> String {
        let format = match acquirable_format(self.lock.format) {
            None | Some(Format::Plain) => String::new(),
            Some(other) => format!("--format {other} "),
        };
        self.cli("acquire", &format!("--ttl 30s {format}"))
    }

    fn extend_curl(&self) -> String {
        self.post("extend", "{\"token\":\"TOKEN\",\"ttl_ms\":30000}")
    }

    fn extend_cli(&self) -> String {
        self.cli("extend", "--ttl 30s --token-file TOKEN_FILE ")
    }

    fn release_curl(&self) -> String {
        self.post("release", "{\"token\":\"TOKEN\"}")
    }

    fn release_cli(&self) -> String {
        self.cli("release", "--token-file TOKEN_FILE ")
    }
}

/// The format in which the console can acquire such a lock. `None` if the lock's library could not
/// read what the console writes.
fn acquirable_format(format: Format) -> Option<Format> {
    match format {
        Format::Redisson | Format::RedissonFair | Format::LegacyTimestamp => Some(format),
        other => other.can_be_string().then_some(Format::Plain),
    }
}

/// The request body of a force release. `since` identifies the hold if the owner writes the same
/// value every time.
fn force_release_body(
    id: &LockId,
    owner: &Fingerprint,
    production: bool,
    since: Option<Timestamp>,
) -> String {
    let confirm = match production {
        true => format!(",\"confirm\":{}", to_json(&id.key.text())),
        false => String::new(),
    };
    let expected_hold = since.map_or_else(String::new, |since| {
        format!(",\"expected_hold\":{{\"acquired_at\":\"{since}\"}}")
    });
    format!("{{\"fingerprint\":\"{owner}\",\"reason\":\"WHY\"{confirm}{expected_hold}}}")
}

/// Encodes a text as JSON.
fn to_json(text: &str) -> String {
    serde_json::to_string(text).expect("text can always be written as JSON")
}

/// Quotes a text for a POSIX shell.
fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::{NOW, lock};

    #[test]
    fn a_name_with_quotes_cannot_break_out_of_the_command() {
        let mut held = lock(&[1], NOW, NOW);
        held.id.key = "lock:it's $(rm)".into();
        let context = CommandContext {
            origin: "http://here".into(),
            lock: held,
            production: true,
            needs_token: false,
        };
        let command = context.force_release_curl();
        assert!(
            command.contains(r#""confirm":"lock:it'\''s $(rm)""#),
            "{command}"
        );
        assert!(command.contains(
            "http://here/api/v1/groups/orders/locks/lock%3Ait%27s%20%24%28rm%29/force-release"
        ));
        let command = context.force_release_cli();
        assert!(
            command.ends_with(r"-- 'orders' 'lock:it'\''s $(rm)'"),
            "{command}"
        );
    }

    #[test]
    fn no_command_has_a_token_in_it() {
        let held = lock(&[1], NOW, NOW);
        let context = CommandContext {
            origin: "http://here".into(),
            lock: held,
            production: false,
            needs_token: true,
        };
        assert!(context.extend_curl().contains("\"token\":\"TOKEN\""));
        assert!(
            context
                .release_cli()
                .starts_with("lockkeeper release --token-file TOKEN_FILE ")
        );
        let look = context.show_curl();
        assert!(
            look.starts_with("curl -H \"Authorization: Bearer $(cat API_TOKEN_FILE)\" http://here"),
            "{look}"
        );
    }

    #[test]
    fn every_owner_has_a_command_of_its_own() {
        let context = CommandContext {
            origin: "http://here".into(),
            lock: lock(&[1, 2], NOW, NOW),
            production: false,
            needs_token: false,
        };
        for owner in ["0000000000000001", "0000000000000002"] {
            assert_eq!(
                context.force_release_cli().matches(owner).count(),
                1,
                "{owner}"
            );
            assert_eq!(
                context.force_release_curl().matches(owner).count(),
                1,
                "{owner}"
            );
        }
    }

    #[test]
    fn a_lock_is_acquired_in_the_format_that_its_library_reads() {
        let mut held = lock(&[1], NOW, NOW);
        held.format = Format::Redisson;
        let context = CommandContext {
            origin: "http://here".into(),
            lock: held,
            production: false,
            needs_token: false,
        };
        assert!(context.acquire_curl().contains("\"format\":\"redisson\""));
        assert!(context.acquire_cli().contains("--format redisson -- "));
        assert_eq!(acquirable_format(Format::NodeRedlock), Some(Format::Plain));
        assert_eq!(acquirable_format(Format::RedissonReadWrite), None);
    }
}
