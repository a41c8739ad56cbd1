//! A word with a colour that repeats what the word says.

use leptos::prelude::*;

/// What the colour means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing in particular.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// Needs a person.
    Alarm,
    /// Cannot be told.
    Unsure,
}

impl Tone {
    /// Text in this colour.
    pub fn text(self) -> &'static str {
        match self {
            Self::Plain => "text-muted",
            Self::Good => "text-held",
            Self::Warn => "text-warn",
            Self::Alarm => "text-alarm",
            Self::Unsure => "text-unsure",
        }
    }

    /// A quiet surface with text in this colour.
    pub fn surface(self) -> &'static str {
        match self {
            Self::Plain => "bg-sunken text-muted",
            Self::Good => "bg-held-soft text-held",
            Self::Warn => "bg-warn-soft text-warn",
            Self::Alarm => "bg-alarm-soft text-alarm",
            Self::Unsure => "bg-unsure-soft text-unsure",
        }
    }
}

/// A short word on a quiet surface.
#[component]
pub fn Badge(
    /// What its colour means.
    #[prop(optional)]
    tone: Tone,
    /// What it says at length.
    #[prop(into, optional)]
    title: Option<String>,
    /// The word.
    children: Children,
) -> impl IntoView {
    view! {
        <span
            class=format!("inline-block min-w-8 max-w-full truncate rounded px-1.5 align-middle text-xs font-medium leading-5 {}", tone.surface())
            title=title
        >
            {children()}
        </span>
    }
}
