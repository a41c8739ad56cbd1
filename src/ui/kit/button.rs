//! A button. A disabled button shows the reason, and stays focusable so that the reason can be read
//! with the keyboard.

use leptos::prelude::*;

/// The visual weight of a button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// The main action.
    Primary,
    /// Any other action.
    #[default]
    Quiet,
    /// A destructive action.
    Danger,
}

impl Variant {
    fn class(self) -> &'static str {
        match self {
            Self::Primary => "border-transparent bg-accent text-on-accent hover:bg-accent-strong",
            Self::Quiet => "border-line-strong bg-surface text-ink hover:bg-sunken",
            Self::Danger => "border-transparent bg-alarm text-on-alarm hover:bg-alarm-strong",
        }
    }
}

/// A button.
#[component]
pub fn Button(
    /// The visual weight.
    #[prop(optional)]
    variant: Variant,
    /// Why the button is disabled; `None` if it is enabled.
    #[prop(into, optional)]
    disabled_reason: Signal<Option<String>>,
    /// Whether the button is focused when its dialog opens.
    #[prop(optional)]
    autofocus: bool,
    /// Whether the button submits its form.
    #[prop(optional)]
    submits: bool,
    /// Called on a click.
    #[prop(into, optional)]
    on_press: Option<Callback<()>>,
    /// The content.
    children: Children,
) -> impl IntoView {
    let is_disabled = move || disabled_reason.with(Option::is_some);
    let class = move || {
        let look = if is_disabled() {
            "border-line bg-sunken text-muted cursor-not-allowed"
        } else {
            variant.class()
        };
        // Only submit buttons work without JavaScript.
        let script_class = if submits { "" } else { "needs-script " };
        format!(
            "{script_class}inline-flex h-8 items-center gap-1.5 whitespace-nowrap rounded-md border px-3 font-medium transition-colors duration-100 {look}"
        )
    };
    view! {
        <button
            type=if submits { "submit" } else { "button" }
            class=class
            title=move || disabled_reason.get()
            aria-disabled=move || is_disabled().then_some("true")
            autofocus=autofocus
            on:click=move |event| {
                if is_disabled() {
                    event.prevent_default();
                } else if let Some(on_press) = on_press {
                    on_press.run(());
                }
            }
        >
            {children()}
        </button>
    }
}
