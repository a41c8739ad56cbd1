//! A lock's name: what many rows share is dim, the part that differs is bright, and nothing in it is invisible.

use leptos::prelude::*;

use crate::domain::{LockKey, prefix};
use crate::ui::format;
use crate::ui::words::locks as words;

/// Longer names are shortened in the middle; the whole is in the title.
const MOST: usize = 48;

/// A lock's name.
#[component]
pub fn LockName(
    /// The name.
    key: LockKey,
    /// How many bytes at its start are shared by other rows.
    #[prop(into, optional)]
    shared: Signal<usize>,
    /// How many characters are shown at most.
    #[prop(default = MOST)]
    most: usize,
) -> impl IntoView {
    let text = key.text().into_owned();
    let binary = std::str::from_utf8(key.as_bytes()).is_err();
    if text.is_empty() {
        return view! { <em class="text-muted">{words::empty_name()}</em> }.into_any();
    }
    let title = format::visible(&text);
    let shown = format::shorten(&title, most);
    let whole = shown == text;
    let parts = move || {
        let at = if whole { shared.get() } else { 0 };
        let (dim, bright) = shown.split_at_checked(at).unwrap_or(("", &shown));
        // An empty text would come from the server as a space.
        let dim =
            (!dim.is_empty()).then(|| view! { <span class="text-faint">{dim.to_owned()}</span> });
        view! { {dim} {bright.to_owned()} }
    };
    view! {
        <bdi class="font-mono wrap-anywhere" title=title>
            {parts}
        </bdi>
        {binary.then(|| view! { " " <span class="text-xs text-muted">{words::bytes()}</span> })}
    }
    .into_any()
}

/// What several of the rows begin with, in order; a beginning ends where a part of a name does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beginnings(Vec<String>);

impl Beginnings {
    /// The beginnings that at least two of these names share.
    pub fn of<'a>(keys: impl Iterator<Item = &'a LockKey>) -> Self {
        let mut all = Vec::new();
        for key in keys {
            let text = key.text();
            all.extend(prefix::ends(&text).map(|end| text[..end].to_owned()));
        }
        all.sort_unstable();
        let shared = all.chunk_by(|a, b| a == b).filter(|same| same.len() > 1);
        Self(shared.filter_map(|same| same.first().cloned()).collect())
    }

    /// How many bytes of this name other names share.
    pub fn shared(&self, key: &LockKey) -> usize {
        let text = key.text();
        let mut ends = prefix::ends(&text).rev();
        let is_shared = |end: &usize| {
            let beginning = &text[..*end];
            self.0
                .binary_search_by(|known| known.as_str().cmp(beginning))
                .is_ok()
        };
        ends.find(is_shared).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_shared_beginning_is_dimmed() {
        let keys: Vec<LockKey> = [
            "lock:invoice:1",
            "lock:invoice:2",
            "lock:payout:eu",
            "other",
        ]
        .map(LockKey::from)
        .to_vec();
        let beginnings = Beginnings::of(keys.iter());
        let shared: Vec<usize> = keys.iter().map(|key| beginnings.shared(key)).collect();
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
    fn names_that_are_not_text_do_not_break() {
        let keys = [LockKey::new([0xff, b':', 1]), LockKey::new([0xff, b':', 2])];
        let beginnings = Beginnings::of(keys.iter());
        assert_eq!(beginnings.shared(&keys[0]), 0);
    }
}
