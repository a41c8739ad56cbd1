//! The pages speak the language that was chosen, or else the one that the browser wants.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lockkeeper::ui::words::told;
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
    let text = r#""((?:[^"\\]|\\.)*)""#;
    let entry = Regex::new(&format!(
        r"(?m)^\s+(\w+)\s*(?:\([^)]*\))?:\s*{text},\s*{text};"
    ))
    .unwrap();
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let named = Regex::new(r"\{(\w+)").unwrap();
    let told = |wording: &str| -> BTreeSet<String> {
        let names = named
            .captures_iter(wording)
            .map(|found| found[1].to_owned());
        names.collect()
    };
    let placeholder = Regex::new(r"\{[^}]*\}").unwrap();
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in wordings() {
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

/// The files with what the pages say.
fn wordings() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/words")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for found in std::fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}

/// What looks wrong and is right: the name of a language in a sentence that is English.
const AS_IN_ENGLISH: [&str; 1] = ["Speak Chinese (简体中文)"];

#[test]
fn chinese_is_written_with_its_own_punctuation() {
    let text = Regex::new(r#""((?:[^"\\\n]|\\.)*)""#).unwrap();
    let chinese = r"[\u{4e00}-\u{9fff}]";
    let half = Regex::new(&format!(r"{chinese} ?[,;:!?()]|[,;:!?()] ?{chinese}")).unwrap();
    // Signs that are as wide as a letter have their space in themselves.
    let spaced = Regex::new(r" [，。：；？（）、]|[，。：；？（）、] ").unwrap();
    // Calls of functions, as programs write them.
    let call = Regex::new(r"\w+\(\)").unwrap();
    let (mut seen, mut wrong) = (0, Vec::new());
    for path in wordings() {
        let source = std::fs::read_to_string(&path).unwrap();
        for found in text.captures_iter(&source) {
            let wording = &*call.replace_all(&found[1], "x");
            seen += usize::from(wording.contains('。'));
            let is_wrong = half.is_match(wording) || spaced.is_match(wording);
            if is_wrong && !AS_IN_ENGLISH.contains(&wording) {
                wrong.push(format!("{}: {wording}", path.display()));
            }
        }
    }
    assert!(seen > 100, "{seen} sentences");
    assert_eq!(wrong, Vec::<String>::new());
}

/// Where the server words reasons that pages show.
const WORDED: [&str; 37] = [
    "domain/role.rs",
    "server/access/actor.rs",
    "server/access/mod.rs",
    "server/access/password.rs",
    "server/access/throttle/failures.rs",
    "server/audit/mod.rs",
    "server/audit/instances.rs",
    "server/audit/search.rs",
    "server/doctor/clocks.rs",
    "server/doctor/failover.rs",
    "server/doctor/independence.rs",
    "server/doctor/leases.rs",
    "server/doctor/persistence.rs",
    "server/doctor/reach.rs",
    "server/doctor/sentinels.rs",
    "server/locking/acquire.rs",
    "server/locking/force.rs",
    "server/locking/keeping.rs",
    "server/locking/layouts/permissions.rs",
    "server/locking/owners.rs",
    "server/locking/pace.rs",
    "server/nodes/calls.rs",
    "server/nodes/feed/keeper.rs",
    "server/nodes/feed/session.rs",
    "server/nodes/health.rs",
    "server/nodes/monitor/mod.rs",
    "server/nodes/node.rs",
    "server/nodes/reach.rs",
    "server/nodes/reading.rs",
    "server/nodes/sentinel.rs",
    "server/nodes/supervisor.rs",
    "server/nodes/touch/mod.rs",
    "server/nodes/trouble.rs",
    "server/operations/acquire.rs",
    "server/operations/act.rs",
    "server/operations/force.rs",
    "server/operations/mod.rs",
];

/// What stands in those files and is not told as it is: parts of a reason, lines of the log, what only a command says.
const NOT_TOLD: [&str; 12] = [
    ", so it refuses every write",
    ", with args beginning with",
    "(nobody of that name)",
    "The user executing the script can't ",
    "ACL failure in script: ",
    "another owner has it7",
    "has set its clock",
    "have set their clocks",
    "news of every change at once",
    "the password cannot be hashed: 7",
    "the program was killed before this operation had ended; what the nodes show now is in the audit",
    "this command or subcommand",
];

#[test]
fn every_reason_that_the_server_words_is_known_in_chinese() {
    let (mut seen, mut unknown) = (0, BTreeSet::new());
    for file in WORDED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        let source = std::fs::read_to_string(&path).unwrap();
        for reason in reasons_in(source.split("#[cfg(test)]").next().unwrap()) {
            seen += 1;
            let is_known = match file.starts_with("server/doctor/") {
                true => told::chinese_evidence(&reason).is_some(),
                false => told::chinese(&reason).is_some(),
            };
            if !is_known && !NOT_TOLD.contains(&reason.as_str()) {
                unknown.insert(format!("{file}: {reason}"));
            }
        }
    }
    assert!(seen > 120, "{seen} reasons");
    assert_eq!(unknown, BTreeSet::new());
}

/// The texts of at least three English words in a source, with a 7 for whatever they name. Whole sentences are the doctor's,
/// whose findings are worded by their code.
fn reasons_in(source: &str) -> Vec<String> {
    let without = |source: &str, what: &str| {
        Regex::new(what)
            .unwrap()
            .replace_all(source, "")
            .into_owned()
    };
    let source = without(source, r"(?m)^\s*//.*$");
    let source = without(&source, r"(?s)\b(?:warn|info|debug|error)!\(.*?\);");
    let source = without(&source, r#"(?:expect\(|reason = )\s*"(?:[^"\\]|\\.)*""#);
    let text = Regex::new(r#""((?:[^"\\\n]|\\.|\\\n)*)""#).unwrap();
    let joint = Regex::new(r"\\\n\s*").unwrap();
    let named = Regex::new(r"\{[^}]*:\?\}").unwrap();
    let told = Regex::new(r"\{[^}]*\}").unwrap();
    let word = Regex::new(r"(?:^|[ (`])[a-z][a-z'’]+").unwrap();
    let texts = text.captures_iter(&source).map(|found| {
        let text = joint.replace_all(&found[1], "").replace("\\\"", "\"");
        let text = named.replace_all(&text, "\"7\"");
        told.replace_all(&text, "7").into_owned()
    });
    texts
        // A fix of the doctor's that ends in another sentence ends in what stands for that.
        .filter(|text| {
            let is_sql = [
                "SELECT ",
                "INSERT ",
                "DELETE ",
                " AND ",
                " ORDER BY ",
                "ON CONFLICT ",
            ];
            !is_sql.iter().any(|word| text.contains(word))
                && !text.ends_with('.')
                && !text.ends_with(". 7")
                && word.find_iter(text).count() > 2
        })
        .collect()
}
