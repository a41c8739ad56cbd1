//! The same acts from a script: commands to copy, for the API and for the command line. No token stands in them.

use leptos::prelude::*;

use crate::domain::{Came, Fingerprint, Format, Lock, LockId, Timestamp};
use crate::ui::kit::CopyButton;
use crate::ui::kit::card::CARD;
use crate::ui::live::Live;
use crate::ui::words::lock as words;
use crate::ui::{format, paths};

/// The commands that do with this lock what can be done from here.
#[component]
pub fn ScriptBox(
    /// The lock.
    #[prop(into)]
    lock: Signal<Lock>,
    /// Whether its group asks for the name typed out.
    #[prop(into)]
    production: Signal<bool>,
) -> impl IntoView {
    let live = Live::expect();
    // Where the console is, only the browser knows.
    let origin = RwSignal::new("http://127.0.0.1:7878".to_owned());
    Effect::new(move || {
        if let Ok(here) = window().location().origin() {
            origin.set(here);
        }
    });
    let told = move |tell: fn(&Told) -> String| {
        Signal::derive(move || {
            tell(&Told {
                origin: origin.get(),
                lock: lock.get(),
                production: production.get(),
                needs_token: live.me.with(|me| {
                    let came = me.as_ref().map(|me| me.came);
                    matches!(came, Some(Came::SignedIn | Came::VouchedFor))
                }),
            })
        })
    };
    let act = move |title: &'static str, curl: fn(&Told) -> String, cli: fn(&Told) -> String| {
        view! {
            <section class="flex w-full flex-col gap-2">
                <h3 class="font-medium">{title}</h3>
                <Command what=words::with_curl() command=told(curl) />
                <Command what=words::with_cli() command=told(cli) />
            </section>
        }
    };
    view! {
        <details class=CARD>
            <summary class="px-4 py-2.5 font-medium">{words::scripts()}</summary>
            <div class="flex flex-col items-start gap-4 border-t border-line px-4 py-3">
                {act(words::force(), Told::force_curl, Told::force_cli)}
                {act(words::look(), Told::look_curl, Told::look_cli)}
                {move || {
                    let can_be = lock.with(|lock| acquired_as(lock.format).is_some());
                    can_be.then(|| act(words::acquire(), Told::acquire_curl, Told::acquire_cli))
                }}
                {act(words::extend(), Told::extend_curl, Told::extend_cli)}
                {act(words::release(), Told::release_curl, Told::release_cli)}
                <p class="text-muted">{words::scripts_hint()}</p>
            </div>
        </details>
    }
}

#[component]
fn Command(what: &'static str, command: Signal<String>) -> impl IntoView {
    view! {
        <div class="flex flex-col items-start gap-1.5">
            <p class="text-xs text-muted">{what}</p>
            <pre class="w-full overflow-x-auto rounded-md bg-sunken p-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere">{command}</pre>
            <CopyButton text=command label=words::copy() />
        </div>
    }
}

/// What commands are made of.
struct Told {
    origin: String,
    lock: Lock,
    production: bool,
    /// Whether the console lets in only whoever has a token of their own, which is read from a file: in a command it would stand in the
    /// shell's history.
    needs_token: bool,
}

impl Told {
    fn post(&self, verb: &str, body: &str) -> String {
        let (origin, path) = (&self.origin, paths::api_lock(&self.lock.id));
        format!(
            "curl -X POST {}{origin}{path}/{verb} \\\n  -H 'content-type: application/json' \\\n  -d {}",
            self.credentials(),
            quoted(body)
        )
    }

