//! Names and prose use the words of `docs/glossary.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::architecture::production_sources;

/// Share of type definitions whose name is defined more than once, in percent. Names such as `Error` or `Query` are read
/// together with their module.
const MAX_REPEATED_TYPES_PERCENT: usize = 15;

/// Words that the glossary replaces and that have no other meaning in this project.
const REPLACED_WORDS: &[&str] = &[
    "comer",
    "comers",
    "errand",
    "errands",
    "lately",
    "mischief",
    "nobody",
    "somebody",
    "spoken",
    "straggler",
    "stragglers",
    "unspoken",
    "vouch",
    "vouched",
    "vouches",
    "whoever",
];

/// Phrases that the glossary replaces.
const REPLACED_PHRASES: &[&str] = &[
    "are told",
    "go over",
    "goes over",
    "gone over",
    "is told",
    "stand first",
    "stands first",
    "to be had",
];

/// The type definitions of a file, without its unit tests.
fn type_names(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines()
        .filter_map(|line| {
            let line = line.trim_start();
            let line = match line.strip_prefix("pub") {
                Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
                Some(rest) => rest.strip_prefix(' ')?,
                None => line,
            };
            let kinds = ["struct ", "enum ", "trait "];
            let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            Some(&name[..end.unwrap_or(name.len())])
        })
        .collect()
}

#[test]
fn few_type_names_are_defined_more_than_once() {
    let sources = production_sources();
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, text) in &sources {
        for name in type_names(text) {
            files.entry(name).or_default().push(file);
        }
    }
    let total: usize = files.values().map(Vec::len).sum();
    files.retain(|_, files| files.len() > 1);
    let repeated: usize = files.values().map(Vec::len).sum();
    assert!(total > 500, "{total} types");
    assert!(
        repeated * 100 <= total * MAX_REPEATED_TYPES_PERCENT,
        "{repeated} of {total}: {files:#?}"
    );
}

/// The words of a text in lower case; identifiers are split at `_` and before capital letters.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in line.chars() {
        if !letter.is_alphabetic() || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if letter.is_alphabetic() {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words
}

/// The replaced words and phrases of a line.
fn replaced(line: &str) -> Vec<&'static str> {
    let words = words(line);
    let lower = line.to_lowercase();
    let single = REPLACED_WORDS.iter();
    let single = single.filter(|replaced| words.iter().any(|word| word == *replaced));
    let phrases = REPLACED_PHRASES.iter();
    let phrases = phrases.filter(|phrase| {
        let mut found = lower.match_indices(**phrase);
        found.any(|(at, _)| {
            let (before, after) = (&lower[..at], &lower[at + phrase.len()..]);
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        })
    });
    single.chain(phrases).copied().collect()
}

/// Every file with names or prose: sources, scripts, browser tests and documentation.
fn texts() -> Vec<PathBuf> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                collect(&path, found);
                continue;
            }
            let is_text = [".rs", ".md", ".ts", ".sh", ".mjs", ".css", ".yaml", ".toml"];
            let lists_them = ["glossary.md", "naming.rs"].contains(&name.as_str());
            if is_text.iter().any(|ending| name.ends_with(ending)) && !lists_them {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("README.md"), root.join("Makefile")];
    for directory in ["src", "docs", ".github", "end2end", "scripts", "style"] {
        collect(&root.join(directory), &mut found);
    }
    found
}

#[test]
fn no_name_and_no_sentence_uses_a_word_that_the_glossary_replaces() {
    let mut found = Vec::new();
    for path in texts() {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            for word in replaced(line) {
                found.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_replaced_word_is_detected_in_identifiers_and_prose() {
    for (line, is_replaced) in [
        ("struct CleanupErrand;", true),
        ("fn vouch_for(node: &Node)", true),
        ("/// Whoever holds it.", true),
        ("The console is told of a change.", true),
        ("fn run_cleanup_job()", false),
        ("the list is untold", false),
    ] {
        assert_eq!(!replaced(line).is_empty(), is_replaced, "{line}");
    }
}
