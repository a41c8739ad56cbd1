//! Inline icons, always used next to a text. Paths from Lucide (ISC licence, <https://lucide.dev>).

use leptos::prelude::*;

/// The name of an icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum IconName {
    /// Needs attention.
    Alert,
    /// Sorted ascending.
    ArrowUp,
    /// Sorted descending.
    ArrowDown,
    /// Back.
    ArrowLeft,
    /// Opens a menu.
    Caret,
    /// Success.
    Check,
    /// Copy to the clipboard.
    Copy,
    /// Export as a file.
    Download,
    /// The dark theme.
    Moon,
    /// The system's theme.
    Monitor,
    /// Stop changes.
    Pause,
    /// Continue.
    Play,
    /// Add.
    Plus,
    /// Refresh.
    Refresh,
    /// Search.
    Search,
    /// Settings.
    Sliders,
    /// Sortable.
    Sortable,
    /// The light theme.
    Sun,
    /// Remove, close.
    Cross,
}

impl IconName {
    fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Alert => &[
                "m21.73 18-8-14a2 2 0 0 0-3.48 0l-8 14A2 2 0 0 0 4 21h16a2 2 0 0 0 1.73-3",
                "M12 9v4",
                "M12 17h.01",
            ],
            Self::ArrowUp => &["m5 12 7-7 7 7", "M12 19V5"],
            Self::ArrowDown => &["M12 5v14", "m19 12-7 7-7-7"],
            Self::ArrowLeft => &["m12 19-7-7 7-7", "M19 12H5"],
            Self::Caret => &["m6 9 6 6 6-6"],
            Self::Check => &["M20 6 9 17l-5-5"],
            Self::Copy => &[
                "M10 8h10a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H10a2 2 0 0 1-2-2V10a2 2 0 0 1 2-2Z",
                "M4 16c-1.1 0-2-.9-2-2V4c0-1.1.9-2 2-2h10c1.1 0 2 .9 2 2",
            ],
            Self::Download => &[
                "M12 15V3",
                "m7 10 5 5 5-5",
                "M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4",
            ],
            Self::Moon => &[
                "M20.985 12.486a9 9 0 1 1-9.473-9.472c.405-.022.617.46.402.803a6 6 0 0 0 8.268 8.268c.344-.215.825-.004.803.401",
            ],
            Self::Monitor => &[
                "M4 3h16a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2Z",
                "M8 21h8",
                "M12 17v4",
            ],
            Self::Pause => &["M6 4h4v16H6Z", "M14 4h4v16h-4Z"],
            Self::Play => &["m6 3 14 9-14 9Z"],
            Self::Plus => &["M5 12h14", "M12 5v14"],
            Self::Refresh => &[
                "M21 12a9 9 0 1 1-9-9c2.52 0 4.93 1 6.74 2.74L21 8",
                "M21 3v5h-5",
            ],
            Self::Search => &["m21 21-4.34-4.34", "M19 11a8 8 0 1 1-16 0 8 8 0 0 1 16 0Z"],
            Self::Sliders => &[
                "M10 5H3",
                "M12 19H3",
                "M14 3v4",
                "M16 17v4",
                "M21 12h-9",
                "M21 19h-5",
                "M21 5h-7",
                "M8 10v4",
                "M8 12H3",
            ],
            Self::Sortable => &["m7 15 5 5 5-5", "m7 9 5-5 5 5"],
            Self::Sun => &[
                "M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0Z",
                "M12 2v2",
                "M12 20v2",
                "m4.93 4.93 1.41 1.41",
                "m17.66 17.66 1.41 1.41",
                "M2 12h2",
                "M20 12h2",
                "m6.34 17.66-1.41 1.41",
                "m19.07 4.93-1.41 1.41",
            ],
            Self::Cross => &["M18 6 6 18", "m6 6 12 12"],
        }
    }
}

/// An icon of the size of the text. It is hidden from screen readers, which read the text.
#[component]
pub fn Icon(
    /// The icon.
    name: IconName,
) -> impl IntoView {
    view! {
        <svg
            class="inline-block size-4 shrink-0"
            viewBox="0 0 24 24"
            fill="none"
            stroke="currentColor"
            stroke-width="2"
            stroke-linecap="round"
            stroke-linejoin="round"
            aria-hidden="true"
        >
            {name.paths().iter().map(|d| view! { <path d=*d></path> }).collect_view()}
        </svg>
    }
}
