//! A short label with a colour that supports its meaning.

use leptos::prelude::*;

/// The meaning of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Healthy.
    Good,
    /// Warning.
    Warn,
    /// Needs attention.
    Alarm,
    /// Unknown.
    Unsure,
}

impl Tone {
    /// The CSS class for text.
    pub fn text(self) -> &'static str {
        match self {
            Self::Plain => "text-muted",
            Self::Good => "text-held",
            Self::Warn => "text-warn",
            Self::Alarm => "text-alarm",
            Self::Unsure => "text-unsure",
        }
    }

    /// The CSS classes for a surface with text.
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

/// A short label on a coloured surface.
#[component]
pub fn Badge(
    /// The colour.
    #[prop(optional)]
    tone: Tone,
    /// The tooltip.
    #[prop(into, optional)]
    title: Option<String>,
    /// The label.
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
