//! How an event reaches a receiver that does not take it at once, or not at all, and one that has a certificate.

use std::path::Path;
use std::time::Duration;

use lockkeeper::server::clock::Clock;
use lockkeeper::server::config::{WebhookConfig, parse};

use super::{Receiver, SECRET, console_with, counted, webhook};
use crate::support::console::TestConsole;
use crate::support::redis_nodes::{RedisNodes, free_port};

#[tokio::test]
async fn what_is_not_taken_is_told_again_with_the_same_id_and_in_order() {
    let nodes = RedisNodes::start(1).await;
    // A redirect is not followed: whoever may answer could have events sent anywhere.
    let mut receiver = Receiver::answering("500,302,429,200").await;
    let console = console_with(receiver.config(), &nodes).await;
    nodes.set(0, b"lock:a", b"token", None).await;
    let attempts = [
        receiver.next().await,
        receiver.next().await,
        receiver.next().await,
        receiver.next().await,
    ];
    let told: Vec<_> = attempts
        .iter()
        .map(|one| (&one["headers"]["webhook-id"], &one["event"], &one["path"]))
        .collect();
    assert!(told.windows(2).all(|two| two[0] == two[1]), "{told:?}");
    nodes.delete(0, b"lock:a").await;
    assert_eq!(receiver.event().await["type"], "flag.cleared");
    counted(&console.person(), "delivered", 2).await;
    counted(&console.person(), "attempt-failed", 3).await;
}

#[tokio::test]
async fn a_receiver_that_is_away_is_told_when_it_comes_back_or_not_at_all_when_that_takes_too_long()
{
    let nodes = RedisNodes::start(1).await;
    let port = free_port();
    let away = webhook(&format!("http://127.0.0.1:{port}/"));
    let impatient = WebhookConfig {
        give_up_after: Duration::from_millis(50),
        ..away
    };
    let console = console_with(impatient, &nodes).await;
    nodes.set(0, b"lock:a", b"token", None).await;
    counted(&console.person(), "given-up", 1).await;
    let waiting = "lockkeeper_webhook_events_waiting{webhook=\"pager\"} 0\n";
    assert!(
        console
            .person()
            .get("/metrics")
            .await
            .text
            .contains(waiting)
    );
}

#[tokio::test]
async fn an_address_that_says_that_it_is_gone_is_not_asked_twice() {
    let nodes = RedisNodes::start(1).await;
    let mut receiver = Receiver::answering("410,200").await;
    let console = console_with(receiver.config(), &nodes).await;
    nodes.set(0, b"lock:a", b"token", None).await;
    assert_eq!(receiver.next().await["status"], 410);
    counted(&console.person(), "given-up", 1).await;
    nodes.delete(0, b"lock:a").await;
    assert_eq!(
        receiver.event().await["type"],
        "flag.cleared",
        "the next event has its own chance"
    );
}

#[tokio::test]
async fn a_receiver_with_a_certificate_of_ones_own_is_told_and_one_with_another_is_not() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let nodes = RedisNodes::start(1).await;
    for (trusted, outcome) in [("ca.crt", "delivered"), ("other.crt", "attempt-failed")] {
        let receiver = Receiver::with_certificate(folder.path()).await;
        let text = format!(
            "[[webhook]]\nname = \"pager\"\nurl = \"https://localhost:{}/\"\nsecret = \"{SECRET}\"\nca_file = {:?}\nsettle = \"1ms\"\n\
             [[group]]\nname = \"orders\"\nkeys = [\"lock:*\"]\nnode = [{{ url = \"redis://127.0.0.1:{}\" }}]\n",
            receiver.port,
            folder.path().join(trusted).display().to_string(),
            nodes.0[0].port(),
        );
        let config = parse("lockkeeper.toml", &text, &|_| None).unwrap();
        let console = TestConsole::start_as(config, Clock::real()).await;
        nodes.set(0, b"lock:a", b"token", None).await;
        counted(&console.person(), outcome, 1).await;
        let delivered = console
            .person()
            .get("/metrics")
            .await
            .text
            .contains("\"delivered\"");
        assert_eq!(delivered, outcome == "delivered");
        console.stop().await;
    }
}

/// A certificate authority with the certificate of a server at `localhost`, and another authority.
fn make_certificates(folder: &Path) {
    let commands = "
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.crt
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other -keyout other.key -out other.crt
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout server.key -out server.csr
        echo 'subjectAltName=DNS:localhost' > names
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt";
    let said = std::process::Command::new("sh")
        .args(["-ec", commands])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
}
