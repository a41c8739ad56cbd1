//! The title of a page, whatever name of a lock is in it.

/// What is written for a title. The server's goes into the page's HTML as it is here, for `leptos_meta` escapes nothing; the browser
/// is told its own as a text.
pub fn written(title: String) -> String {
    match cfg!(target_arch = "wasm32") {
        true => title,
        false => escaped(&title),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_no_end_but_its_own() {
        assert_eq!(
            written("a &lt; </title><b>".to_owned()),
            "a &amp;lt; &lt;/title&gt;&lt;b&gt;"
        );
    }
}
