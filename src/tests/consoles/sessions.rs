//! A session is valid on both consoles until the user signs out on either.

use std::time::Duration;

use lockkeeper::server::config::access::SessionsConfig;

use super::{ConsoleDeployment, admin};
use crate::access::{FORM_HEADERS, get_with_cookie, sign_in};
use crate::api::lock_path;
use crate::support::console::ApiClient;
use crate::support::wait_until;

async fn accepts_session(api: &ApiClient, cookie: &str) -> bool {
    get_with_cookie(api, "/api/v1/groups", cookie).await.status == 200
}

#[tokio::test]
async fn a_session_is_valid_on_both_consoles_until_the_user_signs_out_on_one() {
    let mut deployment = ConsoleDeployment::start().await;
    let (first, second) = (deployment.api(0), deployment.api(1));
    let cookies = [
        sign_in(&first, "alice").await,
        sign_in(&second, "alice").await,
        sign_in(&second, "bob").await,
        sign_in(&second, "alice").await,
    ];
    let headers = [
        ("cookie", cookies[0].as_str()),
        ("content-type", "application/json"),
    ];
    for (n, api) in [&first, &second].into_iter().enumerate() {
        let path = lock_path("orders", format!("lock:{n}").as_bytes(), "/acquire");
        let response = api.send("POST", &path, &headers, r#"{"ttl_ms": 60000}"#);
        assert_eq!(response.await.status, 201);
    }

    // A stream on the second console ends when its session ends on the first.
    let mut stream = second
        .subscribe_with_headers("", &[("cookie", &cookies[0])])
        .await;
    stream.wait_for(|event| event.event == "snapshot").await;
    let headers = [FORM_HEADERS[0], ("cookie", cookies[0].as_str())];
    first.send("POST", "/sign-out", &headers, "").await;
    while stream.next().await.is_some() {}
    for api in [&first, &second] {
        assert!(
            !accepts_session(api, &cookies[0]).await && accepts_session(api, &cookies[1]).await
        );
    }
    let headers = [FORM_HEADERS[0], ("cookie", cookies[1].as_str())];
    first
        .send("POST", "/sign-out", &headers, "everywhere=yes")
        .await;
    for api in [&first, &second] {
        assert!(
            !accepts_session(api, &cookies[1]).await && !accepts_session(api, &cookies[3]).await
        );
        assert!(accepts_session(api, &cookies[2]).await);
    }

    // A session survives a restart of all consoles. The database has only a digest of the cookie.
    deployment.restart().await;
    let restarted = deployment.api(0);
    assert!(accepts_session(&restarted, &cookies[2]).await);
    let rows = deployment.rows("session").await;
    let secret = cookies[2].split_once('=').unwrap().1;
    assert!(rows.len() == 1 && rows[0].contains("bob"), "{rows:?}");
    assert!(!rows[0].contains(secret));

    // A new hash ends the session, also if it is of the same password with another salt: the
    // console cannot tell the difference.
    deployment.config.access.users[1] = admin("bob");
    deployment.restart().await;
    let restarted = deployment.api(0);
    assert!(!accepts_session(&restarted, &cookies[2]).await);
    let new_cookie = sign_in(&restarted, "bob").await;
    assert!(accepts_session(&restarted, &new_cookie).await);
}

#[tokio::test]
async fn a_session_ends_after_the_idle_timeout_despite_a_stream_on_the_other_console() {
    let deployment = ConsoleDeployment::start_with(|config| {
        config.access.sessions = SessionsConfig {
            idle_timeout: Duration::from_secs(3),
            max_age: Duration::from_secs(60),
        };
    })
    .await;
    let (first, second) = (deployment.api(0), deployment.api(1));
    let cookie = sign_in(&first, "alice").await;
    let mut stream = second
        .subscribe_with_headers("", &[("cookie", &cookie)])
        .await;
    // The stream revalidates its session regularly, which does not count as activity.
    while stream.next().await.is_some() {}
    wait_until("the session ends", async || {
        !accepts_session(&first, &cookie).await
    })
    .await;
}
