//! Locks whose leases are a danger.

use std::time::Duration;

use super::Visit;
use crate::support::eventually;
use crate::support::redis_nodes::{PERSISTENT, RedisNodes};

const CODES: [&str; 2] = ["locks-without-end", "lease-beyond-longest"];

#[tokio::test]
async fn locks_without_end_and_leases_beyond_the_longest_are_found_by_name() {
    let nodes = RedisNodes::start_with(3, &PERSISTENT).await;
    let visit = Visit::to(vec![nodes.config()]).await;
    visit.finds_none("orders", &CODES).await;
    for n in 0..3 {
        nodes
            .set(n, b"lock:<b>for ever</b>", &[b'a'; 32], None)
            .await;
        let two_hours = Some(7_200_000);
        nodes.set(n, b"lock:long", &[b'b'; 32], two_hours).await;
    }
    let found = visit.finds_all("orders", &CODES).await;
    let evidence = found[CODES[0]]["evidence"][0].as_str().unwrap();
    assert!(evidence.starts_with("lock:<b>for ever</b> ("), "{evidence}");
    assert_eq!(found[CODES[1]]["evidence"][0], "lock:long");
    let fix = found[CODES[1]]["fix"].as_str().unwrap();
    assert!(fix.contains("longest_lease = \"2h\""), "{fix}");
    let page = visit.person.get("/nodes").await.text;
    assert!(
        page.contains("Locks that never expire") && !page.contains("<b>for ever"),
        "{page}"
    );
    for n in 0..3 {
        nodes.delete(n, b"lock:<b>for ever</b>").await;
        nodes.delete(n, b"lock:long").await;
    }
    visit.finds_none("orders", &CODES).await;
}

#[tokio::test]
async fn a_lease_that_is_too_short_is_found_while_it_is_renewed() {
    let nodes = RedisNodes::start_with(1, &PERSISTENT).await;
    let visit = Visit::to(vec![nodes.config()]).await;
    let code = "leases-too-short";
    visit.finds_none("orders", &[code]).await;
    let mut client = nodes.0[0].client().await;
    nodes.set(0, b"lock:short", &[b'a'; 32], Some(900)).await;
    let renewing = tokio::spawn(async move {
        let mut beat = tokio::time::interval(Duration::from_millis(200));
        loop {
            beat.tick().await;
            let mut set = redis::cmd("SET");
            set.arg("lock:short")
                .arg([b'a'; 32].as_slice())
                .arg("PX")
                .arg(900);
            let () = set.query_async(&mut client).await.unwrap();
        }
    });
    let found = visit.finds_all("orders", &[code]).await;
    let evidence = found[code]["evidence"][0].as_str().unwrap();
    assert!(evidence.starts_with("lock:short: "), "{evidence}");
    renewing.abort();
    eventually("its end", async || {
        nodes.get(0, b"lock:short").await.is_none().then_some(())
    })
    .await;
    visit.finds_none("orders", &[code]).await;
}
