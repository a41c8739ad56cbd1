//! OpenTelemetry of the real program, as a collector that knows only the protocol is told of it.

mod collector;
mod hard_times;
mod spans;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::console::Answer;
use crate::support::process::Process;
use crate::support::redis_nodes::RedisNodes;
use collector::{Answers, Collector, Span};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A console as a process of its own, and where its configuration is.
struct Console {
    process: Process,
    _folder: TempDir,
}

impl Console {
    /// On these nodes, a Redlock group `orders`.
    async fn start(
        nodes: &RedisNodes,
        tables: &str,
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lockkeeper.toml");
        let node = |(n, node): (usize, &crate::support::redis_nodes::RedisNode)| {
            let name = ["a", "b", "c"][n];
            let port = node.port();
            format!("{{ name = \"{name}\", url = \"redis://127.0.0.1:{port}\" }}")
        };
        let each: Vec<_> = nodes.0.iter().enumerate().map(node).collect();
        let group = format!(
            "[[group]]\nname = \"orders\"\nkeys = [\"lock:*\"]\nnode = [{}]\n",
            each.join(", ")
        );
        std::fs::write(&file, format!("{tables}\n{group}")).unwrap();
        let usual = ["--config", file.to_str().unwrap()];
        let console = Self {
            process: Process::serve_in(environment, &[&usual, arguments].concat()).await,
            _folder: folder,
        };
        crate::support::eventually_is("it is ready", async || {
            console.process.person.get("/readyz").await.status == 200
        })
        .await;
        console
    }

    /// Does something to a lock, as a part of a trace that is told, or of none.
    async fn act(&self, key: &str, act: &str, body: Value, traceparent: &str) -> Answer {
        let mut headers = vec![
            ("content-type", "application/json"),
            ("x-request-id", "night-shift.7"),
        ];
        if !traceparent.is_empty() {
            headers.push(("traceparent", traceparent));
        }
        let path = format!("/api/v1/groups/orders/locks/{key}/{act}");
        let person = &self.process.person;
        person.send("POST", &path, &headers, body.to_string()).await
    }

    async fn acquire(&self, key: &str, traceparent: &str) -> Answer {
        let body = json!({ "ttl_ms": 60_000 });
        let answer = self.act(key, "acquire", body, traceparent).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer
    }

    /// What the page of numbers says of spans that came to this.
    async fn counted(&self, outcome: &str) -> u64 {
        let page = self.process.person.get("/metrics").await.text;
        let name = format!("lockkeeper_spans_total{{outcome=\"{outcome}\"}} ");
        let n = page.lines().find_map(|line| line.strip_prefix(&name));
        n.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
    }
}

/// What a caller sends along whose trace is told.
fn traceparent() -> String {
    format!("00-{TRACE}-{CALLER}-01")
}

/// Those below a span.
fn below<'a>(spans: &'a [Span], above: &Span) -> Vec<&'a Span> {
    let is_below = |span: &&Span| span.parent == above.id && span.trace == above.trace;
    spans.iter().filter(is_below).collect()
}
