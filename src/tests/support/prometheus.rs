//! Prometheus and `promtool`, as `make setup` installs them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use super::console::ApiClient;
use super::redis_nodes::free_port;
use super::wait_until;

fn program(name: &str) -> PathBuf {
    let program = super::tool_dir("prometheus").join("usr/bin").join(name);
    assert!(
        program.exists(),
        "{name} is not installed; `make setup` installs it"
    );
    program
}

/// Asserts that `promtool check metrics` has no complaint about these metrics.
pub async fn lint_metrics(page: &str) {
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
    let output = tool.wait_with_output().await.unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.is_empty() && err.is_empty(),
        "{out}{err}\n{page}"
    );
}

/// Runs `promtool`, which must succeed, and returns its output.
pub async fn promtool(arguments: &[&str]) -> String {
    let output = Command::new(program("promtool"))
        .args(arguments)
        .output()
        .await
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{text}");
    text
}

/// A Prometheus server that scrapes one console. It is killed when this is dropped.
pub struct Prometheus {
    api: ApiClient,
    _data_dir: TempDir,
    _child: Child,
}

impl Prometheus {
    /// Starts Prometheus with these rules and waits until it has scraped the console.
    pub async fn start(console: SocketAddr, rules: &Path) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = data_dir.path().join("prometheus.yml");
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
                data_dir.path().join("data").display()
            ))
            .arg("--log.level=error")
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let prometheus = Self {
            api: ApiClient::new(([127, 0, 0, 1], port).into()),
            _data_dir: data_dir,
            _child: child,
        };
        wait_until("Prometheus listens", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .is_ok()
        })
        .await;
        wait_until("Prometheus has scraped the console", async || {
            let up = prometheus.query("up{job=\"lockkeeper\"}").await;
            up.first().is_some_and(|sample| sample["value"][1] == "1")
        })
        .await;
        prometheus
    }

    /// The current samples of an expression. Empty while Prometheus is not ready.
    pub async fn query(&self, expression: &str) -> Vec<Value> {
        let path = format!("/api/v1/query?query={}", percent_encode(expression));
        let response = self.api.get(&path).await;
        // Prometheus responds 503 until it is ready.
        if response.status == 503 {
            return Vec::new();
        }
        let body = response.json();
        assert_eq!(body["status"], "success", "{expression}: {body}");
        body["data"]["result"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    /// The rules as Prometheus has loaded and evaluated them.
    pub async fn rules(&self) -> Vec<Value> {
        let body = self.api.get("/api/v1/rules").await.json();
        let groups = body["data"]["groups"].as_array().cloned().unwrap();
        let rules = groups
            .iter()
            .flat_map(|group| group["rules"].as_array().unwrap());
        rules.cloned().collect()
    }
}

fn percent_encode(text: &str) -> String {
    lockkeeper::domain::LockKey::from(text).encoded()
}
