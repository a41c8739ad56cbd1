//! A lock's name. A prefix that other rows share is dimmed, and control characters are escaped.

use leptos::prelude::*;

use crate::domain::{LockKey, prefix};
use crate::ui::format;
use crate::ui::i18n::locks as t;

/// The number of characters shown by default. Longer names are shortened in the middle; the title
/// has the full name.
const MAX_CHARS: usize = 48;

/// A lock's name.
#[component]
pub fn LockName(
    /// The key of the lock.
    key: LockKey,
    /// The length of the dimmed prefix in bytes.
    #[prop(into, optional)]
    shared: Signal<usize>,
    /// The maximum number of characters.
    #[prop(default = MAX_CHARS)]
    max_chars: usize,
) -> impl IntoView {
    let text = key.text().into_owned();
    let is_binary = std::str::from_utf8(key.as_bytes()).is_err();
    if text.is_empty() {
        return view! { <em class="text-muted">{t::empty_name()}</em> }.into_any();
    }
    let title = format::escape_invisible(&text);
    let shortened = format::shorten(&title, max_chars);
    let is_full = shortened == text;
    let parts = move || {
        let at = if is_full { shared.get() } else { 0 };
        let (dim, bright) = shortened.split_at_checked(at).unwrap_or(("", &shortened));
        // The server renders an empty text node as a space, which would be visible.
        let dim =
            (!dim.is_empty()).then(|| view! { <span class="text-faint">{dim.to_owned()}</span> });
        view! { {dim} {bright.to_owned()} }
    };
    view! {
        <bdi class="font-mono wrap-anywhere" title=title>
            {parts}
        </bdi>
        {is_binary.then(|| view! { " " <span class="text-xs text-muted">{t::bytes()}</span> })}
    }
    .into_any()
}

/// The prefixes that several names share, sorted. A prefix ends at a separator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommonPrefixes(Vec<String>);

impl CommonPrefixes {
    /// Collects the prefixes that at least two of the names share.
    pub fn of<'a>(keys: impl Iterator<Item = &'a LockKey>) -> Self {
        let mut all = Vec::new();
        for key in keys {
            let text = key.text();
            all.extend(prefix::segment_ends(&text).map(|end| text[..end].to_owned()));
        }
        all.sort_unstable();
        let shared = all.chunk_by(|a, b| a == b).filter(|same| same.len() > 1);
        Self(shared.filter_map(|same| same.first().cloned()).collect())
    }

    /// Returns the length in bytes of the longest prefix that this name shares.
    pub fn shared_bytes(&self, key: &LockKey) -> usize {
        let text = key.text();
        let mut ends = prefix::segment_ends(&text).rev();
        let is_shared = |end: &usize| {
            let prefix_text = &text[..*end];
            self.0
                .binary_search_by(|known| known.as_str().cmp(prefix_text))
                .is_ok()
        };
        ends.find(is_shared).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_common_prefix_is_dimmed() {
        let keys: Vec<LockKey> = [
            "lock:invoice:1",
            "lock:invoice:2",
            "lock:payout:eu",
            "other",
        ]
        .map(LockKey::from)
        .to_vec();
        let prefixes = CommonPrefixes::of(keys.iter());
        let shared: Vec<usize> = keys.iter().map(|key| prefixes.shared_bytes(key)).collect();
        assert_eq!(
            shared,
            [
                "lock:invoice:".len(),
                "lock:invoice:".len(),
                "lock:".len(),
                0
            ]
        );
    }

    #[test]
    fn binary_names_are_not_split() {
        let keys = [LockKey::new([0xff, b':', 1]), LockKey::new([0xff, b':', 2])];
        let prefixes = CommonPrefixes::of(keys.iter());
        assert_eq!(prefixes.shared_bytes(&keys[0]), 0);
    }
}
