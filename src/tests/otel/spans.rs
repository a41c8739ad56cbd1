//! Exported spans: requests, operations, node calls and background tasks, without secrets.

use super::collector::resource_attributes;
use super::*;
use crate::support::wait_until;

const ROUTE: &str = "/api/v1/groups/{group}/locks/{key}";

async fn start_collector() -> Collector {
    Collector::start(ResponseMode::Respond {
        status: 200,
        rejected_spans: 0,
    })
    .await
}

#[tokio::test]
async fn an_acquire_is_a_tree_of_spans_in_the_callers_trace() {
    let nodes = RedisNodes::start(3).await;
    let collector = start_collector().await;
    let console = TracedConsole::start(&nodes, &collector.table(), &[], &[]).await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(console.process.api.get(path).await.status, 200);
    }
    console.acquire("lock:a", &traceparent()).await;

    let server = collector
        .wait_for_span("the request's span is exported", |span| {
            span.parent_id == CALLER_SPAN_ID
        })
        .await;
    assert_eq!(server.name, format!("POST {ROUTE}/acquire"));
    assert_eq!((server.trace_id.as_str(), server.kind), (TRACE_ID, 2));
    assert_eq!(server.attribute("http.request.method"), "POST");
    assert_eq!(server.attribute("http.route"), format!("{ROUTE}/acquire"));
    assert_eq!(server.attribute("http.response.status_code"), "201");
    assert_eq!(server.attribute("lockkeeper.request_id"), "night-shift.7");
    assert!(!server.is_error);

    let spans = collector.spans();
    let operations = children(&spans, &server);
    let [operation] = operations[..] else {
        panic!("{operations:?}")
    };
    assert_eq!((operation.name.as_str(), operation.kind), ("acquire", 1));
    assert_eq!(operation.attribute("lockkeeper.group"), "orders");
    assert_eq!(operation.attribute("lockkeeper.format"), "plain");
    assert_eq!(operation.attribute("lockkeeper.outcome"), "done");
    assert!(operation.duration_ns > 0 && operation.duration_ns <= server.duration_ns);

    let node_spans = children(&spans, operation);
    let mut names: Vec<_> = node_spans
        .iter()
        .filter(|span| span.name == "acquire")
        .map(|span| span.attribute("lockkeeper.node"))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"]);
    for node in node_spans {
        assert_eq!((node.kind, node.attribute("db.system.name")), (3, "redis"));
        assert!(node.duration_ns > 0);
        // Two of three nodes are the quorum, so the call of the third may still be pending.
        let outcome = node.attribute("lockkeeper.outcome");
        assert!(matches!(outcome, "done" | "pending"), "{node:?}");
    }
    let probes = ["healthz", "readyz", "metrics"];
    let is_probe = |span: &Span| probes.iter().any(|probe| span.name.contains(probe));
    assert!(!spans.iter().any(is_probe), "{spans:#?}");
}

#[tokio::test]
async fn every_operation_span_has_its_outcome_and_failures_have_error_status() {
    let mut nodes = RedisNodes::start(3).await;
    let collector = start_collector().await;
    let console = TracedConsole::start(&nodes, &collector.table(), &[], &[]).await;
    let token = console.acquire("lock:a", "").await.json()["token"].clone();
    let held = json!({ "ttl_ms": 60_000 });
    console.send_operation("lock:a", "acquire", held, "").await;
    let extend = json!({ "ttl_ms": 60_000, "token": token });
    console.send_operation("lock:a", "extend", extend, "").await;
    let release = json!({ "token": token });
    console
        .send_operation("lock:a", "release", release.clone(), "")
        .await;
    console
        .send_operation("lock:a", "release", release, "")
        .await;
    let force = json!({ "fingerprint": "0123456789abcdef", "reason": "gone" });
    console
        .send_operation("lock:a", "force-release", force, "")
        .await;
    nodes.0[0].kill().await;
    nodes.0[1].kill().await;
    let body = json!({ "ttl_ms": 60_000 });
    console.send_operation("lock:b", "acquire", body, "").await;
    // The console exports the last spans before it stops.
    console.process.stop().await;

    let spans = collector.spans();
    let operation_span = |name: &str, outcome: &str| {
        let mut matching = spans.iter().filter(|span| {
            span.kind == 1 && span.name == name && span.attribute("lockkeeper.outcome") == outcome
        });
        matching
            .next()
            .unwrap_or_else(|| panic!("{name} {outcome}: {spans:#?}"))
    };
    for (name, outcome) in [
        ("acquire", "held"),
        ("extend", "done"),
        ("release", "done"),
        ("release", "not-held"),
        ("force-release", "not-held"),
    ] {
        assert!(!operation_span(name, outcome).is_error);
    }
    let failed = operation_span("acquire", "no-quorum");
    assert!(failed.is_error);
    let server = spans
        .iter()
        .find(|span| span.id == failed.parent_id)
        .unwrap();
    assert!(server.is_error && server.attribute("http.response.status_code") == "503");
    let failed_nodes: Vec<_> = children(&spans, failed)
        .into_iter()
        .filter(|span| span.is_error)
        .map(|span| {
            (
                span.attribute("lockkeeper.node"),
                span.attribute("lockkeeper.outcome"),
            )
        })
        .collect();
    for node in ["a", "b"] {
        let is_reported = |(name, outcome): &(&str, &str)| {
            *name == node && matches!(*outcome, "skipped" | "timeout")
        };
        assert!(failed_nodes.iter().any(is_reported), "{failed_nodes:?}");
    }
    let inspections = children(&spans, operation_span("force-release", "not-held"));
    assert!(inspections.iter().all(|span| span.name == "inspect"));
    assert_eq!(inspections.len(), 3);
}

