//! `/sign-in`: a name and a password. A plain form, so that it works before and without any script.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::ui::kit::{Banner, Button, Field, Tone, Variant, field::CONTROL};
use crate::ui::paths;

/// Where people sign in.
#[component]
pub fn SignInPage() -> impl IntoView {
    let search = use_location().search.get_untracked();
    let value = |name| paths::value(&search, name).map(|value| value.text().into_owned());
    let next = value("next").unwrap_or_else(|| paths::LOCKS.to_owned());
    let seconds = value("seconds").and_then(|text| text.parse().ok());
    let says = says(value("why").as_deref(), seconds);
    view! {
        <Title text="Sign in · Lockkeeper" />
        <div class="mx-auto mt-[8vh] flex w-full max-w-sm flex-col gap-4">
            <h1 class="text-xl font-semibold">"Sign in"</h1>
            {says
                .map(|says| {
                    view! {
                        <Banner tone=Tone::Alarm>
                            <p>{says}</p>
                        </Banner>
                    }.into_any()
                })}
            <form method="post" action=paths::SIGN_IN class="flex flex-col gap-3 rounded-xl border border-line bg-surface p-5 shadow-lift">
                <input type="hidden" name="next" value=next />
                <Field id="name" label="Name">
                    <input id="name" name="name" class=CONTROL required=true autofocus=true autocomplete="username" autocapitalize="none" spellcheck="false" aria-describedby="name-hint" />
                </Field>
                <Field id="password" label="Password">
                    <input id="password" name="password" type="password" class=CONTROL required=true autocomplete="current-password" aria-describedby="password-hint" />
                </Field>
                <div>
                    <Button variant=Variant::Primary submits=true>
                        "Sign in"
                    </Button>
                </div>
            </form>
            <p class="text-muted">"Programs send an API token instead: "<code>"lockkeeper token --help"</code></p>
        </div>
    }
}

/// Why somebody is here again.
fn says(why: Option<&str>, seconds: Option<u32>) -> Option<String> {
    match (why?, seconds) {
        ("wrong", _) => Some("The name or the password is wrong.".to_owned()),
        ("later", Some(seconds)) => Some(format!(
            "Too many attempts failed. The next one is possible in {seconds} s."
        )),
        (_, _) => Some("That did not work. Try again.".to_owned()),
    }
}
