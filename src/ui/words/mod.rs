//! What the console says, in every language it speaks. Both wordings of a sentence stand side by side, so that one without
//! the other does not compile.
//!
//! The server speaks the language of the request and the browser that of the page it was sent: see [`language()`].

/// Sentences with their wordings: English, then Chinese. Each becomes a function of its name; what it is told is named in
/// braces in both wordings, as in `format!`.
///
/// ```text
/// words! {
///     locks: "Locks", "锁";
///     showing(shown: usize, total: usize): "Showing {shown} of {total}.", "显示 {total} 个中的 {shown} 个。";
/// }
/// ```
macro_rules! words {
    () => {};
    ($name:ident : $en:literal, $zh:literal; $($rest:tt)*) => {
        #[doc = $en]
        pub fn $name() -> &'static str {
            match $crate::ui::words::language() {
                $crate::ui::words::Language::English => $en,
                $crate::ui::words::Language::Chinese => $zh,
            }
        }
        words! { $($rest)* }
    };
    ($name:ident ( $($told:ident : $kind:ty),+ ) : $en:literal, $zh:literal; $($rest:tt)*) => {
        #[doc = $en]
        pub fn $name($($told: $kind),+) -> String {
            match $crate::ui::words::language() {
                $crate::ui::words::Language::English => format!($en),
                $crate::ui::words::Language::Chinese => format!($zh),
            }
        }
        words! { $($rest)* }
    };
}

// Behind the macro, which they use.
mod language;

pub mod act;
pub mod audit;
pub mod bulk;
mod costs;
pub mod faults;
pub mod figures;
pub mod findings;
pub mod format;
pub mod frame;
pub mod help;
pub mod libraries;
pub mod lock;
pub mod locks;
pub mod nodes;
pub mod owners;
pub mod palette;
pub mod punctuation;
pub mod rows;
pub mod seen;
pub mod sign_in;
pub mod told;
pub mod verdicts;
pub mod waits;

pub use crate::domain::Language;
pub use language::language;
