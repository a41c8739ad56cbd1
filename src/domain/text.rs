//! Texts that others wrote: what is hidden in them is made visible, and a part of them is found in any case.

/// Whether the text contains the part, in any case. Most names are ASCII: nothing is copied for them.
pub fn contains(text: &str, part: &str) -> bool {
    if text.is_ascii() && part.is_ascii() {
        let (text, part) = (text.as_bytes(), part.as_bytes());
        return part.is_empty()
            || text
                .windows(part.len())
                .any(|here| here.eq_ignore_ascii_case(part));
    }
    lowercase(text).contains(&lowercase(part))
}

#[cfg(not(target_arch = "wasm32"))]
fn lowercase(text: &str) -> String {
    text.to_lowercase()
}

/// The browser knows the letters of all scripts: the pages need not carry its tables once more.
#[cfg(target_arch = "wasm32")]
fn lowercase(text: &str) -> String {
    js_sys::JsString::from(text).to_lower_case().into()
}

/// A text of others with everything made visible that would show as nothing, move a cursor, colour a terminal, or turn the text around:
/// two names that look the same are the same.
pub fn visible(text: &str) -> String {
    if !text.chars().any(is_hidden) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, and what Unicode calls `Default_Ignorable_Code_Point` (`DerivedCoreProperties.txt`); what separates lines and
/// annotates; the empty Braille cell.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{contains, visible};

    #[test]
    fn nothing_in_a_name_is_invisible() {
        assert_eq!(visible("lock:plain 🔒"), "lock:plain 🔒");
        assert_eq!(visible("a\nb\u{202e}c\0"), "a\\nb\\u{202e}c\\u{0}");
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
            assert_eq!(visible(&format!("lock{hidden}")), shown);
        }
    }

    #[test]
    fn a_part_is_found_in_any_case_and_in_any_script() {
        assert!(contains("lock:Invoice:7", "INVOICE"));
        assert!(contains("lock:ÜBERWEISUNG", "überweisung"));
        assert!(contains("lock:заказ", "ЗАКАЗ"));
        assert!(contains("lock:发票", "发票"));
        assert!(contains("lock:7", ""));
        assert!(!contains("lock", "locks"));
        assert!(!contains("lock:заказ", "invoice"));
    }
}
