//! Findings about the leases of locks.

use std::time::Duration;

use super::DoctorConsole;
use crate::support::redis_nodes::{PERSISTENT, RedisNodes};
use crate::support::wait_for;

const CODES: [&str; 2] = ["locks-without-expiry", "lease-above-max-lease"];

#[tokio::test]
async fn locks_without_expiry_and_leases_above_the_maximum_are_found_by_key() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let console = DoctorConsole::start(vec![nodes.config()]).await;
    console.wait_until_not_found("orders", &CODES).await;
    for n in 0..3 {
        nodes
            .set(n, b"lock:<b>for ever</b>", &[b'a'; 32], None)
            .await;
        let two_hours = Some(7_200_000);
        nodes.set(n, b"lock:long", &[b'b'; 32], two_hours).await;
    }
    let findings = console.wait_until_found("orders", &CODES).await;
    let evidence = findings[CODES[0]]["evidence"][0].as_str().unwrap();
    assert!(evidence.starts_with("lock:<b>for ever</b> ("), "{evidence}");
    assert_eq!(findings[CODES[1]]["evidence"][0], "lock:long");
    let fix = findings[CODES[1]]["fix"].as_str().unwrap();
    assert!(fix.contains("max_lease = \"2h\""), "{fix}");
    let page = console.api.get("/nodes").await.text;
    assert!(
        page.contains("Locks that never expire") && !page.contains("<b>for ever"),
        "{page}"
    );
    for n in 0..3 {
        nodes.delete(n, b"lock:<b>for ever</b>").await;
        nodes.delete(n, b"lock:long").await;
    }
    console.wait_until_not_found("orders", &CODES).await;
}

#[tokio::test]
async fn a_lease_that_is_too_short_is_found_while_its_owner_renews_it() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let console = DoctorConsole::start(vec![nodes.config()]).await;
    let code = "leases-too-short";
    console.wait_until_not_found("orders", &[code]).await;
    let mut client = nodes.0[0].client().await;
    nodes.set(0, b"lock:short", &[b'a'; 32], Some(900)).await;
    let renewal = tokio::spawn(async move {
        let mut interval = tokio::time::interval(Duration::from_millis(200));
        loop {
            interval.tick().await;
            let mut set = redis::cmd("SET");
            set.arg("lock:short")
                .arg([b'a'; 32].as_slice())
                .arg("PX")
                .arg(900);
            let () = set.query_async(&mut client).await.unwrap();
        }
    });
    let findings = console.wait_until_found("orders", &[code]).await;
    let evidence = findings[code]["evidence"][0].as_str().unwrap();
    assert!(evidence.starts_with("lock:short: "), "{evidence}");
    renewal.abort();
    wait_for("the lock expires", async || {
        nodes.get(0, b"lock:short").await.is_none().then_some(())
    })
    .await;
    console.wait_until_not_found("orders", &[code]).await;
}
