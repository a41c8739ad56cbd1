//! The doctor on real servers that are set up wrong on purpose: each finding is reached, and is gone after its own fix.

mod independence;
mod locks;
mod permissions;
mod sentinels;
mod settings;
mod troubles;

use std::collections::BTreeMap;

use lockkeeper::server::config::GroupConfig;
use serde_json::Value;

use crate::support::console::{Person, TestConsole};
use crate::support::eventually;
use crate::support::redis_nodes::RedisNode;

/// A console whose doctor is asked.
struct Visit {
    person: Person,
    _console: TestConsole,
}

/// What was found, by its code.
type Found = BTreeMap<String, Value>;

impl Visit {
    /// A console on these groups.
    async fn to(groups: Vec<GroupConfig>) -> Self {
        let console = TestConsole::start(groups).await;
        Self::on(console)
    }

    fn on(console: TestConsole) -> Self {
        Self {
            person: console.person(),
            _console: console,
        }
    }

    /// What the doctor says of a group.
    async fn checkup(&self, group: &str) -> Value {
        let path = format!("/api/v1/groups/{group}/findings");
        let answer = self.person.get(&path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// Waits until the group's findings are as wanted.
    async fn finds(&self, group: &str, what: &str, wanted: impl Fn(&Found) -> bool) -> Found {
        eventually(what, async || {
            let found = found(&self.checkup(group).await);
            wanted(&found).then_some(found)
        })
        .await
    }

    /// Waits until all of these are found.
    async fn finds_all(&self, group: &str, codes: &[&str]) -> Found {
        let what = format!("found in {group}: {codes:?}");
        let all = |found: &Found| codes.iter().all(|code| found.contains_key(*code));
        self.finds(group, &what, all).await
    }

    /// Waits until none of these is found.
    async fn finds_none(&self, group: &str, codes: &[&str]) -> Found {
        let what = format!("not found in {group}: {codes:?}");
        let none = |found: &Found| codes.iter().all(|code| !found.contains_key(*code));
        self.finds(group, &what, none).await
    }
}

fn found(checkup: &Value) -> Found {
    let findings = checkup["findings"].as_array().unwrap();
    let by_code = |finding: &Value| {
        let words = ["what", "why", "fix"];
        for word in words {
            assert!(!finding[word].as_str().unwrap().is_empty(), "{finding}");
        }
        (
            finding["code"].as_str().unwrap().to_owned(),
            finding.clone(),
        )
    };
    findings.iter().map(by_code).collect()
}

/// The nodes that a finding is about.
fn nodes_of(finding: &Value) -> Vec<&str> {
    let nodes = finding["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node.as_str().unwrap()).collect()
}

/// Types a line as an operator would into `redis-cli`.
async fn type_in(node: &RedisNode, line: &str) -> redis::RedisResult<redis::Value> {
    let mut words = Vec::new();
    for (n, part) in line.split('"').enumerate() {
        if n % 2 == 1 {
            words.push(part);
        } else {
            words.extend(part.split_whitespace());
        }
    }
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command.query_async(&mut node.client().await).await
}

/// Types several lines that all have to work.
async fn type_all(node: &RedisNode, lines: &[&str]) {
    for line in lines {
        type_in(node, line)
            .await
            .unwrap_or_else(|why| panic!("{line}: {why}"));
    }
}

#[test]
fn every_finding_is_in_the_list_for_people() {
    let list = include_str!("../../../.github/doctor.md");
    let listed: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/doctor");
    let mut told = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let codes = text.split("code: \"").skip(1);
        told.extend(codes.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    }
    told.sort();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(told, sorted);
}
