//! What is told: of a request, its act and the nodes; of what the console does by itself; and what is never told.

use super::collector::resource;
use super::*;
use crate::support::eventually_is;

const ROUTE: &str = "/api/v1/groups/{group}/locks/{key}";

#[tokio::test]
async fn an_acquire_is_a_tree_of_spans_in_the_trace_of_whoever_asked() {
    let nodes = RedisNodes::start(3).await;
    let collector = Collector::start(Answers::With(200, 0)).await;
    let console = Console::start(&nodes, &collector.table(), &[], &[]).await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(console.process.person.get(path).await.status, 200);
    }
    console.acquire("lock:a", &traceparent()).await;

    let server = collector
        .span("the request is told", |span| span.parent == CALLER)
        .await;
    assert_eq!(server.name, format!("POST {ROUTE}/acquire"));
    assert_eq!((server.trace.as_str(), server.kind), (TRACE, 2));
    assert_eq!(server.says("http.request.method"), "POST");
    assert_eq!(server.says("http.route"), format!("{ROUTE}/acquire"));
    assert_eq!(server.says("http.response.status_code"), "201");
    assert_eq!(server.says("lockkeeper.request_id"), "night-shift.7");
    assert!(!server.has_failed);

    let spans = collector.spans();
    let acts = below(&spans, &server);
    let [act] = acts[..] else { panic!("{acts:?}") };
    assert_eq!((act.name.as_str(), act.kind), ("acquire", 1));
    assert_eq!(act.says("lockkeeper.group"), "orders");
    assert_eq!(act.says("lockkeeper.format"), "plain");
    assert_eq!(act.says("lockkeeper.outcome"), "done");
    assert!(act.nanos > 0 && act.nanos <= server.nanos);

    let asked = below(&spans, act);
    let mut names: Vec<_> = asked
        .iter()
        .filter(|span| span.name == "acquire")
        .map(|span| span.says("lockkeeper.node"))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"]);
    for node in asked {
        assert_eq!((node.kind, node.says("db.system.name")), (3, "redis"));
        assert!(node.nanos > 0);
        // Two of three decide; the third may be asked still.
        let outcome = node.says("lockkeeper.outcome");
        assert!(matches!(outcome, "done" | "pending"), "{node:?}");
    }
    let probes = ["healthz", "readyz", "metrics"];
    let is_probe = |span: &Span| probes.iter().any(|probe| span.name.contains(probe));
    assert!(!spans.iter().any(is_probe), "{spans:#?}");
}

#[tokio::test]
async fn every_act_says_what_came_of_it_and_trouble_is_marked_as_such() {
    let mut nodes = RedisNodes::start(3).await;
    let collector = Collector::start(Answers::With(200, 0)).await;
    let console = Console::start(&nodes, &collector.table(), &[], &[]).await;
    let token = console.acquire("lock:a", "").await.json()["token"].clone();
    let held = json!({ "ttl_ms": 60_000 });
    console.act("lock:a", "acquire", held, "").await;
    let extend = json!({ "ttl_ms": 60_000, "token": token });
    console.act("lock:a", "extend", extend, "").await;
    let release = json!({ "token": token });
    console.act("lock:a", "release", release.clone(), "").await;
    console.act("lock:a", "release", release, "").await;
    let force = json!({ "fingerprint": "0123456789abcdef", "reason": "gone" });
    console.act("lock:a", "force-release", force, "").await;
    nodes.0[0].kill().await;
    nodes.0[1].kill().await;
    let body = json!({ "ttl_ms": 60_000 });
    console.act("lock:b", "acquire", body, "").await;
    // The last of it is told before the console ends.
    console.process.stop().await;

    let spans = collector.spans();
    let came_to = |name: &str, outcome: &str| {
        let mut found = spans.iter().filter(|span| {
            span.kind == 1 && span.name == name && span.says("lockkeeper.outcome") == outcome
        });
        found
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
        assert!(!came_to(name, outcome).has_failed);
    }
    let failed = came_to("acquire", "no-quorum");
    assert!(failed.has_failed);
    let server = spans.iter().find(|span| span.id == failed.parent).unwrap();
    assert!(server.has_failed && server.says("http.response.status_code") == "503");
    let dead: Vec<_> = below(&spans, failed)
        .into_iter()
        .filter(|span| span.has_failed)
        .map(|span| {
            (
                span.says("lockkeeper.node"),
                span.says("lockkeeper.outcome"),
            )
        })
        .collect();
    for node in ["a", "b"] {
        let told = |(name, outcome): &(&str, &str)| {
            *name == node && matches!(*outcome, "not-asked" | "unanswered")
        };
        assert!(dead.iter().any(told), "{dead:?}");
    }
    let looked = below(&spans, came_to("force-release", "not-held"));
    assert!(looked.iter().all(|span| span.name == "look"));
    assert_eq!(looked.len(), 3);
}

