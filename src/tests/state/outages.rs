//! What the consoles share is gone: watching goes on, nobody signs in or acts unseen, and all of it comes back by itself. And one
//! console is gone: the other goes on.

use super::Pair;
use crate::access::{FORM, PASSWORD, get_with, location, sign_in, try_to_sign_in};
use crate::api::lock_path;
use crate::support::eventually_is;

#[tokio::test]
async fn without_it_people_watch_and_nobody_signs_in_or_acts_unconfirmed() {
    let mut pair = Pair::start().await;
    let (one, other) = (pair.person(0), pair.person(1));
    let (alice, bob) = (sign_in(&one, "alice").await, sign_in(&one, "bob").await);
    let mut stream = one.watch_with("", &[("cookie", &alice)]).await;
    stream.until(|told| told.event == "snapshot").await;
    pair.state.kill().await;

    // The stream and the pages go on where the session was seen.
    for _ in 0..3 {
        stream.until(|told| told.event == "ping").await;
    }
    assert_eq!(get_with(&one, "/api/v1/groups", &alice).await.status, 200);
    let path = lock_path("orders", b"lock:a", "/acquire");
    let headers = [
        ("cookie", alice.as_str()),
        ("content-type", "application/json"),
    ];
    let act = async |headers: &[(&str, &str)]| {
        let body = r#"{"ttl_ms": 60000}"#;
        one.send("POST", &path, headers, body).await
    };
    let refused = act(&headers).await;
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (503, "state-unavailable")
    );
    // Where it was never seen, nothing can be said of it.
    let elsewhere = get_with(&other, "/api/v1/groups", &alice).await;
    assert_eq!(elsewhere.code(), "state-unavailable");
    let answer = try_to_sign_in(&one, "alice", PASSWORD).await;
    assert!(location(&answer).contains("why=state"), "{answer:?}");
    let page = one.get("/sign-in?why=state").await;
    assert!(page.text.contains("the Redis that the consoles share"));
    // Who signs out now is out here at once, and everywhere when it is back.
    let out = [FORM[0], ("cookie", bob.as_str())];
    one.send("POST", "/sign-out", &out, "").await;
    assert_ne!(get_with(&one, "/api/v1/groups", &bob).await.status, 200);
    // A program with a token needs nothing of it.
    let script = [
        ("authorization", pair.token.as_str()),
        ("content-type", "application/json"),
    ];
    assert_eq!(act(&script).await.status, 201);

    pair.state.restart().await;
    let lock = lock_path("orders", b"lock:b", "/acquire");
    eventually_is("alice acts again", async || {
        let answer = one.send("POST", &lock, &headers, r#"{"ttl_ms": 60000}"#);
        answer.await.status == 201
    })
    .await;
    eventually_is("bob is out everywhere", async || {
        get_with(&one, "/api/v1/groups", &bob).await.status == 401
            && get_with(&other, "/api/v1/groups", &bob).await.status == 401
    })
    .await;
    assert_eq!(get_with(&other, "/api/v1/groups", &alice).await.status, 200);
    stream.until(|told| told.event == "ping").await;
}

#[tokio::test]
async fn one_console_ends_and_the_other_goes_on() {
    let mut pair = Pair::start().await;
    let balancer = pair.balancer().await;
    let person = balancer.person();
    let cookie = sign_in(&person, "alice").await;
    pair.consoles.remove(0).stop().await;
    for _ in 0..4 {
        let answer = get_with(&person, "/api/v1/groups", &cookie).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}
