//! Text: escaping of invisible characters, case-insensitive search, and durations in English.

/// Whether the text contains the part, ignoring case. ASCII text, as in most names, is compared
/// without an allocation.
pub fn contains(text: &str, part: &str) -> bool {
    if text.is_ascii() && part.is_ascii() {
        let (text, part) = (text.as_bytes(), part.as_bytes());
        return part.is_empty()
            || text
                .windows(part.len())
                .any(|window| window.eq_ignore_ascii_case(part));
    }
    lowercase(text).contains(&lowercase(part))
}

#[cfg(not(target_arch = "wasm32"))]
fn lowercase(text: &str) -> String {
    text.to_lowercase()
}

/// Uses the browser's case mapping, so that the WebAssembly module does not include the Unicode
/// tables.
#[cfg(target_arch = "wasm32")]
fn lowercase(text: &str) -> String {
    js_sys::JsString::from(text).to_lower_case().into()
}

/// Escapes characters that are invisible, move the cursor, control a terminal or reverse the text
/// direction, so that two names that look the same are the same.
pub fn escape_invisible(text: &str) -> String {
    if !text.chars().any(is_invisible) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_invisible(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A duration in English, as on the pages: `350 ms`, `1.2 s`, `4 min 12 s`, `7 h 12 min`, `3 d 4 h`.
pub fn english_span(ms: u64) -> String {
    let s = ms / 1_000;
    let two = |n: u64, unit: &str, rest: u64, rest_unit: &str| match rest {
        0 => format!("{n} {unit}"),
        _ => format!("{n} {unit} {rest} {rest_unit}"),
    };
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 if ms % 1_000 >= 100 => format!("{s}.{} s", ms % 1_000 / 100),
        1_000..60_000 => format!("{s} s"),
        60_000..3_600_000 => two(s / 60, "min", s % 60, "s"),
        3_600_000..86_400_000 => two(s / 3_600, "h", s / 60 % 60, "min"),
        _ => two(s / 86_400, "d", s / 3_600 % 24, "h"),
    }
}

/// Control characters, code points with the property `Default_Ignorable_Code_Point` of Unicode
/// (`DerivedCoreProperties.txt`), line separators, interlinear annotations and the blank Braille
/// pattern.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{contains, english_span, escape_invisible};

    #[test]
    fn spans_have_at_most_two_units() {
        for (ms, text) in [
            (350, "350 ms"),
            (3_400, "3.4 s"),
            (12_900, "12 s"),
            (252_000, "4 min 12 s"),
            (3_600_000, "1 h"),
            (29_640_000, "8 h 14 min"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(english_span(ms), text);
        }
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(escape_invisible("lock:plain 🔒"), "lock:plain 🔒");
        assert_eq!(escape_invisible("a\nb\u{202e}c\0"), "a\\nb\\u{202e}c\\u{0}");
        for hidden in [
            '\u{61c}',
            '\u{34f}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{2800}',
            '\u{e0041}',
            '\u{e0100}',
        ] {
            let shown = format!("lock\\u{{{:x}}}", u32::from(hidden));
            assert_eq!(escape_invisible(&format!("lock{hidden}")), shown);
        }
    }

    #[test]
    fn the_search_ignores_case_in_all_scripts() {
        assert!(contains("lock:Invoice:7", "INVOICE"));
        assert!(contains("lock:ÜBERWEISUNG", "überweisung"));
        assert!(contains("lock:заказ", "ЗАКАЗ"));
        assert!(contains("lock:发票", "发票"));
        assert!(contains("lock:7", ""));
        assert!(!contains("lock", "locks"));
        assert!(!contains("lock:заказ", "invoice"));
    }
}