    fn credentials(&self) -> &'static str {
        match self.needs_token {
            true => "-H \"Authorization: Bearer $(cat API_TOKEN_FILE)\" ",
            false => "",
        }
    }

    fn cli(&self, verb: &str, rest: &str) -> String {
        let LockId { group, key } = &self.lock.id;
        // What cannot be typed as it is goes percent-encoded.
        let (flag, key) = match std::str::from_utf8(key.as_bytes()) {
            Ok(text) if format::visible(text) == text => ("", text.to_owned()),
            Ok(_) | Err(_) => ("--key-encoded ", key.encoded()),
        };
        format!(
            "lockkeeper {verb} {rest}{flag}-- {} {}",
            quoted(group),
            quoted(&key)
        )
    }

    /// One command for each owner: they are released one by one.
    fn each_owner(&self, command: impl Fn(&Fingerprint) -> String) -> String {
        let owners = self.lock.owners.iter();
        let commands = owners.map(|owner| command(&owner.fingerprint));
        commands.collect::<Vec<_>>().join("\n\n")
    }

    fn force_curl(&self) -> String {
        let lock = &self.lock;
        let since = lock.format.reuses_owners().then_some(lock.acquired_at);
        self.each_owner(|owner| {
            self.post(
                "force-release",
                &force(&lock.id, owner, self.production, since),
            )
        })
    }

    fn force_cli(&self) -> String {
        let confirm = match self.production {
            true => format!("--confirm {} ", quoted(&self.lock.id.key.text())),
            false => String::new(),
        };
        self.each_owner(|owner| {
            let rest = format!("--fingerprint {owner} --reason WHY {confirm}");
            self.cli("force-release", &rest)
        })
    }

    fn look_curl(&self) -> String {
        let (origin, path) = (&self.origin, paths::api_lock(&self.lock.id));
        format!("curl {}{origin}{path}", self.credentials())
    }

    fn look_cli(&self) -> String {
        self.cli("show", "")
    }

    fn acquire_curl(&self) -> String {
        let format = match acquired_as(self.lock.format) {
            None | Some(Format::Plain) => String::new(),
            Some(other) => format!(",\"format\":{}", json(other.slug())),
        };
        self.post(
            "acquire",
            &format!("{{\"ttl_ms\":30000,\"wait_ms\":0{format}}}"),
        )
    }

    fn acquire_cli(&self) -> String {
        let format = match acquired_as(self.lock.format) {
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

/// The layout in which this console can acquire such a lock; nothing where it would write what the lock's library cannot read.
fn acquired_as(format: Format) -> Option<Format> {
    match format {
        Format::Redisson | Format::RedissonFair | Format::LegacyTimestamp => Some(format),
        other => other.may_be_a_string().then_some(Format::Plain),
    }
}

/// What is sent to release a lock by force. `since` tells the hold from the next one of an owner that writes the same bytes each
/// time.
fn force(id: &LockId, owner: &Fingerprint, production: bool, since: Option<Timestamp>) -> String {
    let confirm = match production {
        true => format!(",\"confirm\":{}", json(&id.key.text())),
        false => String::new(),
    };
    let seen = since.map_or_else(String::new, |since| {
        format!(",\"seen\":{{\"acquired_at\":\"{since}\"}}")
    });
    format!("{{\"fingerprint\":\"{owner}\",\"reason\":\"WHY\"{confirm}{seen}}}")
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
    use crate::domain::testing::{NOW, lock};

    #[test]
    fn a_name_with_quotes_cannot_break_out_of_the_command() {
        let mut held = lock(&[1], NOW, NOW);
        held.id.key = "lock:it's $(rm)".into();
        let told = Told {
            origin: "http://here".into(),
            lock: held,
            production: true,
            needs_token: false,
        };
        let command = told.force_curl();
        assert!(
            command.contains(r#""confirm":"lock:it'\''s $(rm)""#),
            "{command}"
        );
        assert!(command.contains(
            "http://here/api/v1/groups/orders/locks/lock%3Ait%27s%20%24%28rm%29/force-release"
        ));
        let command = told.force_cli();
        assert!(
            command.ends_with(r"-- 'orders' 'lock:it'\''s $(rm)'"),
            "{command}"
        );
    }

    #[test]
    fn no_command_has_a_token_in_it() {
        let held = lock(&[1], NOW, NOW);
        let told = Told {
            origin: "http://here".into(),
            lock: held,
            production: false,
            needs_token: true,
        };
        assert!(told.extend_curl().contains("\"token\":\"TOKEN\""));
        assert!(
            told.release_cli()
                .starts_with("lockkeeper release --token-file TOKEN_FILE ")
        );
        let look = told.look_curl();
        assert!(
            look.starts_with("curl -H \"Authorization: Bearer $(cat API_TOKEN_FILE)\" http://here"),
            "{look}"
        );
    }

    #[test]
    fn every_owner_has_a_command_of_its_own() {
        let told = Told {
            origin: "http://here".into(),
            lock: lock(&[1, 2], NOW, NOW),
            production: false,
            needs_token: false,
        };
        for owner in ["0000000000000001", "0000000000000002"] {
            assert_eq!(told.force_cli().matches(owner).count(), 1, "{owner}");
            assert_eq!(told.force_curl().matches(owner).count(), 1, "{owner}");
        }
    }

    #[test]
    fn a_lock_is_acquired_in_the_layout_that_its_library_reads() {
        let mut held = lock(&[1], NOW, NOW);
        held.format = Format::Redisson;
        let told = Told {
            origin: "http://here".into(),
            lock: held,
            production: false,
            needs_token: false,
        };
        assert!(told.acquire_curl().contains("\"format\":\"redisson\""));
        assert!(told.acquire_cli().contains("--format redisson -- "));
        assert_eq!(acquired_as(Format::NodeRedlock), Some(Format::Plain));
        assert_eq!(acquired_as(Format::RedissonReadWrite), None);
    }
}
