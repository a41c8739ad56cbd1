//! The layers depend on each other only as `src/README.md` describes.

use std::path::{Path, PathBuf};

/// What the code of one layer must not name.
struct Boundary {
    layer: &'static str,
    forbidden: &'static [&'static str],
    /// Files of the layer that are allowed to.
    exceptions: &'static [&'static str],
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        layer: "domain",
        forbidden: &[
            "crate::server",
            "crate::ui",
            "leptos::",
            "axum::",
            "tokio::",
            "SystemTime::now",
            "Instant::now",
        ],
        exceptions: &[],
    },
    Boundary {
        layer: "server/stores",
        forbidden: &[
            "server::index",
            "server::operations",
            "server::api",
            "server::telemetry",
            "server::access",
            "crate::ui",
        ],
        exceptions: &[],
    },
    Boundary {
        layer: "server/stores/redis/formats",
        forbidden: &["redis::locking"],
        exceptions: &[],
    },
    Boundary {
        layer: "server/doctor",
        forbidden: &[
            "server::index",
            "server::operations",
            "server::api",
            "tokio::",
            "crate::ui",
        ],
        exceptions: &[],
    },
    Boundary {
        layer: "server/index",
        forbidden: &[
            "server::operations",
            "server::api",
            // Operations on locks.
            "HoldRequest",
            "ForceTarget",
            "crate::ui",
        ],
        exceptions: &[],
    },
    Boundary {
        layer: "server/audit",
        forbidden: &["axum::", "server::stores", "server::api", "crate::ui"],
        exceptions: &[],
    },
    Boundary {
        layer: "server/telemetry",
        forbidden: &[
            "axum::",
            "server::operations",
            "server::api",
            "server::stores",
            "crate::ui",
        ],
        exceptions: &[],
    },
    Boundary {
        layer: "server/webhooks",
        forbidden: &[
            "axum::",
            "server::operations",
            "server::api",
            "server::stores",
            "crate::ui",
        ],
        exceptions: &[],
    },
    Boundary {
        layer: "server/operations",
        forbidden: &["axum::", "StatusCode", "leptos::", "crate::ui"],
        exceptions: &[],
    },
    Boundary {
        layer: "server/api",
        forbidden: &["server::index", "server::stores", "crate::ui"],
        exceptions: &[],
    },
    Boundary {
        layer: "server/cli",
        forbidden: &["server::api", "StatusCode", "HoldRequest", "ForceTarget"],
        exceptions: &[],
    },
    Boundary {
        layer: "ui/kit",
        forbidden: &["crate::domain", "crate::server"],
        exceptions: &[],
    },
    Boundary {
        layer: "ui",
        forbidden: &["crate::server", "axum::", "tokio::", "cfg(feature"],
        exceptions: &["ui/calls.rs"],
    },
    Boundary {
        layer: "server",
        forbidden: &["crate::ui"],
        exceptions: &["server/mod.rs"],
    },
];

/// Code outside of `server/stores` that names Redis, each with the reason.
const REDIS_EXCEPTIONS: &[(&str, &str)] = &[
    (
        "server/cli/standalone.rs",
        "loads the file with the restart history, which only Redis nodes have",
    ),
    (
        "server/config/",
        "checks addresses and certificates with the client library that will use them",
    ),
    (
        "server/demo/",
        "runs Redis servers, and clients that imitate lock libraries",
    ),
    (
        "server/doctor/",
        "its rules are about what Redis reports of its set-up",
    ),
    (
        "server/index/contention/",
        "infers contention from idle times and subscribers, which only Redis reports",
    ),
    (
        "server/reload.rs",
        "carries the restart history of Redis nodes over to the group that replaces another one",
    ),
    (
        "server/serve.rs",
        "keeps the file with the restart history up to date",
    ),
];

/// Every Rust file below `src`, with its path relative to that directory.
pub fn sources() -> Vec<(String, String)> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    collect(&src, &mut found);
    let name = |path: &Path| path.strip_prefix(&src).unwrap().display().to_string();
    found
        .iter()
        .map(|path| (name(path), std::fs::read_to_string(path).unwrap()))
        .collect()
}

fn violations(sources: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in sources {
        for boundary in BOUNDARIES {
            let inside = name.starts_with(&format!("{}/", boundary.layer));
            if !inside || boundary.exceptions.contains(&name.as_str()) {
                continue;
            }
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            for (n, line) in code.enumerate() {
                if let Some(word) = boundary.forbidden.iter().find(|word| line.contains(**word)) {
                    found.push(format!(
                        "{name}: {} must not name {word} (about line {})",
                        boundary.layer,
                        n + 1
                    ));
                }
            }
        }
    }
    found
}

#[test]
fn no_layer_names_what_it_must_not_depend_on() {
    assert_eq!(violations(&sources()), Vec::<String>::new());
}

