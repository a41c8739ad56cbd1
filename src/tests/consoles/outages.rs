//! PostgreSQL is gone: watching goes on, nobody signs in or acts unseen, and all of it comes back by itself. And one console is gone:
//! the other goes on.

use super::Pair;
use super::repeats::{BODY, KEY};
use crate::access::{FORM, PASSWORD, get_with, location, sign_in, try_to_sign_in};
use crate::api::lock_path;
use crate::idempotency::lasting;
use crate::support::eventually_is;

#[tokio::test]
async fn without_it_people_watch_and_nobody_signs_in_or_acts_unconfirmed() {
    let mut pair = Pair::start().await;
    let (one, other) = (pair.person(0), pair.person(1));
    let (alice, bob) = (sign_in(&one, "alice").await, sign_in(&one, "bob").await);
    let mut stream = one.watch_with("", &[("cookie", &alice)]).await;
    stream.until(|told| told.event == "snapshot").await;
    let path = lock_path("orders", b"lock:k", "/acquire");
    let first = pair.post(0, &path, Some(KEY), BODY).await;
    assert_eq!(first.status, 201, "{first:?}");
    pair.postgres.kill().await;

    // The stream and the pages go on where the session was seen.
    for _ in 0..3 {
        stream.until(|told| told.event == "ping").await;
    }
    assert_eq!(get_with(&one, "/api/v1/groups", &alice).await.status, 200);
    let headers = [
        ("cookie", alice.as_str()),
        ("content-type", "application/json"),
    ];
    let acquire = async |lock: &[u8]| {
        let path = lock_path("orders", lock, "/acquire");
        one.send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#)
            .await
    };
    let refused = acquire(b"lock:a").await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "storage-unavailable")
    );
    // Where it was never seen, nothing can be said of it.
    let elsewhere = get_with(&other, "/api/v1/groups", &alice).await;
    assert_eq!(elsewhere.code(), "storage-unavailable");
    let answer = try_to_sign_in(&one, "alice", PASSWORD).await;
    assert!(location(&answer).contains("why=storage"), "{answer:?}");
    let page = one.get("/sign-in?why=storage").await;
    assert!(
        page.text.contains("the database of the console"),
        "{}",
        page.text
    );
    // An acquire that the other console may have done is not done again, and the one that did it knows the answer.
    let again = pair.post(1, &path, Some(KEY), BODY).await;
    assert_eq!(again.status, 503, "{again:?}");
    // Who signs out now is out here at once, and everywhere when it is back.
    let out = [FORM[0], ("cookie", bob.as_str())];
    one.send("POST", "/sign-out", &out, "").await;
    assert_ne!(get_with(&one, "/api/v1/groups", &bob).await.status, 200);

    pair.postgres.restart().await;
    eventually_is("alice acts again", async || {
        acquire(b"lock:b").await.status == 201
    })
    .await;
    eventually_is("bob is out everywhere", async || {
        get_with(&one, "/api/v1/groups", &bob).await.status == 401
            && get_with(&other, "/api/v1/groups", &bob).await.status == 401
    })
    .await;
    assert_eq!(get_with(&other, "/api/v1/groups", &alice).await.status, 200);
    eventually_is("the first answer is found again", async || {
        let answer = pair.post(1, &path, Some(KEY), BODY).await;
        answer.status == 201 && lasting(&answer) == lasting(&first)
    })
    .await;
    stream.until(|told| told.event == "ping").await;
}

#[tokio::test]
async fn one_console_ends_and_the_other_goes_on() {
    let mut pair = Pair::start().await;
    let cookie = sign_in(&pair.person(0), "alice").await;
    pair.consoles.remove(0).stop().await;
    let answer = get_with(&pair.person(0), "/api/v1/groups", &cookie).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}
