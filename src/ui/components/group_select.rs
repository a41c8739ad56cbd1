//! A filter for the group.

use leptos::either::EitherOf3;
use leptos::prelude::*;

use crate::ui::i18n::locks as t;
use crate::ui::kit::controlled::control_value;
use crate::ui::kit::field::CONTROL;
use crate::ui::live::Live;

/// With more groups than this, a text field with completion replaces the menu.
const MAX_MENU_GROUPS: usize = 20;

/// The filter. Empty if there is only one group.
#[component]
pub fn GroupSelect(
    /// The selected group.
    chosen: Memo<Option<String>>,
    /// Called with the selected group. `None` means all groups.
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
    let value = Memo::new(move |_| chosen.get().unwrap_or_default());
    let menu = move || {
        let control = NodeRef::new();
        control_value(control, value, choose);
        let option = |name: String| {
            let is_chosen = {
                let name = name.clone();
                move || chosen.with(|chosen| chosen.as_ref() == Some(&name))
            };
            view! { <option value=name.clone() selected=is_chosen>{name.clone()}</option> }
        };
        view! {
            <select
                node_ref=control
                name="group"
                autocomplete="off"
                aria-label=t::group()
                class=format!("{CONTROL} max-w-36 sm:max-w-48")
                on:change=move |event| choose(event_target_value(&event))
            >
                <option value="" selected=move || chosen.with(Option::is_none)>{t::all_groups()}</option>
                {groups.get().into_iter().map(option).collect_view()}
            </select>
        }
    };
    let text_field = move || {
        let control = NodeRef::new();
        control_value(control, value, choose);
        let options = groups.get().into_iter();
        let options = options.map(|name| view! { <option value=name></option> });
        view! {
            <input
                node_ref=control
                name="group"
                list="groups"
                class=format!("{CONTROL} max-w-36 sm:max-w-48")
                aria-label=t::group()
                placeholder=t::all_groups()
                autocomplete="off"
                value=value.get_untracked()
                on:change=move |event| choose(event_target_value(&event))
            />
            <datalist id="groups">{options.collect_view()}</datalist>
        }
    };
    move || match groups.with(Vec::len) {
        0 | 1 => EitherOf3::A(()),
        2..=MAX_MENU_GROUPS => EitherOf3::B(menu()),
        _ => EitherOf3::C(text_field()),
    }
}
