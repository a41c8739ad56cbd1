//! The search field of a page. An HTML form, so that it works before hydration and without
//! JavaScript.

use leptos::prelude::*;

use crate::ui::i18n::nodes as t;
use crate::ui::kit::controlled::control_value;
use crate::ui::kit::{Icon, IconName, field::CONTROL, use_replace_address};

/// The search field of a page. The text is part of the page's URL.
#[component]
pub fn PageSearch(
    /// The current text.
    text: Memo<String>,
    /// The path of the page, for the form.
    page: &'static str,
    /// The accessible name.
    label: &'static str,
    /// The placeholder.
    hint: &'static str,
    /// Returns the URL of the page for a text.
    path: Callback<String, String>,
    /// Further form fields, for the other parts of the URL.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let go = use_replace_address();
    let search = move |text: String| go.run(path.run(text));
    let field = NodeRef::new();
    control_value(field, text, search);
    view! {
        <form role="search" action=page method="get" class="flex grow flex-wrap items-center gap-2" on:submit=move |event| event.prevent_default()>
            <span class="relative min-w-40 max-w-md grow basis-40 sm:min-w-52">
                <span class="pointer-events-none absolute inset-y-0 start-2.5 flex items-center text-faint">
                    <Icon name=IconName::Search />
                </span>
                <input
                    node_ref=field
                    type="search"
                    name="q"
                    class=format!("{CONTROL} ps-9")
                    aria-label=label
                    placeholder=hint
                    autocomplete="off"
                    spellcheck="false"
                    value=text.get_untracked()
                    on:input=move |event| search(event_target_value(&event))
                />
            </span>
            {children.map(|children| children())}
            <noscript>
                <button type="submit">{t::search()}</button>
            </noscript>
        </form>
    }
}