#[tokio::test]
async fn a_long_wait_exports_some_attempts_and_counts_all_of_them() {
    let nodes = RedisNodes::start(1).await;
    let collector = start_collector().await;
    let console = TracedConsole::start(&nodes, &collector.table(), &[], &[]).await;
    nodes.set(0, b"lock:a", b"another owner", None).await;
    let body = json!({ "ttl_ms": 60_000, "wait_ms": 300_000 });
    let caller = traceparent();
    let waiting = console.send_operation("lock:a", "acquire", body, &caller);
    let is_attempt = |span: &&Span| span.kind == 3 && span.name == "acquire";
    let released = async {
        // The first eight attempts and the sixteenth are exported.
        wait_until("the sixteenth attempt is exported", async || {
            let spans = collector.spans();
            spans.iter().filter(is_attempt).count() >= 9
        })
        .await;
        nodes.delete(0, b"lock:a").await;
    };
    let (response, ()) = tokio::join!(waiting, released);
    assert_eq!(response.status, 201, "{}", response.text);
    let operation = collector
        .wait_for_span("the operation's span is exported", |span| {
            span.kind == 1 && span.name == "acquire"
        })
        .await;
    let attempts: u32 = operation.attribute("lockkeeper.tries").parse().unwrap();
    assert!(attempts > 16, "{attempts}");
    let spans = collector.spans();
    let exported = children(&spans, &operation)
        .into_iter()
        .filter(|span| is_attempt(span));
    // After the first eight, only attempts whose number is a power of two are exported.
    assert_eq!(exported.count(), 8 + attempts.ilog2() as usize - 3);
}

#[tokio::test]
async fn background_tasks_are_exported_as_separate_traces() {
    let nodes = RedisNodes::start(1).await;
    let collector = start_collector().await;
    let console = TracedConsole::start(&nodes, &collector.table(), &[], &[]).await;
    let body = json!({ "ttl_ms": 1500, "auto_renew": true });
    let acquired = console
        .send_operation("lock:renewed", "acquire", body, "")
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);

    let renewal = collector
        .wait_for_span("a renewal is exported", |span| span.name == "renew")
        .await;
    assert_eq!((renewal.parent_id.as_str(), renewal.kind), ("", 1));
    assert_eq!(renewal.attribute("lockkeeper.group"), "orders");
    assert_eq!(renewal.attribute("lockkeeper.format"), "plain");
    assert_eq!(renewal.attribute("lockkeeper.outcome"), "done");
    let spans = collector.spans();
    let node_spans = children(&spans, &renewal);
    let [node] = node_spans[..] else {
        panic!("{node_spans:?}")
    };
    assert_eq!(node.name, "extend");

    let scan = collector
        .wait_for_span("a scan is exported", |span| span.name == "scan")
        .await;
    assert_eq!(scan.parent_id, "");
    assert_eq!(scan.attribute("lockkeeper.node"), "a");
    assert_eq!(scan.attribute("lockkeeper.outcome"), "done");
    assert!(!scan.attribute("lockkeeper.scan.calls").is_empty());
}

