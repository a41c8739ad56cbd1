//! Translated texts of the console. English and Chinese are written next to each other, so that a
//! message without a translation does not compile.
//!
//! On the server the locale is that of the request, in the browser that of the page: see
//! [`locale()`].

/// Defines messages: a name, the English text and the Chinese text. Each message becomes a function
/// of that name; its parameters are used in both texts as in `format!`.
///
/// A message with a count has two English texts, for one and for any other number. Chinese has no
/// plural forms.
///
/// ```text
/// messages! {
///     locks: "Locks", "锁";
///     showing(shown: usize, total: usize): "Showing {shown} of {total}.", "显示 {total} 个中的 {shown} 个。";
///     lock_count(n: usize): one "1 lock", other "{n} locks", "{n} 把锁";
/// }
/// ```
macro_rules! messages {
    () => {};
    ($name:ident : $en:literal, $zh:literal; $($rest:tt)*) => {
        #[doc = $en]
        pub fn $name() -> &'static str {
            match $crate::ui::i18n::locale() {
                $crate::ui::i18n::Locale::English => $en,
                $crate::ui::i18n::Locale::Chinese => $zh,
            }
        }
        messages! { $($rest)* }
    };
    ($name:ident ( $($param:ident : $kind:ty),+ ) : $en:literal, $zh:literal; $($rest:tt)*) => {
        #[doc = $en]
        pub fn $name($($param: $kind),+) -> String {
            match $crate::ui::i18n::locale() {
                $crate::ui::i18n::Locale::English => format!($en),
                $crate::ui::i18n::Locale::Chinese => format!($zh),
            }
        }
        messages! { $($rest)* }
    };
    ($name:ident ( $count:ident : $number:ty $(, $param:ident : $kind:ty)* ) : one $one:literal, other $en:literal, $zh:literal; $($rest:tt)*) => {
        #[doc = $en]
        pub fn $name($count: $number $(, $param: $kind)*) -> String {
            match $crate::ui::i18n::locale() {
                $crate::ui::i18n::Locale::English if $count == 1 => format!($one),
                $crate::ui::i18n::Locale::English => format!($en),
                $crate::ui::i18n::Locale::Chinese => format!($zh),
            }
        }
        messages! { $($rest)* }
    };
}

// The modules use the macro, so they are declared after it.
pub mod activity;
pub mod advice;
pub mod audit;
pub mod audit_details;
pub mod bulk;
pub mod coverage;
pub mod error_causes;
pub mod errors;
pub mod findings;
pub mod format;
pub mod grouping;
pub mod help;
pub mod incident;
pub mod libraries;
mod locale;
pub mod lock;
pub mod locks;
mod missing_permissions;
pub mod nodes;
pub mod operations;
pub mod outages;
pub mod owner;
pub mod owners;
pub mod palette;
pub mod permissions;
pub mod pinned;
pub mod prefixes;
pub mod punctuation;
pub mod reasons;
pub mod shell;
pub mod sign_in;
pub mod terms;
pub mod trends;
pub mod units;
pub mod views;
pub mod waits;
pub mod webhooks;

pub use crate::domain::Locale;
pub use locale::locale;
