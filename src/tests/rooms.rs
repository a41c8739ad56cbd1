//! The doors between the rooms stay where they are drawn (see src/README.md).

use std::path::{Path, PathBuf};

/// Files below a folder may not name these words; the door is exempt.
struct Wall {
    room: &'static str,
    never_names: &'static [&'static str],
    doors: &'static [&'static str],
}

const WALLS: &[Wall] = &[
    Wall {
        room: "domain",
        never_names: &[
            "crate::server",
            "crate::ui",
            "leptos::",
            "axum::",
            "tokio::",
            "SystemTime::now",
            "Instant::now",
        ],
        doors: &[],
    },
    Wall {
        room: "server/nodes",
        never_names: &[
            "server::index",
            "server::operations",
            "server::api",
            "server::telemetry",
            "server::access",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/formats",
        never_names: &[
            "server::index",
            "server::operations",
            "server::api",
            "server::locking",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/locking",
        never_names: &[
            "server::index",
            "server::operations",
            "server::api",
            "server::telemetry",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/doctor",
        never_names: &[
            "server::index",
            "server::operations",
            "server::api",
            "tokio::",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/index",
        never_names: &[
            "server::operations",
            "server::api",
            "server::locking",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/telemetry",
        never_names: &[
            "axum::",
            "server::operations",
            "server::api",
            "server::nodes",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/webhooks",
        never_names: &[
            "axum::",
            "server::operations",
            "server::api",
            "server::nodes",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/operations",
        never_names: &["axum::", "StatusCode", "leptos::", "crate::ui"],
        doors: &[],
    },
    Wall {
        room: "server/api",
        never_names: &[
            "server::index",
            "server::nodes",
            "server::locking",
            "server::formats",
            "crate::ui",
        ],
        doors: &[],
    },
    Wall {
        room: "server/cli",
        never_names: &[
            "server::locking",
            "server::formats",
            "server::api",
            "StatusCode",
        ],
        doors: &[],
    },
    Wall {
        room: "ui/kit",
        never_names: &["crate::domain", "crate::server"],
        doors: &[],
    },
    Wall {
        room: "ui",
        never_names: &["crate::server", "axum::", "tokio::", "cfg(feature"],
        doors: &["ui/calls.rs"],
    },
    Wall {
        room: "server",
        never_names: &["crate::ui"],
        doors: &["server/mod.rs"],
    },
];

fn sources() -> Vec<(String, String)> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    below(&src, &mut found);
    let name = |path: &Path| path.strip_prefix(&src).unwrap().display().to_string();
    found
        .iter()
        .map(|path| (name(path), std::fs::read_to_string(path).unwrap()))
        .collect()
}

fn breaches(sources: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in sources {
        for wall in WALLS {
            let inside = name.starts_with(&format!("{}/", wall.room));
            if !inside || wall.doors.contains(&name.as_str()) {
                continue;
            }
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            for (n, line) in code.enumerate() {
                if let Some(word) = wall.never_names.iter().find(|word| line.contains(**word)) {
                    found.push(format!(
                        "{name}: {} names {word} (about line {})",
                        wall.room,
                        n + 1
                    ));
                }
            }
        }
    }
    found
}

#[test]
fn no_room_names_what_it_must_not_know() {
    assert_eq!(breaches(&sources()), Vec::<String>::new());
}

#[test]
fn a_breach_is_noticed() {
    let breach = (
        "domain/lock.rs".to_owned(),
        "use crate::server::clock::Clock;".to_owned(),
    );
    let door = (
        "ui/calls.rs".to_owned(),
        "use crate::server::state::AppState;".to_owned(),
    );
    assert_eq!(breaches(&[breach, door]).len(), 1);
}

#[test]
fn every_file_says_what_it_owns() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn only_lists_of_modules_choose_by_feature() {
    let choosing: Vec<String> = sources()
        .into_iter()
        .filter(|(name, text)| {
            let chooses = text
                .lines()
                .any(|line| line.trim_start().starts_with("#[cfg(feature"));
            let chooses_modules =
                name == "lib.rs" || name.ends_with("mod.rs") || name == "tests/main.rs";
            chooses && !chooses_modules
        })
        .map(|(name, _)| name)
        .collect();
    assert_eq!(choosing, Vec::<String>::new());
}
