//! The choice of one group among all, in a form that narrows what a page shows.

use leptos::either::EitherOf3;
use leptos::prelude::*;

use crate::ui::kit::field::CONTROL;
use crate::ui::live::Live;
use crate::ui::words::locks as words;

/// More groups than this are not chosen from a menu, but by the beginning of their name.
const MOST_IN_A_MENU: usize = 20;

/// The choice; nothing where there is only one group.
#[component]
pub fn GroupChoice(
    /// The group that is chosen now.
    chosen: Memo<Option<String>>,
    /// Takes another one, or none for all.
    #[prop(into)]
    on_choose: Callback<Option<String>>,
) -> impl IntoView {
    let live = Live::expect();
    let groups = Memo::new(move |_| {
        live.with_groups(|groups| {
            let names = groups.iter().map(|group| group.name.clone());
            names.collect::<Vec<_>>()
        })
    });
    let choose = move |group: String| {
        on_choose.run(Some(group).filter(|group| !group.is_empty()));
    };
    let menu = move || {
        let option = |name: String| {
            let is_chosen = {
                let name = name.clone();
                move || chosen.with(|chosen| chosen.as_ref() == Some(&name))
            };
            view! { <option value=name.clone() selected=is_chosen>{name.clone()}</option> }
        };
        view! {
            <select
                name="group"
                aria-label=words::group()
                class=format!("{CONTROL} max-w-48")
                on:change=move |event| choose(event_target_value(&event))
            >
                <option value="" selected=move || chosen.with(Option::is_none)>{words::all_groups()}</option>
                {groups.get().into_iter().map(option).collect_view()}
            </select>
        }
    };
    let by_name = move || {
        let offers = groups.get().into_iter();
        let offers = offers.map(|name| view! { <option value=name></option> });
        view! {
            <input
                name="group"
                list="groups"
                class=format!("{CONTROL} max-w-48")
                aria-label=words::group()
                placeholder=words::all_groups()
                autocomplete="off"
                value=chosen.get_untracked()
                prop:value=move || chosen.get().unwrap_or_default()
                on:change=move |event| choose(event_target_value(&event))
            />
            <datalist id="groups">{offers.collect_view()}</datalist>
        }
    };
    move || match groups.with(Vec::len) {
        0 | 1 => EitherOf3::A(()),
        2..=MOST_IN_A_MENU => EitherOf3::B(menu()),
        _ => EitherOf3::C(by_name()),
    }
}
