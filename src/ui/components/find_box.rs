//! A search in what a page shows. A real form: it works before the page has woken up, and without JavaScript.

use leptos::prelude::*;

use crate::ui::kit::{Icon, Sign, field::CONTROL, use_replace_address};
use crate::ui::words::nodes as words;

/// The search box of a page. What is typed goes into its address at once.
#[component]
pub fn FindBox(
    /// What is searched for now.
    text: Memo<String>,
    /// The page.
    page: &'static str,
    /// What is searched.
    label: &'static str,
    /// What may be typed.
    hint: &'static str,
    /// The address of the page with another text.
    path: Callback<String, String>,
    /// What else the address says, for the form.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let go = use_replace_address();
    view! {
        <form role="search" action=page method="get" class="flex grow flex-wrap items-center gap-2" on:submit=move |event| event.prevent_default()>
            <span class="relative min-w-52 max-w-md grow">
                <span class="pointer-events-none absolute inset-y-0 start-2.5 flex items-center text-faint">
                    <Icon sign=Sign::Search />
                </span>
                <input
                    type="search"
                    name="q"
                    class=format!("{CONTROL} ps-9")
                    aria-label=label
                    placeholder=hint
                    autocomplete="off"
                    spellcheck="false"
                    value=text.get_untracked()
                    prop:value=move || text.get()
                    on:input=move |event| go.run(path.run(event_target_value(&event)))
                />
            </span>
            {children.map(|children| children())}
            <noscript>
                <button type="submit">{words::find_it()}</button>
            </noscript>
        </form>
    }
}
