//! Punctuation between parts of a sentence. Chinese uses full-width marks without spaces.

use super::{Locale, locale};

messages! {
    comma: ", ", "，";
    full_stop: ". ", "。";
    sentence(part: &str): "{part}.", "{part}。";
    labelled(label: &str, text: &str): "{label}: {text}", "{label}：{text}";
    in_parentheses(text: &str): " ({text})", "（{text}）";
}

/// A figure that is followed by a word. Chinese puts a space after a digit, but not after a unit.
pub fn before_word(figure: &str) -> String {
    match locale() {
        Locale::Chinese if figure.ends_with(|c: char| c.is_ascii_digit()) => format!("{figure} "),
        Locale::Chinese | Locale::English => figure.to_owned(),
    }
}

/// Items of equal rank, separated by commas.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(comma())
}

/// The separator between two sentences.
pub fn sentence_separator() -> &'static str {
    match locale() {
        Locale::English => " ",
        Locale::Chinese => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_figure_is_followed_by_a_space_only_after_a_digit() {
        assert_eq!(before_word("00:26"), "00:26");
        let owner = leptos::prelude::Owner::new();
        owner.with(|| {
            leptos::prelude::provide_context(Locale::Chinese);
            assert_eq!(before_word("00:26"), "00:26 ");
            assert_eq!(before_word("7 小时 12 分"), "7 小时 12 分");
        });
    }
}
