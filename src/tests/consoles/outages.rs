//! Outages: without PostgreSQL locks are still listed and operations are rejected until it
//! recovers. Without one console the other continues.

use super::ConsoleDeployment;
use super::idempotency::{BODY, KEY};
use crate::access::{FORM_HEADERS, PASSWORD, get_with_cookie, location, sign_in, try_to_sign_in};
use crate::api::lock_path;
use crate::idempotency::stable_fields;
use crate::support::wait_until;

#[tokio::test]
async fn without_the_database_locks_are_listed_and_sign_ins_and_operations_are_rejected() {
    let mut deployment = ConsoleDeployment::start().await;
    let (first, second) = (deployment.api(0), deployment.api(1));
    let (alice, bob) = (sign_in(&first, "alice").await, sign_in(&first, "bob").await);
    let mut stream = first
        .subscribe_with_headers("", &[("cookie", &alice)])
        .await;
    stream.wait_for(|event| event.event == "snapshot").await;
    let path = lock_path("orders", b"lock:k", "/acquire");
    let acquired = deployment.post(0, &path, Some(KEY), BODY).await;
    assert_eq!(acquired.status, 201, "{acquired:?}");
    deployment.postgres.kill().await;

    // The stream and the API continue on the console that has the session in its cache.
    for _ in 0..3 {
        stream.wait_for(|event| event.event == "ping").await;
    }
    assert_eq!(
        get_with_cookie(&first, "/api/v1/groups", &alice)
            .await
            .status,
        200
    );
    let headers = [
        ("cookie", alice.as_str()),
        ("content-type", "application/json"),
    ];
    let acquire = async |lock: &[u8]| {
        let path = lock_path("orders", lock, "/acquire");
        first
            .send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
            .await
    };
    let rejected = acquire(b"lock:a").await;
    assert_eq!(
        (rejected.status, rejected.problem_code().as_str()),
        (503, "storage-unavailable")
    );
    // The other console has never read the session and cannot verify it.
    let not_cached = get_with_cookie(&second, "/api/v1/groups", &alice).await;
    assert_eq!(not_cached.problem_code(), "storage-unavailable");
    let response = try_to_sign_in(&first, "alice", PASSWORD).await;
    assert!(location(&response).contains("why=storage"), "{response:?}");
    let page = first.get("/sign-in?why=storage").await;
    assert!(
        page.text.contains("the console's database"),
        "{}",
        page.text
    );
    // The second console cannot know whether the first executed this acquire, so it rejects the
    // repeat.
    let repeated = deployment.post(1, &path, Some(KEY), BODY).await;
    assert_eq!(repeated.status, 503, "{repeated:?}");
    // A sign-out applies to this console at once, and to the other when the database is up again.
    let headers = [FORM_HEADERS[0], ("cookie", bob.as_str())];
    first.send("POST", "/sign-out", &headers, "").await;
    assert_ne!(
        get_with_cookie(&first, "/api/v1/groups", &bob).await.status,
        200
    );

    deployment.postgres.restart().await;
    wait_until("alice can acquire again", async || {
        acquire(b"lock:b").await.status == 201
    })
    .await;
    wait_until("bob is signed out on both consoles", async || {
        get_with_cookie(&first, "/api/v1/groups", &bob).await.status == 401
            && get_with_cookie(&second, "/api/v1/groups", &bob)
                .await
                .status
                == 401
    })
    .await;
    assert_eq!(
        get_with_cookie(&second, "/api/v1/groups", &alice)
            .await
            .status,
        200
    );
    wait_until("the first response is replayed", async || {
        let response = deployment.post(1, &path, Some(KEY), BODY).await;
        response.status == 201 && stable_fields(&response) == stable_fields(&acquired)
    })
    .await;
    stream.wait_for(|event| event.event == "ping").await;
}

#[tokio::test]
async fn when_one_console_stops_the_other_continues() {
    let mut deployment = ConsoleDeployment::start().await;
    let cookie = sign_in(&deployment.api(0), "alice").await;
    deployment.consoles.remove(0).stop().await;
    let response = get_with_cookie(&deployment.api(0), "/api/v1/groups", &cookie).await;
    assert_eq!(response.status, 200, "{response:?}");
}
