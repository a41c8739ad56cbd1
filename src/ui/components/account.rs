//! Who the page is shown to, and the way out; and whether everybody else is let in as well.

use leptos::prelude::*;

use crate::domain::{Came, Me, Painted};
use crate::ui::kit::{Banner, Tone};
use crate::ui::live::Live;
use crate::ui::words::{frame, verdicts};
use crate::ui::{paths, traces};

/// The corner that says who is signed in.
#[component]
pub fn Account() -> impl IntoView {
    view! { <OfMe show=account /> }
}

/// Says that nobody needs to sign in, where that is so.
#[component]
pub fn Openness() -> impl IntoView {
    view! { <OfMe show=openness /> }
}

/// The same, where a phone has room for what need not be read first.
#[component]
pub fn OpennessBelow() -> impl IntoView {
    view! { <OfMe show=openness_below /> }
}

/// Something about whoever sees the page, once that is known; nothing where nobody is let in.
#[component]
fn OfMe(show: fn(Me) -> AnyView) -> impl IntoView {
    let live = Live::expect();
    let shown = move || {
        Suspend::new(async move {
            match live.first.answer().await {
                Ok(Painted { me, .. }) => show(me),
                Err(_) => ().into_any(),
            }
        })
    };
    view! { <Transition fallback=|| ()>{move || shown()}</Transition> }
}

fn account(me: Me) -> AnyView {
    let role = verdicts::rank(me.rights.role);
    let scope = scope(&me);
    match me.came {
        Came::Local | Came::Anyone => ().into_any(),
        Came::VouchedFor => view! { <Named name=me.name role scope /> }.into_any(),
        Came::SignedIn => {
            let item = "block w-full rounded-md px-2.5 py-1.5 text-start hover:bg-sunken";
            view! {
                <details class="relative">
                    <summary class="cursor-pointer list-none rounded-md px-2 py-1 hover:bg-sunken">
                        <Named name=me.name role scope />
                    </summary>
                    <form
                        method="post"
                        action=paths::SIGN_OUT
                        on:submit=|_| traces::forget()
                        class="absolute end-0 z-10 mt-1 w-48 rounded-lg border border-line bg-surface p-1 shadow-lift"
                    >
                        <button class=item>{frame::sign_out()}</button>
                        <button class=item name="everywhere" value="yes">
                            {frame::sign_out_everywhere()}
                        </button>
                    </form>
                </details>
            }
            .into_any()
        }
    }
}

#[component]
fn Named(name: String, role: &'static str, scope: String) -> impl IntoView {
    view! {
        <span class="inline-flex max-w-48 items-baseline gap-1.5" title=scope>
            <span class="truncate font-medium">{name}</span>
            <span class="text-xs text-muted">{role}</span>
        </span>
    }
}

/// Where the role counts.
fn scope(me: &Me) -> String {
    let groups = match &me.rights.groups {
        Some(groups) => frame::in_groups(groups.join(", ")),
        None => frame::in_every_group().to_owned(),
    };
    match &me.rights.keys {
        Some(keys) => frame::acts_only_on(groups, keys.join(", ")),
        None => groups,
    }
}

fn openness(me: Me) -> AnyView {
    match me.came {
        Came::SignedIn | Came::VouchedFor => ().into_any(),
        Came::Local => view! {
            <p class="mb-3 text-xs text-muted max-sm:hidden">
                {frame::local_operator()}
            </p>
        }
        .into_any(),
        Came::Anyone => view! {
            <div class="mb-4">
                <Banner tone=Tone::Alarm announced=false>
                    <p class="font-semibold">{frame::anyone()}</p>
                    <p>{frame::anyone_advice()}</p>
                </Banner>
            </div>
        }
        .into_any(),
    }
}

fn openness_below(me: Me) -> AnyView {
    match me.came {
        Came::SignedIn | Came::VouchedFor | Came::Anyone => ().into_any(),
        Came::Local => {
            view! { <span class="sm:hidden">{frame::local_operator()}</span> }.into_any()
        }
    }
}
