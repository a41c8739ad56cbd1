//! The signed-in user with the sign-out menu, and the notices of a console without authentication.

use leptos::prelude::*;

use crate::domain::{CurrentUser, InitialState, SessionKind};
use crate::ui::i18n::{shell, terms};
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;
use crate::ui::{local_storage, paths};

/// The signed-in user and the sign-out menu.
#[component]
pub fn AccountMenu() -> impl IntoView {
    view! { <WithCurrentUser show=account_menu /> }
}

/// A warning if everyone who reaches the console can release locks.
#[component]
pub fn NoAuthNotice() -> impl IntoView {
    view! { <WithCurrentUser show=no_auth_notice /> }
}

/// The notice of a console that only users of its machine reach, for the footer.
#[component]
pub fn NoAuthFooterNotice() -> impl IntoView {
    view! { <WithCurrentUser show=no_auth_footer_notice /> }
}

/// Renders a view of the current user once the first snapshot is loaded. Empty without a session.
#[component]
fn WithCurrentUser(show: fn(CurrentUser) -> AnyView) -> impl IntoView {
    let live = Live::expect();
    let content = move || {
        Suspend::new(async move {
            match live.initial.result().await {
                Ok(InitialState { user, .. }) => show(user),
                Err(_) => ().into_any(),
            }
        })
    };
    view! { <Transition fallback=|| ()>{move || content()}</Transition> }
}

fn account_menu(user: CurrentUser) -> AnyView {
    let role = terms::user_role(user.grant.role);
    let scope = describe_scope(&user);
    match user.session {
        SessionKind::Local | SessionKind::Open => ().into_any(),
        SessionKind::External => view! { <UserName name=user.name role scope /> }.into_any(),
        SessionKind::SignedIn => {
            let item = "block w-full rounded-md px-2.5 py-1.5 text-start hover:bg-sunken";
            view! {
                <details class="relative">
                    <summary class="cursor-pointer list-none rounded-md px-2 py-1 hover:bg-sunken">
                        <UserName name=user.name role scope />
                    </summary>
                    <form
                        method="post"
                        action=paths::SIGN_OUT
                        on:submit=|_| local_storage::clear_user_data()
                        class="absolute end-0 z-10 mt-1 w-48 rounded-lg border border-line bg-surface p-1 shadow-lift"
                    >
                        <button class=item>{shell::sign_out()}</button>
                        <button class=item name="everywhere" value="yes">
                            {shell::sign_out_everywhere()}
                        </button>
                    </form>
                </details>
            }
            .into_any()
        }
    }
}

#[component]
fn UserName(name: String, role: &'static str, scope: String) -> impl IntoView {
    view! {
        <span class="inline-flex max-w-48 items-baseline gap-1.5" title=scope>
            <span class="truncate font-medium">{name}</span>
            <span class="text-xs text-muted">{role}</span>
        </span>
    }
}

/// Describes the groups and keys that the role applies to.
fn describe_scope(user: &CurrentUser) -> String {
    let groups = match &user.grant.groups {
        Some(groups) => shell::in_groups(groups.join(", ")),
        None => shell::in_every_group().to_owned(),
    };
    match &user.grant.keys {
        Some(keys) => shell::limited_to_keys(groups, keys.join(", ")),
        None => groups,
    }
}

fn no_auth_notice(user: CurrentUser) -> AnyView {
    match user.session {
        SessionKind::SignedIn | SessionKind::External | SessionKind::Local => ().into_any(),
        SessionKind::Open => view! {
            <div class="mb-4">
                <Banner tone=Tone::Alarm announced=false>
                    <p class="font-semibold">{shell::open_access()}</p>
                    <p>{shell::open_access_advice()}</p>
                </Banner>
            </div>
        }
        .into_any(),
    }
}

fn no_auth_footer_notice(user: CurrentUser) -> AnyView {
    match user.session {
        SessionKind::SignedIn | SessionKind::External | SessionKind::Open => ().into_any(),
        SessionKind::Local => view! { <span>{shell::no_sign_in()}</span> }.into_any(),
    }
}
