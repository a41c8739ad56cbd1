//! The cases of `force_release_formats`, parsed from `force_release_cases.txt`: what a library
//! wrote, what changes concurrently, and what remains.

use lockkeeper::domain::Format;

/// A lock of one library. Lines are Redis commands; `@9000` is a timestamp 9000 ms from now, `0x91`
/// are raw bytes.
pub struct Case {
    pub name: &'static str,
    pub format: Format,
    /// Whether the configuration must name the format.
    pub is_pinned: bool,
    pub key: &'static str,
    /// The bytes of the owner to release.
    pub owner: &'static str,
    pub before: String,
    /// The commands that run between the inspection and the release. After them nothing may be
    /// released.
    pub meanwhile: String,
    /// Commands and their expected replies after the release; `1..9` is a range of numbers.
    pub after: Vec<(&'static str, &'static str)>,
    /// Channel and payload of the expected messages.
    pub messages: Vec<(&'static str, &'static str)>,
}

pub fn cases() -> Vec<Case> {
    let source = include_str!("force_release_cases.txt");
    let cases: Vec<Case> = source.split("== ").skip(1).map(parse_case).collect();
    assert_eq!(cases.len(), 28);
    cases
}

fn parse_case(source: &'static str) -> Case {
    let mut lines = source.lines();
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
        messages: pairs("message"),
    }
}
