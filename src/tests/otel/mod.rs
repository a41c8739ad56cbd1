//! OpenTelemetry traces of a console process, as an OTLP collector receives them.

mod collector;
mod collector_failures;
mod spans;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::console::ApiResponse;
use crate::support::process::ConsoleProcess;
use crate::support::redis_nodes::RedisNodes;
use collector::{Collector, ResponseMode, Span};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN_ID: &str = "b7ad6b7169203331";

/// A console process that exports traces.
struct TracedConsole {
    process: ConsoleProcess,
    _config_directory: TempDir,
}

impl TracedConsole {
    /// Starts a console with a group `orders` of these nodes and these additional tables, and waits
    /// until it is ready.
    async fn start(
        nodes: &RedisNodes,
        tables: &str,
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lockkeeper.toml");
        let node = |(n, node): (usize, &crate::support::redis_nodes::RedisNode)| {
            let name = ["a", "b", "c"][n];
            let port = node.port();
            format!("{{ name = \"{name}\", url = \"redis://127.0.0.1:{port}\" }}")
        };
        let node_tables: Vec<_> = nodes.0.iter().enumerate().map(node).collect();
        let group = format!(
            "[[group]]\nname = \"orders\"\nkeys = [\"lock:*\"]\nnode = [{}]\n",
            node_tables.join(", ")
        );
        std::fs::write(&file, format!("{tables}\n{group}")).unwrap();
        let config_arguments = ["--config", file.to_str().unwrap()];
        let console = Self {
            process: ConsoleProcess::start_with_env(
                environment,
                &[&config_arguments, arguments].concat(),
            )
            .await,
            _config_directory: directory,
        };
        crate::support::wait_until("the console is ready", async || {
            console.process.api.get("/readyz").await.status == 200
        })
        .await;
        console
    }

    /// Sends an operation on a lock. An empty `traceparent` sends no header.
    async fn send_operation(
        &self,
        key: &str,
        action: &str,
        body: Value,
        traceparent: &str,
    ) -> ApiResponse {
        let mut headers = vec![
            ("content-type", "application/json"),
            ("x-request-id", "night-shift.7"),
        ];
        if !traceparent.is_empty() {
            headers.push(("traceparent", traceparent));
        }
        let path = format!("/api/v1/groups/orders/locks/{key}/{action}");
        let api = &self.process.api;
        api.send("POST", &path, &headers, body.to_string()).await
    }

    async fn acquire(&self, key: &str, traceparent: &str) -> ApiResponse {
        let body = json!({ "ttl_ms": 60_000 });
        let response = self.send_operation(key, "acquire", body, traceparent).await;
        assert_eq!(response.status, 201, "{}", response.text);
        response
    }

    /// The value of `lockkeeper_spans_total` for this result.
    async fn span_count(&self, result: &str) -> u64 {
        let page = self.process.api.get("/metrics").await.text;
        let sample = format!("lockkeeper_spans_total{{result=\"{result}\"}} ");
        let value = page.lines().find_map(|line| line.strip_prefix(&sample));
        value.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
    }
}

/// The `traceparent` header of a sampled trace.
fn traceparent() -> String {
    format!("00-{TRACE_ID}-{CALLER_SPAN_ID}-01")
}

/// The child spans of a span.
fn children<'a>(spans: &'a [Span], parent: &Span) -> Vec<&'a Span> {
    let is_child = |span: &&Span| span.parent_id == parent.id && span.trace_id == parent.trace_id;
    spans.iter().filter(is_child).collect()
}
