//! `/sign-in`: a name and a password, or the way to a provider; what else there is where there is neither. A plain form and a plain
//! link, so that it works before and without any script.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::WaysIn;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Banner, Button, Field, Tone, Variant, field::CONTROL};
use crate::ui::paths;
use crate::ui::words::{frame, sign_in as words};

/// Where people sign in.
#[component]
pub fn SignInPage() -> impl IntoView {
    // The server knows, and the browser hears it from the page: nobody is let in yet who could ask.
    let ways = SharedValue::new(|| use_context::<WaysIn>().unwrap_or_default()).into_inner();
    let search = use_location().search.get_untracked();
    let value = |name| paths::value(&search, name).map(|value| value.text().into_owned());
    let next = value("next").unwrap_or_else(|| paths::LOCKS.to_owned());
    let seconds = value("seconds").and_then(|text| text.parse().ok());
    let says = says(value("why").as_deref(), seconds);
    let left = value("out").and(ways.provider.clone());
    let with_password = ways.with_password;
    let without_any = !with_password && ways.provider.is_none();
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
                    }
                })}
            {left.map(|provider| view! { <SignedOut provider /> })}
            {ways
                .provider
                .map(|provider| {
                    view! { <WithProvider provider next=next.clone() with_password /> }
                })}
            {with_password.then(|| view! { <WithPassword next /> })}
            {without_any.then(|| view! { <WithoutAny is_open=ways.is_open /> })}
            {(!ways.is_open)
                .then(|| {
                    view! { <p class="text-muted">{frame::for_programs()}<code>"lockkeeper token --help"</code></p> }
                })}
        </div>
    }
}

/// The way to the provider. A link: a form that is led to another place would not be let go there.
#[component]
fn WithProvider(provider: String, next: String, with_password: bool) -> impl IntoView {
    view! {
        <a
            href=paths::sign_in_with_provider(&next)
            rel="external"
            class="flex min-h-10 items-center justify-center rounded-md border border-transparent bg-accent px-3 py-2 text-center font-medium text-on-accent transition-colors duration-100 hover:bg-accent-strong"
        >
            <span class="wrap-anywhere">{words::with(&provider)}</span>
        </a>
        {with_password
            .then(|| {
                view! {
                    <p class="flex items-center gap-3 text-xs text-muted before:h-px before:grow before:bg-line after:h-px after:grow after:bg-line">
                        {words::or()}
                    </p>
                }
            })}
    }
}

#[component]
fn WithPassword(next: String) -> impl IntoView {
    view! {
        <form method="post" action=paths::SIGN_IN class=format!("flex flex-col gap-3 p-5 {CARD}")>
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
    }
}

/// Nobody has to sign in, or nobody can.
#[component]
fn WithoutAny(is_open: bool) -> impl IntoView {
    if !is_open {
        return view! { <p>{words::nobody_can()}</p> }.into_any();
    }
    view! {
        <p>
            {words::nobody_has_to()}
            <a href=paths::LOCKS rel="external" class="underline underline-offset-2">
                {frame::all_locks()}
            </a>
        </p>
    }
    .into_any()
}

/// Signed out here; the provider's own session is another matter.
#[component]
fn SignedOut(provider: String) -> impl IntoView {
    view! {
        <div role="status" class="rounded-lg border border-line bg-sunken px-3.5 py-2.5">
            <p class="font-medium">{words::signed_out()}</p>
            <p class="text-muted">
                {words::still_there(&provider)}
                <a
                    href=paths::SIGN_OUT_PROVIDER
                    rel="external"
                    class="font-medium text-ink underline underline-offset-2"
                >
                    {words::sign_out_there()}
                </a>
            </p>
        </div>
    }
}

/// Why somebody is here again.
fn says(why: Option<&str>, seconds: Option<u32>) -> Option<String> {
    let sentence = match (why?, seconds) {
        ("wrong", _) => frame::wrong(),
        ("later", Some(seconds)) => return Some(frame::too_many(seconds)),
        ("storage", _) => frame::nobody_can_sign_in(),
        ("provider", _) => words::away(),
        ("cancelled", _) => words::cancelled(),
        ("expired", _) => words::expired(),
        ("clock", _) => words::clock(),
        ("console", _) => words::unknown_console(),
        ("untrusted", _) => words::untrusted(),
        ("no-role", _) => words::no_role(),
        ("name-taken", _) => words::name_taken(),
        (_, _) => frame::did_not_work(),
    };
    Some(sentence.to_owned())
}