#[tokio::test]
async fn one_who_waits_for_long_has_some_of_the_tries_told_and_all_of_them_counted() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::With(200, 0)).await;
    let console = Console::start(&nodes, &collector.table(), &[], &[]).await;
    nodes.set(0, b"lock:a", b"somebody", None).await;
    let body = json!({ "ttl_ms": 60_000, "wait_ms": 300_000 });
    let caller = traceparent();
    let waiting = console.act("lock:a", "acquire", body, &caller);
    let is_try = |span: &&Span| span.kind == 3 && span.name == "acquire";
    let released = async {
        // The first eight, and the sixteenth.
        eventually_is("the sixteenth try is told", async || {
            let spans = collector.spans();
            spans.iter().filter(is_try).count() >= 9
        })
        .await;
        nodes.delete(0, b"lock:a").await;
    };
    let (answer, ()) = tokio::join!(waiting, released);
    assert_eq!(answer.status, 201, "{}", answer.text);
    let act = collector
        .span("the act is told", |span| {
            span.kind == 1 && span.name == "acquire"
        })
        .await;
    let tries: u32 = act.says("lockkeeper.tries").parse().unwrap();
    assert!(tries > 16, "{tries}");
    let spans = collector.spans();
    let told = below(&spans, &act).into_iter().filter(|span| is_try(span));
    assert_eq!(told.count(), 8 + tries.ilog2() as usize - 3);
}

#[tokio::test]
async fn what_the_console_does_by_itself_is_told_as_traces_of_their_own() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::With(200, 0)).await;
    let console = Console::start(&nodes, &collector.table(), &[], &[]).await;
    let keep = json!({ "ttl_ms": 300, "auto_renew": true });
    let kept = console.act("lock:kept", "acquire", keep, "").await;
    assert_eq!(kept.status, 201, "{}", kept.text);

    let renewal = collector
        .span("a renewal is told", |span| span.name == "renew")
        .await;
    assert_eq!((renewal.parent.as_str(), renewal.kind), ("", 1));
    assert_eq!(renewal.says("lockkeeper.group"), "orders");
    assert_eq!(renewal.says("lockkeeper.format"), "plain");
    assert_eq!(renewal.says("lockkeeper.outcome"), "done");
    let spans = collector.spans();
    let asked = below(&spans, &renewal);
    let [node] = asked[..] else {
        panic!("{asked:?}")
    };
    assert_eq!(node.name, "extend");

    let scan = collector
        .span("a scan is told", |span| span.name == "scan")
        .await;
    assert_eq!(scan.parent, "");
    assert_eq!(scan.says("lockkeeper.node"), "a");
    assert_eq!(scan.says("lockkeeper.outcome"), "done");
    assert!(!scan.says("lockkeeper.scan.calls").is_empty());
}

