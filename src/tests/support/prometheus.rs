//! The real Prometheus and its `promtool`, as `make setup` installs them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use super::console::Person;
use super::eventually_is;
use super::redis_nodes::free_port;

fn program(name: &str) -> PathBuf {
    let program = super::installed("prometheus").join("usr/bin").join(name);
    assert!(
        program.exists(),
        "{name} is not installed; `make setup` installs it"
    );
    program
}

/// Has `promtool` look at a page of metrics; it must have nothing to say.
pub async fn lint(page: &str) {
    let mut tool = Command::new(program("promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = tool.stdin.take().unwrap();
    stdin.write_all(page.as_bytes()).await.unwrap();
    drop(stdin);
    let said = tool.wait_with_output().await.unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr),
    );
    assert!(
        said.status.success() && out.is_empty() && err.is_empty(),
        "{out}{err}\n{page}"
    );
}

/// Runs `promtool` with these arguments; what it says, which must be good.
pub async fn promtool(arguments: &[&str]) -> String {
    let said = Command::new(program("promtool"))
        .args(arguments)
        .output()
        .await
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
    assert!(said.status.success(), "{text}");
    text
}

/// A Prometheus that scrapes one console all the time. It ends with the test.
pub struct Prometheus {
    person: Person,
    _folder: TempDir,
    _child: Child,
}

impl Prometheus {
    /// Starts it on these rules and waits until it has scraped the console.
    pub async fn watching(console: SocketAddr, rules: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = folder.path().join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}}\n\
             rule_files: [{:?}]\n\
             scrape_configs: [{{job_name: lockkeeper, static_configs: [{{targets: [\"{console}\"]}}]}}]\n",
            rules.display().to_string()
        );
        std::fs::write(&config, text).unwrap();
        let child = Command::new(program("prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg("--log.level=error")
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let prometheus = Self {
            person: Person::of(([127, 0, 0, 1], port).into()),
            _folder: folder,
            _child: child,
        };
        eventually_is("Prometheus listens", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
        })
        .await;
        eventually_is("Prometheus has scraped the console", async || {
            let up = prometheus.query("up{job=\"lockkeeper\"}").await;
            up.first().is_some_and(|sample| sample["value"][1] == "1")
        })
        .await;
        prometheus
    }

    /// The samples that an expression has right now.
    pub async fn query(&self, expression: &str) -> Vec<Value> {
        let path = format!("/api/v1/query?query={}", encoded(expression));
        let answer = self.person.get(&path).await;
        // Not ready yet.
        if answer.status == 503 {
            return Vec::new();
        }
        let answer = answer.json();
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        answer["data"]["result"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// The alerting rules as it has read and evaluated them.
    pub async fn rules(&self) -> Vec<Value> {
        let answer = self.person.get("/api/v1/rules").await.json();
        let groups = answer["data"]["groups"].as_array().cloned().unwrap();
        let rules = groups
            .iter()
            .flat_map(|group| group["rules"].as_array().unwrap());
        rules.cloned().collect()
    }
}

fn encoded(text: &str) -> String {
    lockkeeper::domain::LockKey::from(text).encoded()
}
