//! `/sign-in`: a password form, a link to the sign-in provider, or an explanation if neither is
//! configured. A plain form and a plain link work before hydration and without JavaScript.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::domain::SignInOptions;
use crate::ui::i18n::{shell, sign_in as t};
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Banner, Button, Field, Tone, Variant, field::CONTROL};
use crate::ui::paths;

/// The sign-in page.
#[component]
pub fn SignInPage() -> impl IntoView {
    // The methods are sent with the page, because a request would require a session.
    let ways = SharedValue::new(|| use_context::<SignInOptions>().unwrap_or_default()).into_inner();
    let search = use_location().search.get_untracked();
    let value = |name| paths::decoded_value(&search, name).map(|value| value.text().into_owned());
    let next = value("next").unwrap_or_else(|| paths::LOCKS.to_owned());
    let seconds = value("seconds").and_then(|text| text.parse().ok());
    let message = error_message(value("why").as_deref(), seconds);
    let left = value("out").and(ways.provider.clone());
    let with_password = ways.has_password;
    let without_any = !with_password && ways.provider.is_none();
    view! {
        <Title text=format!("{} · Lockkeeper", shell::sign_in()) />
        <div class="mx-auto mt-[8vh] flex w-full max-w-sm flex-col gap-4">
            <h1 class="text-xl font-semibold">{shell::sign_in()}</h1>
            {message
                .map(|message| {
                    view! {
                        <Banner tone=Tone::Alarm>
                            <p>{message}</p>
                        </Banner>
                    }
                })}
            {left.map(|provider| view! { <SignedOutNotice provider /> })}
            {ways
                .provider
                .map(|provider| {
                    view! { <ProviderLink provider next=next.clone() with_password /> }
                })}
            {with_password.then(|| view! { <PasswordForm next /> })}
            {without_any.then(|| view! { <NoSignInMethod is_open=ways.is_auth_disabled /> })}
            {(!ways.is_auth_disabled)
                .then(|| {
                    view! { <p class="text-muted">{shell::scripts_use_tokens()}<code>"lockkeeper create-token --help"</code></p> }
                })}
        </div>
    }
}

/// The link to the provider. A form would not work: the content security policy blocks form
/// redirects to other sites.
#[component]
fn ProviderLink(provider: String, next: String, with_password: bool) -> impl IntoView {
    view! {
        <a
            href=paths::sign_in_with_provider(&next)
            rel="external"
            class="flex min-h-10 items-center justify-center rounded-md border border-transparent bg-accent px-3 py-2 text-center font-medium text-on-accent transition-colors duration-100 hover:bg-accent-strong"
        >
            <span class="wrap-anywhere">{t::sign_in_with(&provider)}</span>
        </a>
        {with_password
            .then(|| {
                view! {
                    <p class="flex items-center gap-3 text-xs text-muted before:h-px before:grow before:bg-line after:h-px after:grow after:bg-line">
                        {t::or()}
                    </p>
                }
            })}
    }
}

#[component]
fn PasswordForm(next: String) -> impl IntoView {
    view! {
        <form method="post" action=paths::SIGN_IN class=format!("flex flex-col gap-3 p-5 {CARD}")>
            <input type="hidden" name="next" value=next />
            <Field id="name" label=shell::username()>
                <input id="name" name="name" class=CONTROL required=true autofocus=true autocomplete="username" autocapitalize="none" spellcheck="false" aria-describedby="name-hint" />
            </Field>
            <Field id="password" label=shell::password()>
                <input id="password" name="password" type="password" class=CONTROL required=true autocomplete="current-password" aria-describedby="password-hint" />
            </Field>
            <div>
                <Button variant=Variant::Primary submits=true>
                    {shell::sign_in()}
                </Button>
            </div>
        </form>
    }
}

/// Explains that sign-in is not required, or not possible.
#[component]
fn NoSignInMethod(is_open: bool) -> impl IntoView {
    if !is_open {
        return view! { <p>{t::no_method()}</p> }.into_any();
    }
    view! {
        <p>
            {t::not_required()}
            <a href=paths::LOCKS rel="external" class="underline underline-offset-2">
                {shell::all_locks()}
            </a>
        </p>
    }
    .into_any()
}

/// Reports the sign-out, and that the session at the provider may still exist.
#[component]
fn SignedOutNotice(provider: String) -> impl IntoView {
    view! {
        <div role="status" class="rounded-lg border border-line bg-sunken px-3.5 py-2.5">
            <p class="font-medium">{t::signed_out()}</p>
            <p class="text-muted">
                {t::still_signed_in(&provider)}
                <a
                    href=paths::SIGN_OUT_PROVIDER
                    rel="external"
                    class="font-medium text-ink underline underline-offset-2"
                >
                    {t::sign_out_there()}
                </a>
            </p>
        </div>
    }
}

/// The message for the reason in the URL.
fn error_message(why: Option<&str>, seconds: Option<u32>) -> Option<String> {
    let sentence = match (why?, seconds) {
        ("wrong", _) => shell::invalid_credentials(),
        ("later", Some(seconds)) => return Some(shell::too_many_attempts(seconds)),
        ("storage", _) => shell::sign_in_unavailable(),
        ("provider", _) => t::provider_unavailable(),
        ("cancelled", _) => t::cancelled(),
        ("expired", _) => t::expired(),
        ("clock", _) => t::clock_mismatch(),
        ("console", _) => t::client_rejected(),
        ("untrusted", _) => t::response_invalid(),
        ("no-role", _) => t::no_role(),
        ("name-taken", _) => t::name_taken(),
        (_, _) => shell::sign_in_failed(),
    };
    Some(sentence.to_owned())
}
