//! How the console is told whom to tell, and of what: its file, the environment, and TLS.

use super::*;
use crate::support::certificates::{Authority, text};

#[tokio::test]
async fn the_environment_alone_is_enough() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::Taken);
    let endpoint = format!("http://127.0.0.1:{}", collector.port);
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=S3CRET%20key"),
        ("OTEL_SERVICE_NAME", "locks-eu"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=eu"),
    ];
    let console = Console::start(&nodes, "", &environment, &[]).await;
    console.acquire("lock:a", "").await;
    collector
        .span("the act is told", |span| span.name == "acquire")
        .await;
    let received = collector.received();
    let head = &received[0].head;
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf\r\n"));
    assert!(head.contains("x-key: s3cret key\r\n"), "{head}");
    let who = received[0].resource();
    assert_eq!(who["service.name"], "locks-eu");
    assert_eq!(who["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(who["deployment.environment.name"], "eu");
    assert!(!console.process.stop().await.contains("S3CRET"));
}

#[tokio::test]
async fn a_part_of_the_traces_is_told_and_always_those_that_a_caller_wants_told() {
    let nodes = RedisNodes::start(1).await;
    let collector = Collector::start(Answers::Taken);
    let tables = format!("{}sample_ratio = 0.0\n", collector.table());
    let console = Console::on(&nodes, &tables).await;
    console.acquire("lock:a", "").await;
    console
        .acquire("lock:b", &format!("00-{TRACE}-{CALLER}-00"))
        .await;
    console.acquire("lock:c", "00-not-a-trace-01").await;
    let other = "4bf92f3577b34da6a3ce929d0e0e4736";
    console
        .acquire("lock:d", &format!("00-{other}-{CALLER}-01"))
        .await;
    console.process.stop().await;
    let spans = collector.spans();
    assert!(!spans.is_empty() && spans.iter().all(|span| span.trace == other));
}

#[tokio::test]
async fn a_collector_is_told_over_tls_if_somebody_known_vouches_for_it() {
    let nodes = RedisNodes::start(1).await;
    let authority = Authority::new();
    let collector = Collector::with_certificate(&authority.vouch_for("collector"));
    let table = format!(
        "[telemetry.otlp]\nendpoint = \"https://localhost:{}\"\n",
        collector.port
    );
    let known = format!("{table}ca_file = \"{}\"\n", text(&authority.file()));
    let console = Console::on(&nodes, &known).await;
    console.acquire("lock:a", "").await;
    collector
        .span("the act is told", |span| span.name == "acquire")
        .await;
    console.process.stop().await;

    let told = collector.received().len();
    let stranger = Authority::new();
    let unknown = format!("{table}ca_file = \"{}\"\n", text(&stranger.file()));
    let console = Console::on(&nodes, &unknown).await;
    console.acquire("lock:b", "").await;
    let logged = console.process.stop().await;
    assert!(
        logged.contains("takes no traces") && logged.contains("certificate"),
        "{logged}"
    );
    assert_eq!(collector.received().len(), told);
}

#[tokio::test]
async fn a_table_without_an_address_of_a_collector_is_pointed_out_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lockkeeper.toml");
    let table = "[telemetry.otlp]\nendpoint = \"collector:4317\"\n";
    let group = "[[group]]\nname = \"a\"\nnode = [{ url = \"redis://127.0.0.1:1\" }]\n";
    std::fs::write(&file, format!("{table}{group}")).unwrap();
    let ended = tokio::process::Command::new(env!("CARGO_BIN_EXE_lockkeeper"))
        .args(["check", "--config", text(&file)])
        .output()
        .await
        .unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(
        said.contains("lockkeeper.toml:2:12: a collector's address"),
        "{said}"
    );
}