#[tokio::test]
async fn spans_contain_no_token_key_owner_or_unknown_group_name() {
    const SECRET: &str = "S3CRET";
    let nodes = RedisNodes::start(3).await;
    let collector = start_collector().await;
    let console = TracedConsole::start(&nodes, &collector.table(), &[], &["--log", "trace"]).await;
    let api = &console.process.api;
    let body = json!({ "ttl_ms": 60_000, "label": SECRET, "token": "S3CRET-token" });
    let acquired = console
        .send_operation("lock:S3CRET", "acquire", body, &traceparent())
        .await;
    assert_eq!(acquired.status, 201, "{}", acquired.text);
    let fingerprint = acquired.json()["fingerprint"].as_str().unwrap().to_owned();
    let other = json!({ "ttl_ms": 60_000, "token": "S3CRET-other" });
    for action in ["acquire", "extend", "release"] {
        console
            .send_operation("lock:S3CRET", action, other.clone(), "")
            .await;
    }
    let force = json!({ "fingerprint": fingerprint, "reason": SECRET });
    let forced = console
        .send_operation("lock:S3CRET", "force-release", force, "")
        .await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    let headers = [
        ("authorization", "Bearer S3CRET"),
        ("cookie", "session=S3CRET"),
        ("tracestate", "vendor=S3CRET"),
        ("traceparent", &traceparent()),
        ("user-agent", SECRET),
        ("x-request-id", "S3CRET with spaces"),
    ];
    for path in [
        "/api/v1/locks?q=S3CRET&owner=S3CRET",
        "/api/v1/groups/orders/locks/lock%3AS3CRET",
        "/api/v1/groups/orders/locks/lock%3AS3CRET/history",
        "/api/v1/groups/S3CRET/locks/a",
        "/groups/orders/locks/lock%3AS3CRET",
        "/S3CRET",
    ] {
        api.send("GET", path, &headers, String::new()).await;
    }
    api.send("S3CRET", "/api/v1/locks", &headers, String::new())
        .await;
    let group = "/api/v1/groups/S3CRET/locks/a/acquire";
    api.post(group, json!({ "ttl_ms": 1_000 })).await;
    console.process.stop().await;

    let requests = collector.requests();
    let spans = collector.spans();
    let has_span = |name: &str| spans.iter().any(|span| span.name.starts_with(name));
    for name in ["POST /api", "GET /api", "force-release", "_OTHER"] {
        assert!(has_span(name), "{name} is not exported: {spans:#?}");
    }
    for (headers, body) in &requests {
        for secret in [SECRET, &fingerprint, &fingerprint[..8]] {
            let bytes = secret.as_bytes();
            let mut windows = body.windows(bytes.len());
            assert!(
                !windows.any(|window| window == bytes),
                "{secret}: {spans:#?}"
            );
            assert!(!format!("{headers:?}").contains(secret));
        }
    }
}

#[tokio::test]
async fn log_lines_have_the_trace_id_and_span_id() {
    let nodes = RedisNodes::start(1).await;
    let collector = start_collector().await;
    let arguments = ["--log", "lockkeeper=debug"];
    let tables = format!("{}[log]\nformat = \"json\"\n", collector.table());
    let console = TracedConsole::start(&nodes, &tables, &[], &arguments).await;
    console.acquire("lock:a", &traceparent()).await;
    let log = console.process.stop().await;
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let line = |message: &str| {
        let mut matching = lines.iter().filter(|line| line["message"] == message);
        matching
            .next()
            .unwrap_or_else(|| panic!("{message}: {log}"))
    };
    assert_eq!(line("acquired")["trace_id"], TRACE_ID);
    let spans = collector.spans();
    let mut acquires = spans.iter().filter(|span| span.name == "acquire");
    let operation = acquires.find(|span| span.kind == 1).unwrap();
    assert_eq!(line("acquired")["span_id"], operation.id);
    let completed = lines.iter().find(|line| {
        line["request.id"] == "night-shift.7" && line["message"] == "request completed"
    });
    assert_eq!(completed.unwrap()["trace_id"], TRACE_ID);
    let outside_trace = line("exporting traces to a collector");
    assert!(outside_trace.get("trace_id").is_none(), "{outside_trace}");
}

#[tokio::test]
async fn tracing_is_configured_by_otel_environment_variables_alone() {
    let nodes = RedisNodes::start(1).await;
    let collector = start_collector().await;
    let endpoint = format!("http://127.0.0.1:{}", collector.port);
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=S3CRET%20key"),
        ("OTEL_SERVICE_NAME", "locks-eu"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=eu"),
        ("OTEL_TRACES_SAMPLER", "parentbased_always_off"),
    ];
    let console = TracedConsole::start(&nodes, "", &environment, &[]).await;
    let unsampled = format!("00-{TRACE_ID}-{CALLER_SPAN_ID}-00");
    for traceparent in ["", &unsampled, "00-not-a-trace-01", &traceparent()] {
        console
            .acquire(&format!("lock:{traceparent}"), traceparent)
            .await;
    }
    assert!(!console.process.stop().await.contains("S3CRET"));
    let spans = collector.spans();
    let servers = spans.iter().filter(|span| span.kind == 2);
    assert_eq!(
        servers.count(),
        1,
        "only the sampled caller's trace is exported"
    );
    let (headers, body) = &collector.requests()[0];
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert_eq!(headers["x-key"], "S3CRET key");
    let resource = resource_attributes(body);
    assert_eq!(resource["service.name"], "locks-eu");
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(resource["deployment.environment.name"], "eu");
}
