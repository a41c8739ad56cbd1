//! `/sign-in`: a name and a password. A plain form, so that it works before and without any script.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::ui::kit::{Banner, Button, Field, Tone, Variant, field::CONTROL};
use crate::ui::paths;
use crate::ui::words::frame;

/// Where people sign in.
#[component]
pub fn SignInPage() -> impl IntoView {
    let search = use_location().search.get_untracked();
    let value = |name| paths::value(&search, name).map(|value| value.text().into_owned());
    let next = value("next").unwrap_or_else(|| paths::LOCKS.to_owned());
    let seconds = value("seconds").and_then(|text| text.parse().ok());
    let says = says(value("why").as_deref(), seconds);
    view! {
        <Title text=format!("{} · Lockkeeper", frame::sign_in()) />
        <div class="mx-auto mt-[8vh] flex w-full max-w-sm flex-col gap-4">
            <h1 class="text-xl font-semibold">{frame::sign_in()}</h1>
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
                <Field id="name" label=frame::name()>
                    <input id="name" name="name" class=CONTROL required=true autofocus=true autocomplete="username" autocapitalize="none" spellcheck="false" aria-describedby="name-hint" />
                </Field>
                <Field id="password" label=frame::password()>
                    <input id="password" name="password" type="password" class=CONTROL required=true autocomplete="current-password" aria-describedby="password-hint" />
                </Field>
                <div>
                    <Button variant=Variant::Primary submits=true>
                        {frame::sign_in()}
                    </Button>
                </div>
            </form>
            <p class="text-muted">{frame::for_programs()}" "<code>"lockkeeper token --help"</code></p>
        </div>
    }
}

/// Why somebody is here again.
fn says(why: Option<&str>, seconds: Option<u32>) -> Option<String> {
    match (why?, seconds) {
        ("wrong", _) => Some(frame::wrong().to_owned()),
        ("later", Some(seconds)) => Some(frame::too_many(seconds)),
        ("state", _) => Some(frame::nobody_can_sign_in().to_owned()),
        (_, _) => Some(frame::did_not_work().to_owned()),
    }
}