/// Whether a line names the module for Redis or the client library.
fn names_redis(line: &str) -> bool {
    line.match_indices("redis::").any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// The files of the program outside of `server/stores` that name Redis.
fn files_that_name_redis(sources: &[(String, String)]) -> Vec<&str> {
    let names_it = |text: &str| {
        let mut code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        code.any(names_redis)
    };
    let files = sources.iter().filter(|(name, text)| {
        let is_in_store = name.starts_with("server/stores/");
        !is_in_store && names_it(text)
    });
    files.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn only_stores_and_the_listed_exceptions_name_redis() {
    let sources = production_sources();
    let files = files_that_name_redis(&sources);
    let is_exception = |file: &str| {
        let mut exceptions = REDIS_EXCEPTIONS.iter();
        exceptions.any(|(path, _)| file.starts_with(path))
    };
    let others = files.iter().filter(|file| !is_exception(file));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&&str>::new());
    let is_unused = |path: &str| !files.iter().any(|file| file.starts_with(path));
    let unused = REDIS_EXCEPTIONS.iter().map(|(path, _)| *path);
    let unused: Vec<&str> = unused.filter(|path| is_unused(path)).collect();
    assert_eq!(unused, Vec::<&str>::new(), "exceptions without use");
}

#[test]
fn a_file_that_names_redis_is_detected() {
    for (line, is_detected) in [
        ("use crate::server::stores::redis::nodes::Group;", true),
        ("let client = redis::Client::open(url)?;", true),
        ("use crate::server::stores::Group;", false),
        ("// redis::Client", false),
        ("use crate::support::fakeredis::Server;", false),
    ] {
        let source = [("server/index/mod.rs".to_owned(), line.to_owned())];
        assert_eq!(
            !files_that_name_redis(&source).is_empty(),
            is_detected,
            "{line}"
        );
    }
}

#[test]
fn a_violation_is_detected() {
    let violation = (
        "domain/lock.rs".to_owned(),
        "use crate::server::clock::Clock;".to_owned(),
    );
    let exception = (
        "ui/calls.rs".to_owned(),
        "use crate::server::state::AppState;".to_owned(),
    );
    assert_eq!(violations(&[violation, exception]).len(), 1);
}

#[test]
fn every_file_starts_with_a_module_comment() {
    let without: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(without, Vec::<String>::new());
}

#[test]
fn only_module_lists_depend_on_features() {
    let dependent: Vec<String> = sources()
        .into_iter()
        .filter(|(name, text)| {
            let has_cfg = text
                .lines()
                .any(|line| line.trim_start().starts_with("#[cfg(feature"));
            let is_module_list =
                name == "lib.rs" || name.ends_with("mod.rs") || name == "tests/main.rs";
            has_cfg && !is_module_list
        })
        .map(|(name, _)| name)
        .collect();
    assert_eq!(dependent, Vec::<String>::new());
}

/// The files of the program, without tests and benchmarks.
pub fn production_sources() -> Vec<(String, String)> {
    let is_production = |file: &str| {
        let is_test = file.ends_with("tests.rs") || file.contains("/tests/");
        !is_test && !file.starts_with("tests/") && !file.starts_with("bench/")
    };
    let all = sources().into_iter();
    all.filter(|(file, _)| is_production(file)).collect()
}

/// Predicates that take `&mut self` or are async, as `file: name`.
fn predicates_with_effects(sources: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in sources {
        for (start, _) in text.match_indices("fn ") {
            let (before, signature) = (&text[..start], &text[start + 3..]);
            let name: String = signature
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            let is_predicate = ["is_", "has_", "was_", "can_"]
                .iter()
                .any(|prefix| name.starts_with(prefix));
            let parameters = signature.split(')').next().unwrap_or_default();
            let has_effects = before.ends_with("async ") || parameters.contains("&mut self");
            if is_predicate && has_effects {
                found.push(format!("{file}: {name}"));
            }
        }
    }
    found
}

#[test]
fn a_predicate_does_not_modify_its_receiver_and_is_not_async() {
    // This file has examples of such predicates.
    let is_checked = |file: &str| !file.ends_with("tests/architecture.rs");
    let mut checked = sources();
    checked.retain(|(file, _)| is_checked(file));
    assert!(checked.len() > 600, "{} files", checked.len());
    assert_eq!(predicates_with_effects(&checked), Vec::<String>::new());
}

#[test]
fn a_predicate_with_effects_is_detected() {
    let source = |text: &str| [("a.rs".to_owned(), text.to_owned())];
    for (text, is_detected) in [
        ("fn is_at(&mut self, host: &str) {}", true),
        ("pub async fn is_known(&self) {}", true),
        ("fn is_long(\n    &mut self,\n) -> bool {}", true),
        ("fn is_up(&self) -> bool { true }", false),
        ("async fn flush(&self) {}", false),
    ] {
        let found = predicates_with_effects(&source(text));
        assert_eq!(!found.is_empty(), is_detected, "{text}");
    }
}
