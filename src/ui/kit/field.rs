//! A form field: label, control, hint, and the error that belongs to it.

use leptos::prelude::*;

/// The look of a text field, for the control inside.
pub const CONTROL: &str = "h-9 w-full min-w-0 rounded-md border border-line-strong bg-surface px-2.5 text-ink placeholder:text-faint aria-invalid:border-alarm";

/// A label, the control, a hint and an error. The control's `aria-describedby` should name `{id}-hint`.
#[component]
pub fn Field(
    /// The id of the control.
    id: &'static str,
    /// What is asked for.
    #[prop(into)]
    label: String,
    /// What helps to answer.
    #[prop(into, optional)]
    hint: Option<String>,
    /// What is wrong with the answer.
    #[prop(into, optional)]
    error: Signal<Option<String>>,
    /// The control.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="flex flex-col gap-1">
            <label for=id class="font-medium">
                {label}
            </label>
            {children()}
            <p id=format!("{id}-hint") class="text-xs">
                <span class="text-muted">{hint}</span>
                " "
                <span class="font-medium text-alarm" role="status">
                    {error}
                </span>
            </p>
        </div>
    }
}
