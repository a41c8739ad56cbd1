//! The doctor on misconfigured servers: each finding is reported, and cleared by its own fix.

mod independence;
mod locks;
mod node_failures;
mod permissions;
mod sentinels;
mod settings;

use std::collections::BTreeMap;

use lockkeeper::domain::finding::FindingKind;
use lockkeeper::server::config::GroupConfig;
use serde_json::Value;
use strum::VariantNames as _;

use crate::support::console::{ApiClient, TestConsole};
use crate::support::redis_nodes::RedisNode;
use crate::support::wait_for;

/// A console whose findings are read.
struct DoctorConsole {
    api: ApiClient,
    _console: TestConsole,
}

/// Findings by code.
type Findings = BTreeMap<String, Value>;

impl DoctorConsole {
    async fn start(groups: Vec<GroupConfig>) -> Self {
        Self::new(TestConsole::start(groups).await)
    }

    fn new(console: TestConsole) -> Self {
        Self {
            api: console.api(),
            _console: console,
        }
    }

    /// Returns the doctor's report of a group.
    async fn report(&self, group: &str) -> Value {
        let path = format!("/api/v1/groups/{group}/findings");
        let response = self.api.get(&path).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.json()
    }

    /// Waits until the findings of the group meet the condition.
    async fn wait_for_findings(
        &self,
        group: &str,
        description: &str,
        condition: impl Fn(&Findings) -> bool,
    ) -> Findings {
        wait_for(description, async || {
            let findings = findings_by_code(&self.report(group).await);
            condition(&findings).then_some(findings)
        })
        .await
    }

    /// Waits until the group has all of these findings.
    async fn wait_until_found(&self, group: &str, codes: &[&str]) -> Findings {
        let description = format!("found in {group}: {codes:?}");
        let has_all = |findings: &Findings| codes.iter().all(|code| findings.contains_key(*code));
        self.wait_for_findings(group, &description, has_all).await
    }

    /// Waits until the group has none of these findings.
    async fn wait_until_not_found(&self, group: &str, codes: &[&str]) -> Findings {
        let description = format!("not found in {group}: {codes:?}");
        let has_none = |findings: &Findings| codes.iter().all(|code| !findings.contains_key(*code));
        self.wait_for_findings(group, &description, has_none).await
    }
}

fn findings_by_code(report: &Value) -> Findings {
    let findings = report["findings"].as_array().unwrap();
    let by_code = |finding: &Value| {
        for field in ["summary", "impact", "fix"] {
            assert!(!finding[field].as_str().unwrap().is_empty(), "{finding}");
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

/// Runs a line in the syntax of `redis-cli`, with double-quoted arguments.
async fn run_line(node: &RedisNode, line: &str) -> redis::RedisResult<redis::Value> {
    let mut arguments = Vec::new();
    for (n, part) in line.split('"').enumerate() {
        if n % 2 == 1 {
            arguments.push(part);
        } else {
            arguments.extend(part.split_whitespace());
        }
    }
    let mut command = redis::cmd(arguments[0]);
    for argument in &arguments[1..] {
        command.arg(*argument);
    }
    command.query_async(&mut node.client().await).await
}

/// Runs lines that must all succeed.
async fn run_lines(node: &RedisNode, lines: &[&str]) {
    for line in lines {
        run_line(node, line)
            .await
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn every_finding_is_listed_in_the_documentation() {
    let page = include_str!("../../../docs/doctor.md");
    let mut documented: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let mut codes = FindingKind::VARIANTS.to_vec();
    codes.sort_unstable();
    documented.sort_unstable();
    assert_eq!(codes, documented);
}
