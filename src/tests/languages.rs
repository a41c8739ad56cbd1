//! The pages speak the language that was chosen, or else the one that the browser wants.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use crate::support::console::TestConsole;
use crate::support::redis_nodes::RedisNodes;

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

#[tokio::test]
async fn a_page_is_in_the_language_that_was_chosen_else_in_that_of_the_browser() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
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
            let page = person.send("GET", path, headers, String::new()).await;
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
async fn a_choice_is_remembered_and_leads_back_to_a_page_of_this_console_only() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let person = console.person();
    for (form, to) in [
        ("language=zh-CN&next=%2Fnodes%3Fa%3Db", "/nodes?a=b"),
        ("language=zh-CN&next=%2Fsign-in", "/sign-in"),
        ("language=zh-CN&next=%2F%2Fevil.example", "/"),
        ("language=zh-CN&next=https%3A%2F%2Fevil.example", "/"),
        ("language=zh-CN", "/"),
    ] {
        let answer = person.send("POST", "/language", &FORM, form).await;
        assert_eq!(answer.status, 303, "{form}: {}", answer.text);
        assert_eq!(answer.headers["location"], to, "{form}");
        assert_eq!(
            answer.headers["set-cookie"],
            "lockkeeper-language=zh-CN; Path=/; Max-Age=31536000; SameSite=Lax",
            "{form}"
        );
    }
    let unknown = person.send("POST", "/language", &FORM, "language=tlh&next=/nodes");
    let unknown = unknown.await;
    assert_eq!(unknown.headers["location"], "/nodes");
    assert!(!unknown.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn another_site_cannot_choose_for_somebody() {
    let nodes = RedisNodes::start(1).await;
    let console = TestConsole::start(vec![nodes.config()]).await;
    let mut headers = FORM.to_vec();
    headers.push(("sec-fetch-site", "cross-site"));
    let form = "language=zh-CN&next=/";
    let person = console.person();
    let answer = person.send("POST", "/language", &headers, form);
    let answer = answer.await;
    assert_eq!(answer.status, 403);
    assert!(!answer.headers.contains_key("set-cookie"));
}

/// What needs no Chinese wording.
const SAME_IN_BOTH: [&str; 3] = ["API", "Lockkeeper", "MONITOR"];

#[test]
fn every_sentence_has_a_wording_of_its_own_in_both_languages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/words");
    let text = r#""((?:[^"\\]|\\.)*)""#;
    let entry = Regex::new(&format!(
        r"(?m)^\s+(\w+)\s*(?:\([^)]*\))?:\s*{text},\s*{text};"
    ))
    .unwrap();
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let told = |wording: &str| -> BTreeSet<String> {
        let named = Regex::new(r"\{(\w+)").unwrap();
        let names = named
            .captures_iter(wording)
            .map(|found| found[1].to_owned());
        names.collect()
    };
    let placeholder = Regex::new(r"\{[^}]*\}").unwrap();
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        for found in entry.captures_iter(&source) {
            seen += 1;
            let (name, english, chinese) = (&found[1], &found[2], &found[3]);
            let place = format!("{} {name}", path.file_name().unwrap().display());
            if english.trim().is_empty() || chinese.trim().is_empty() {
                wrong.push(format!("{place}: says nothing"));
            }
            // Only placeholders and signs may be the same.
            let letters = placeholder.replace_all(english, "");
            let speaks = letters.chars().filter(|c| c.is_alphabetic()).count() > 1;
            if speaks && !chinese.chars().any(is_chinese) && !SAME_IN_BOTH.contains(&chinese) {
                wrong.push(format!("{place}: {chinese:?} is not Chinese"));
            }
            if told(english) != told(chinese) {
                wrong.push(format!(
                    "{place}: one wording leaves out what the other tells"
                ));
            }
        }
    }
    assert!(seen > 100, "{seen} sentences");
    assert_eq!(wrong, Vec::<String>::new());
}
