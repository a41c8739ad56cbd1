//! Whatever the OpenAPI document allows and forbids, asked of a real console by schemathesis: nothing breaks, and every answer is
//! one that the document has.
//!
//! `LOCKKEEPER_SOAK_SECONDS` makes it longer and different every time, `LOCKKEEPER_SEED` repeats a run.

use std::process::Stdio;
use std::time::Duration;

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use tokio::process::Command;
use tokio::time::timeout;

use crate::access::{console_with, token};
use crate::api::group;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{PATIENCE, programs};

/// How often it asks each route in the ordinary test run, and how often in a row in a soak, for as long as that takes.
const EXAMPLES: [&str; 2] = ["5", "40"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_answers_as_its_document_says_whatever_it_is_asked() {
    let nodes = RedisNodes::start(3).await;
    for n in 0..3 {
        nodes.set(n, b"lock:held", b"owner-a", Some(600_000)).await;
        nodes.set(n, b"lock:endless", b"owner-b", None).await;
        let thread = b"1f0c6f3a-2d3e-4f5a-8b9c-0d1e2f3a4b5c:87";
        nodes.hash(n, b"lock:redisson", thread, b"1").await;
    }
    let (secret, config) = token("schemathesis", Rights::everywhere(Role::Admin));
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = console_with(vec![group("orders", &nodes)], access, Clock::real()).await;
    let person = console.person();

    let number = |name: &str| -> Option<u64> { std::env::var_os(name)?.to_str()?.parse().ok() };
    let soak = number("LOCKKEEPER_SOAK_SECONDS");
    let more = match soak {
        Some(seconds) => ["--max-time".to_owned(), seconds.to_string()],
        None => ["--phases".to_owned(), "fuzzing".to_owned()],
    };
    // The same questions every time, so that a change fails by what it changes.
    let seed = number("LOCKKEEPER_SEED").or(soak.is_none().then_some(1));
    let folder = tempfile::tempdir().unwrap();
    let mut asking = Command::new(programs::schemathesis());
    asking
        .arg("--no-color")
        .arg("--config-file")
        .arg(programs::script("schemathesis.toml"))
        .args(["run", "--workers", "2"])
        .args(["--max-examples", EXAMPLES[usize::from(soak.is_some())]])
        // How fast it makes up questions says nothing about the answers.
        .args(["--suppress-health-check", "too_slow"])
        .args(["--request-timeout", "90", "--report", "junit"])
        .args(more)
        .args(["--header", &format!("Authorization: Bearer {secret}")])
        .args(seed.map(|seed| format!("--seed={seed}")))
        .arg(format!("http://{}/api/openapi.json", console.address))
        // It writes what it found there.
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let patience = Duration::from_secs(soak.unwrap_or(0)) + 4 * PATIENCE;
    let said = timeout(patience, asking.output()).await;
    let said = said.expect("it ends in time").unwrap();
    let report = String::from_utf8_lossy(&said.stdout);
    assert!(
        said.status.success(),
        "{report}{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let asked = report.split_once(" generated,");
    let asked = asked.and_then(|(before, _)| before.split_whitespace().last()?.parse::<u32>().ok());
    println!("{report}");
    assert!(asked.unwrap_or(0) >= 50, "few questions: {report}");
    assert_eq!(person.get("/healthz").await.status, 200);
}
