//! Pages are rendered in the language that the user chose, otherwise in the language that the
//! browser requests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

/// The header of a form that a browser submits.
const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

#[tokio::test]
async fn a_page_uses_the_chosen_language_otherwise_the_language_of_the_browser() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    for (headers, tag, word) in [
        (&[][..], "en", "Owners"),
        (
            &[("accept-language", "zh-CN,en;q=0.5")][..],
            "zh-CN",
            "持有者",
        ),
        (
            &[
                ("accept-language", "en"),
                ("cookie", "a=b; lockkeeper-language=zh-CN"),
            ][..],
            "zh-CN",
            "持有者",
        ),
        (
            &[("cookie", "lockkeeper-language=\"><b>")][..],
            "en",
            "Owners",
        ),
    ] {
        for path in ["/", "/no-such-page"] {
            let page = api.send("GET", path, headers, String::new()).await;
            let lang = format!("<html lang=\"{tag}\"");
            assert!(
                page.text.contains(&lang),
                "{path} {headers:?}: {}",
                page.text
            );
            assert!(page.text.contains(word), "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn choosing_a_language_sets_a_cookie_and_redirects_within_the_console() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let api = console.api();
    for (form, location) in [
        ("language=zh-CN&next=%2Fnodes%3Fa%3Db", "/nodes?a=b"),
        ("language=zh-CN&next=%2Fsign-in", "/sign-in"),
        ("language=zh-CN&next=%2F%2Fevil.example", "/"),
        ("language=zh-CN&next=https%3A%2F%2Fevil.example", "/"),
        ("language=zh-CN", "/"),
    ] {
        let response = api.send("POST", "/language", &FORM, form).await;
        assert_eq!(response.status, 303, "{form}: {}", response.text);
        assert_eq!(response.headers["location"], location, "{form}");
        assert_eq!(
            response.headers["set-cookie"],
            "lockkeeper-language=zh-CN; Path=/; Max-Age=31536000; SameSite=Lax",
            "{form}"
        );
    }
    let unknown = api.send("POST", "/language", &FORM, "language=tlh&next=/nodes");
    let unknown = unknown.await;
    assert_eq!(unknown.headers["location"], "/nodes");
    assert!(!unknown.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn a_cross_site_request_cannot_change_the_language() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let mut headers = FORM.to_vec();
    headers.push(("sec-fetch-site", "cross-site"));
    let form = "language=zh-CN&next=/";
    let api = console.api();
    let response = api.send("POST", "/language", &headers, form);
    let response = response.await;
    assert_eq!(response.status, 403);
    assert!(!response.headers.contains_key("set-cookie"));
}

/// Messages that are the same in English and Chinese.
const UNTRANSLATED: [&str; 6] = ["API", "Lockkeeper", "MONITOR", "PostgreSQL", "UTC", "curl"];

#[test]
fn every_message_has_text_in_both_languages() {
    let text = r#""((?:[^"\\]|\\.)*)""#;
    let one = r#""(?:[^"\\]|\\.)*""#;
    let entry = Regex::new(&format!(
        r"(?m)^\s+(\w+)\s*(?:\([^)]*\))?:\s*(?:one {one},\s*other\s*)?{text},\s*{text};"
    ))
    .unwrap();
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let placeholder_start = Regex::new(r"\{(\w+)").unwrap();
    let placeholder_names = |wording: &str| -> BTreeSet<String> {
        let names = placeholder_start
            .captures_iter(wording)
            .map(|found| found[1].to_owned());
        names.collect()
    };
    let placeholder = Regex::new(r"\{[^}]*\}").unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for path in message_files() {
        let source = std::fs::read_to_string(&path).unwrap();
        for found in entry.captures_iter(&source) {
            count += 1;
            let (name, english, chinese) = (&found[1], &found[2], &found[3]);
            let location = format!("{} {name}", path.file_name().unwrap().display());
            if english.trim().is_empty() || chinese.trim().is_empty() {
                wrong.push(format!("{location}: empty text"));
            }
            // Only text without words may be the same in both languages.
            let letters = placeholder.replace_all(english, "");
            let has_words = letters.chars().filter(|c| c.is_alphabetic()).count() > 1;
            if has_words && !chinese.chars().any(is_chinese) && !UNTRANSLATED.contains(&chinese) {
                wrong.push(format!("{location}: {chinese:?} is not Chinese"));
            }
            if placeholder_names(english) != placeholder_names(chinese) {
                wrong.push(format!(
                    "{location}: the placeholders of the two languages differ"
                ));
            }
        }
    }
    assert!(count > 100, "{count} messages");
    assert_eq!(wrong, Vec::<String>::new());
}

/// The files that define the messages of the pages.
fn message_files() -> Vec<PathBuf> {
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/i18n")];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for found in std::fs::read_dir(directory).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}

/// English sentences that contain the Chinese name of a language.
const ENGLISH_WITH_CHINESE_NAMES: [&str; 1] = ["Language: 简体中文"];

#[test]
fn chinese_is_written_with_its_own_punctuation() {
    let text = Regex::new(r#""((?:[^"\\\n]|\\.)*)""#).unwrap();
    let chinese = r"[\u{4e00}-\u{9fff}]";
    let half = Regex::new(&format!(r"{chinese} ?[,;:!?()]|[,;:!?()] ?{chinese}")).unwrap();
    // Full-width punctuation includes its own space.
    let spaced = Regex::new(r" [，。：；？（）、]|[，。：；？（）、] ").unwrap();
    // Function calls in code keep half-width parentheses.
    let call = Regex::new(r"\w+\(\)").unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for path in message_files() {
        let source = std::fs::read_to_string(&path).unwrap();
        for found in text.captures_iter(&source) {
            let wording = &*call.replace_all(&found[1], "x");
            count += usize::from(wording.contains('。'));
            let is_wrong = half.is_match(wording) || spaced.is_match(wording);
            if is_wrong && !ENGLISH_WITH_CHINESE_NAMES.contains(&wording) {
                wrong.push(format!("{}: {wording}", path.display()));
            }
        }
    }
    assert!(count > 100, "{count} messages");
    assert_eq!(wrong, Vec::<String>::new());
}
