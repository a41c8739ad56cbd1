//! The page title, which may contain arbitrary lock names.

/// Escapes a title on the server, because `leptos_meta` writes it into the HTML without escaping.
/// In the browser it is set as text.
pub fn format_title(title: String) -> String {
    match cfg!(target_arch = "wasm32") {
        true => title,
        false => escape_html(&title),
    }
}

fn escape_html(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_cannot_close_its_element() {
        assert_eq!(
            format_title("a &lt; </title><b>".to_owned()),
            "a &amp;lt; &lt;/title&gt;&lt;b&gt;"
        );
    }
}
