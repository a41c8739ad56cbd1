//! Markdown for chats and issue trackers. Names of locks, owners and nodes are untrusted text.

use super::text::escape_invisible;

/// The longest text in characters; longer texts lose their middle.
pub const MAX_CHARS: usize = 300;

/// A name as a code span. Markup, mentions and links have no effect in it.
pub fn code(text: &str) -> String {
    let text = bounded(&escape_invisible(text));
    if text.is_empty() {
        return "``\u{20}``".to_owned();
    }
    // The fence is longer than every run of backticks in the text.
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // A space between the fence and a backtick, and around spaces, is removed by the renderer.
    let is_edge = |c: char| c == '`' || c == ' ';
    match text.starts_with(is_edge) || text.ends_with(is_edge) {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

/// A sentence that may contain names, without markup, mentions and links.
pub fn escape(text: &str) -> String {
    let text = bounded(&escape_invisible(text));
    let mut escaped = String::with_capacity(text.len() + 8);
    for (index, c) in text.char_indices() {
        let is_markup = matches!(
            c,
            '\\' | '`'
                | '*'
                | '_'
                | '['
                | ']'
                | '<'
                | '>'
                | '|'
                | '~'
                | '&'
                | '#'
                | '@'
                | '$'
                | '!'
        );
        // At the start: a list or a heading. `://` and `www.` become links without brackets.
        let is_list = index == 0 && matches!(c, '-' | '+' | '=');
        let is_number = matches!(c, '.' | ')')
            && index > 0
            && text[..index].bytes().all(|byte| byte.is_ascii_digit());
        let is_link = c == '/' && text[..index].ends_with(':')
            || c == '.' && is_www(&text.as_bytes()[..index]);
        if is_markup || is_list || is_number || is_link {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn is_www(before: &[u8]) -> bool {
    before.len() >= 3 && before[before.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// At most [`MAX_CHARS`] characters: the start and the end of a longer text.
fn bounded(text: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_CHARS {
        return text.to_owned();
    }
    let half = MAX_CHARS / 2;
    let head: String = text.chars().take(half - 1).collect();
    let tail: String = text.chars().skip(length - half).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_ends_where_the_name_ends() {
        for (name, expected) in [
            ("lock:a", "`lock:a`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            ("`x", "`` `x ``"),
            (" ", "`   `"),
            ("a\n# b", "`a\\n# b`"),
            ("", "`` ``"),
        ] {
            assert_eq!(code(name), expected, "{name:?}");
        }
        assert_eq!(code(&"x".repeat(20_000)).chars().count(), MAX_CHARS + 2);
    }

    #[test]
    fn a_sentence_has_no_markup_mentions_or_links() {
        for (text, expected) in [
            ("Held for 4 min (3 of 5).", "Held for 4 min (3 of 5)."),
            ("[x](javascript:1)", "\\[x\\](javascript:1)"),
            ("https://evil.example", "https:\\//evil.example"),
            ("WWW.evil.example", "WWW\\.evil.example"),
            ("@team <!here> **b**", "\\@team \\<\\!here\\> \\*\\*b\\*\\*"),
            ("- item", "\\- item"),
            ("12. item", "12\\. item"),
            ("a\r\n# b", "a\\\\r\\\\n\\# b"),
        ] {
            assert_eq!(escape(text), expected, "{text:?}");
        }
    }
}
