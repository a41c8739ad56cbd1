//! The signs between the parts that a sentence is put together from. Chinese has its own, and no space beside them.

use super::{Language, language};

words! {
    comma: ", ", "，";
    full_stop: ". ", "。";
    sentence(part: &str): "{part}.", "{part}。";
    told(what: &str, more: &str): "{what}: {more}", "{what}：{more}";
    aside(what: &str): " ({what})", "（{what}）";
}

/// A figure before a word: a space after a digit, in Chinese none after a unit.
pub fn before_a_word(figure: &str) -> String {
    match language() {
        Language::Chinese if figure.ends_with(|c: char| c.is_ascii_digit()) => format!("{figure} "),
        Language::Chinese | Language::English => figure.to_owned(),
    }
}

/// What stands between two sentences.
pub fn space() -> &'static str {
    match language() {
        Language::English => " ",
        Language::Chinese => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_in_chinese_has_a_space_after_a_digit_only() {
        assert_eq!(before_a_word("00:26"), "00:26");
        let owner = leptos::prelude::Owner::new();
        owner.with(|| {
            leptos::prelude::provide_context(Language::Chinese);
            assert_eq!(before_a_word("00:26"), "00:26 ");
            assert_eq!(before_a_word("7 小时 12 分"), "7 小时 12 分");
        });
    }
}