#[tokio::test]
async fn no_token_and_no_name_of_a_lock_an_owner_or_a_group_that_somebody_made_up_is_ever_told() {
    const S: &str = "S3CRET";
    let nodes = RedisNodes::start(3).await;
    let collector = Collector::start(Answers::With(200, 0)).await;
    let console = Console::start(&nodes, &collector.table(), &[], &["--log", "trace"]).await;
    let person = &console.process.person;
    let body = json!({ "ttl_ms": 60_000, "label": S, "token": "S3CRET-token" });
    let taken = console
        .act("lock:S3CRET", "acquire", body, &traceparent())
        .await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    let fingerprint = taken.json()["fingerprint"].as_str().unwrap().to_owned();
    let other = json!({ "ttl_ms": 60_000, "token": "S3CRET-other" });
    for act in ["acquire", "extend", "release"] {
        console.act("lock:S3CRET", act, other.clone(), "").await;
    }
    let force = json!({ "fingerprint": fingerprint, "reason": S });
    let forced = console.act("lock:S3CRET", "force-release", force, "").await;
    assert_eq!(forced.status, 200, "{}", forced.text);
    let headers = [
        ("authorization", "Bearer S3CRET"),
        ("cookie", "session=S3CRET"),
        ("tracestate", "vendor=S3CRET"),
        ("traceparent", &traceparent()),
        ("user-agent", S),
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
        person.send("GET", path, &headers, String::new()).await;
    }
    person
        .send("S3CRET", "/api/v1/locks", &headers, String::new())
        .await;
    let group = "/api/v1/groups/S3CRET/locks/a/acquire";
    person.post(group, json!({ "ttl_ms": 1_000 })).await;
    console.process.stop().await;

    let received = collector.received();
    let spans = collector.spans();
    let named = |name: &str| spans.iter().any(|span| span.name.starts_with(name));
    for name in ["POST /api", "GET /api", "force-release", "_OTHER"] {
        assert!(named(name), "{name} is told: {spans:#?}");
    }
    for (headers, body) in &received {
        for secret in [S, &fingerprint, &fingerprint[..8]] {
            let bytes = secret.as_bytes();
            let mut found = body.windows(bytes.len());
            assert!(!found.any(|window| window == bytes), "{secret}: {spans:#?}");
            assert!(!format!("{headers:?}").contains(secret));
        }
    }
}

#[tokio::test]
async fn lines_of_the_log_say_which_trace_they_belong_to() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::With(200, 0)).await;
    let log = ["--log", "lockkeeper=debug"];
    let tables = format!("{}[log]\nformat = \"json\"\n", collector.table());
    let console = Console::start(&nodes, &tables, &[], &log).await;
    console.acquire("lock:a", &traceparent()).await;
    let logged = console.process.stop().await;
    let lines: Vec<Value> = logged
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let line = |message: &str| {
        let mut found = lines.iter().filter(|line| line["message"] == message);
        found
            .next()
            .unwrap_or_else(|| panic!("{message}: {logged}"))
    };
    assert_eq!(line("acquired")["trace_id"], TRACE);
    let spans = collector.spans();
    let mut acts = spans.iter().filter(|span| span.name == "acquire");
    let act = acts.find(|span| span.kind == 1).unwrap();
    assert_eq!(line("acquired")["span_id"], act.id);
    let answered = lines
        .iter()
        .find(|line| line["request.id"] == "night-shift.7" && line["message"] == "answered");
    assert_eq!(answered.unwrap()["trace_id"], TRACE);
    let beside = line("traces are told to a collector");
    assert!(beside.get("trace_id").is_none(), "{beside}");
}

#[tokio::test]
async fn the_environment_alone_is_enough() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::With(200, 0)).await;
    let endpoint = format!("http://127.0.0.1:{}", collector.port);
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=S3CRET%20key"),
        ("OTEL_SERVICE_NAME", "locks-eu"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=eu"),
        ("OTEL_TRACES_SAMPLER", "parentbased_always_off"),
    ];
    let console = Console::start(&nodes, "", &environment, &[]).await;
    let untold = format!("00-{TRACE}-{CALLER}-00");
    for traceparent in ["", &untold, "00-not-a-trace-01", &traceparent()] {
        console
            .acquire(&format!("lock:{traceparent}"), traceparent)
            .await;
    }
    assert!(!console.process.stop().await.contains("S3CRET"));
    let spans = collector.spans();
    let servers = spans.iter().filter(|span| span.kind == 2);
    assert_eq!(servers.count(), 1, "only the caller's that wants it told");
    let (headers, body) = &collector.received()[0];
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert_eq!(headers["x-key"], "S3CRET key");
    let who = resource(body);
    assert_eq!(who["service.name"], "locks-eu");
    assert_eq!(who["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(who["deployment.environment.name"], "eu");
}
