//! The locks of `force_recipes`: what a library wrote, what comes in between, and what is left, as `force_cases.txt` lists them.

use lockkeeper::domain::Format;

/// One lock of one library. Lines are commands; `@9000` is a moment in so many milliseconds, `0x91` are bytes.
pub struct Case {
    pub name: &'static str,
    pub format: Format,
    /// The configuration has to say so.
    pub is_pinned: bool,
    pub key: &'static str,
    /// The bytes of the owner that is to go.
    pub owner: &'static str,
    pub before: String,
    /// What happens between our look and our act: after it, nothing of this is ours to release.
    pub meanwhile: String,
    /// Questions, and what they are answered after the release; `1..9` is any such number.
    pub after: Vec<(&'static str, &'static str)>,
    /// Channel and payload of everything that is said.
    pub hears: Vec<(&'static str, &'static str)>,
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let told = include_str!("force_cases.txt");
    let cases: Vec<Case> = told.split("== ").skip(1).map(case).collect();
    assert_eq!(cases.len(), 28);
    cases
}

fn case(told: &'static str) -> Case {
    let mut lines = told.lines();
    let name = lines.next().unwrap();
    let lock: Vec<&str> = lines.next().unwrap().split(' ').collect();
    let rest: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
    let all = |word: &str| {
        let named = rest.iter().filter(move |(first, _)| *first == word);
        named.map(|(_, line)| *line).collect::<Vec<_>>()
    };
    let pairs = |word: &str| {
        let lines = all(word).into_iter();
        lines.map(|line| line.split_once(" = ").unwrap()).collect()
    };
    Case {
        name,
        format: lock[1].parse().unwrap(),
        is_pinned: lock[0] == "pinned",
        key: lock[2],
        owner: lock[3],
        before: all("before").join("\n"),
        meanwhile: all("meanwhile").join("\n"),
        after: pairs("after"),
        hears: pairs("hears"),
    }
}
