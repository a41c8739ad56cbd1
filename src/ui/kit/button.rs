//! A button. One that cannot be pressed says why, and stays reachable with the keyboard so that the reason is.

use leptos::prelude::*;

/// How much weight a button has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// The one thing to do here.
    Primary,
    /// Everything else.
    #[default]
    Quiet,
    /// Destroys something.
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
    /// How much weight it has.
    #[prop(optional)]
    variant: Variant,
    /// Why it cannot be pressed now; pressable while there is no reason.
    #[prop(into, optional)]
    why_not: Signal<Option<String>>,
    /// Whether it has the focus when its dialog opens.
    #[prop(optional)]
    autofocus: bool,
    /// Whether it sends the form that it is in.
    #[prop(optional)]
    submits: bool,
    /// Called when it is pressed.
    #[prop(into, optional)]
    on_press: Option<Callback<()>>,
    /// What it says.
    children: Children,
) -> impl IntoView {
    let dead = move || why_not.with(Option::is_some);
    let class = move || {
        let look = if dead() {
            "border-line bg-sunken text-muted cursor-not-allowed"
        } else {
            variant.class()
        };
        // What it does, the page's program does; a form is sent without it.
        let needs = if submits { "" } else { "needs-script " };
        format!(
            "{needs}inline-flex h-8 items-center gap-1.5 whitespace-nowrap rounded-md border px-3 font-medium transition-colors duration-100 {look}"
        )
    };
    view! {
        <button
            type=if submits { "submit" } else { "button" }
            class=class
            title=move || why_not.get()
            aria-disabled=move || dead().then_some("true")
            autofocus=autofocus
            on:click=move |event| {
                if dead() {
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
