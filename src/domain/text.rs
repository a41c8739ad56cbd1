//! Looking for a part of a text, in any case.

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

#[cfg(test)]
mod tests {
    use super::contains;

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
