//! Delivery of events: retries, expiry, and TLS.

use std::path::Path;
use std::time::Duration;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{WebhookConfig, parse};

use super::{Receiver, SECRET, start_console, wait_for_event_count, webhook_config};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNodes, free_port};

#[tokio::test]
async fn failed_deliveries_are_retried_with_the_same_id_in_order() {
    let nodes = RedisNodes::start(1).await;
    // A redirect is not followed, so that a receiver cannot send events to another host.
    let mut receiver = Receiver::start_with_statuses("500,302,429,200").await;
    let console = start_console(receiver.config(), &nodes).await;
    nodes.set(0, b"lock:a", b"token", None).await;
    let attempts = [
        receiver.next_request().await,
        receiver.next_request().await,
        receiver.next_request().await,
        receiver.next_request().await,
    ];
    let deliveries: Vec<_> = attempts
        .iter()
        .map(|request| {
            (
                &request["headers"]["webhook-id"],
                &request["event"],
                &request["path"],
            )
        })
        .collect();
    assert!(
        deliveries.windows(2).all(|pair| pair[0] == pair[1]),
        "{deliveries:?}"
    );
    nodes.delete(0, b"lock:a").await;
    assert_eq!(receiver.next_event().await["type"], "flag.cleared");
    wait_for_event_count(&console.api(), "delivered", 2).await;
    wait_for_event_count(&console.api(), "attempt-failed", 3).await;
}

#[tokio::test]
async fn an_event_expires_if_the_receiver_is_unreachable_for_longer_than_max_age() {
    let nodes = RedisNodes::start(1).await;
    let port = free_port();
    let unreachable = webhook_config(&format!("http://127.0.0.1:{port}/"));
    let with_short_max_age = WebhookConfig {
        max_age: Duration::from_millis(50),
        ..unreachable
    };
    let console = start_console(with_short_max_age, &nodes).await;
    nodes.set(0, b"lock:a", b"token", None).await;
    wait_for_event_count(&console.api(), "expired", 1).await;
    let empty_queue = "lockkeeper_webhook_queue_length{webhook=\"pager\"} 0\n";
    assert!(
        console
            .api()
            .get("/metrics")
            .await
            .text
            .contains(empty_queue)
    );
}

#[tokio::test]
async fn a_delivery_rejected_with_status_410_is_not_retried() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::start_with_statuses("410,200").await;
    let console = start_console(receiver.config(), &nodes).await;
    nodes.set(0, b"lock:a", b"token", None).await;
    assert_eq!(receiver.next_request().await["status"], 410);
    wait_for_event_count(&console.api(), "expired", 1).await;
    nodes.delete(0, b"lock:a").await;
    assert_eq!(
        receiver.next_event().await["type"],
        "flag.cleared",
        "the next event is delivered"
    );
}

#[tokio::test]
async fn a_receiver_with_a_private_ca_gets_events_only_if_the_ca_is_configured() {
    let directory = tempfile::tempdir().unwrap();
    create_certificates(directory.path());
    let nodes = RedisNodes::start(1).await;
    for (ca_file, result) in [("ca.crt", "delivered"), ("other.crt", "attempt-failed")] {
        let receiver = Receiver::start_https(directory.path()).await;
        let config = format!(
            "[[webhook]]\nname = \"pager\"\nurl = \"https://localhost:{}/\"\nsecret = \"{SECRET}\"\nca_file = {:?}\nflag_delay = \"1ms\"\n\
             [[group]]\nname = \"orders\"\nkeys = [\"lock:*\"]\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
            receiver.port,
            directory.path().join(ca_file).display().to_string(),
            nodes.0[0].port(),
        );
        let config = parse("lockkeeper.toml", &config, &|_| None).unwrap();
        let console = TestConsole::start_with_config(config, Clock::system()).await;
        nodes.set(0, b"lock:a", b"token", None).await;
        wait_for_event_count(&console.api(), result, 1).await;
        let is_delivered = console
            .api()
            .get("/metrics")
            .await
            .text
            .contains("\"delivered\"");
        assert_eq!(is_delivered, result == "delivered");
        console.stop().await;
    }
}

/// Creates a certificate authority with a server certificate for `localhost`, and another
/// authority.
fn create_certificates(directory: &Path) {
    let commands = "
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.crt
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other -keyout other.key -out other.crt
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout server.key -out server.csr
        echo 'subjectAltName=DNS:localhost' > names
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt";
    let output = std::process::Command::new("sh")
        .args(["-ec", commands])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
