//! Property test of the API with schemathesis: requests that the OpenAPI document allows and
//! forbids are sent to a real console, and every response must be one that the document describes.
//!
//! `LOCKKEEPER_SOAK_SECONDS` sets a longer run with a random seed, `LOCKKEEPER_SEED` repeats a run.

use std::process::Stdio;
use std::time::Duration;

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::AccessConfig;
use tokio::process::Command;
use tokio::time::timeout;

use crate::access::{api_token, start_console_with_access};
use crate::api::group_config;
use crate::support::redis_nodes::RedisNodes;
use crate::support::{WAIT_TIMEOUT, programs};

/// Examples for each route: in the ordinary test run, and in each round of a soak.
const EXAMPLES: [&str; 2] = ["5", "40"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_responds_as_its_document_describes() {
    let nodes = RedisNodes::start(3).await;
    for n in 0..3 {
        nodes.set(n, b"lock:held", b"owner-a", Some(600_000)).await;
        nodes.set(n, b"lock:endless", b"owner-b", None).await;
        let thread = b"1f0c6f3a-2d3e-4f5a-8b9c-0d1e2f3a4b5c:87";
        nodes.hset(n, b"lock:redisson", thread, b"1").await;
    }
    let (secret, config) = api_token("schemathesis", RoleGrant::unrestricted(Role::Admin));
    let access = AccessConfig {
        tokens: vec![config],
        ..AccessConfig::default()
    };
    let console = start_console_with_access(
        vec![group_config("orders", &nodes)],
        access,
        Clock::system(),
    )
    .await;
    let api = console.api();

    let number = |name: &str| -> Option<u64> { std::env::var_os(name)?.to_str()?.parse().ok() };
    let soak = number("LOCKKEEPER_SOAK_SECONDS");
    let more = match soak {
        Some(seconds) => ["--max-time".to_owned(), seconds.to_string()],
        None => ["--phases".to_owned(), "fuzzing".to_owned()],
    };
    // A fixed seed, so that a failure is caused by a change of the code.
    let seed = number("LOCKKEEPER_SEED").or(soak.is_none().then_some(1));
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(programs::schemathesis());
    command
        .arg("--no-color")
        .arg("--config-file")
        .arg(programs::client_script("schemathesis.toml"))
        .args(["run", "--workers", "2"])
        .args(["--max-examples", EXAMPLES[usize::from(soak.is_some())]])
        // The speed of generating requests does not matter.
        .args(["--suppress-health-check", "too_slow"])
        .args(["--request-timeout", "90", "--report", "junit"])
        .args(more)
        .args(["--header", &format!("Authorization: Bearer {secret}")])
        .args(seed.map(|seed| format!("--seed={seed}")))
        .arg(format!("http://{}/api/openapi.json", console.address))
        // schemathesis writes its report into the working directory.
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let time_limit = Duration::from_secs(soak.unwrap_or(0)) + 4 * WAIT_TIMEOUT;
    let output = timeout(time_limit, command.output()).await;
    let output = output.expect("schemathesis ends in time").unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{report}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let generated = report.split_once(" generated,");
    let generated =
        generated.and_then(|(before, _)| before.split_whitespace().last()?.parse::<u32>().ok());
    println!("{report}");
    assert!(generated.unwrap_or(0) >= 50, "few requests: {report}");
    assert_eq!(api.get("/healthz").await.status, 200);
}
