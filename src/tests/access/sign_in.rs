//! Sign-in and sign-out in a browser.

use lockkeeper::domain::RoleGrant;
use lockkeeper::domain::role::Role;
use lockkeeper::server::config::access::UserConfig;

use super::{
    FORM_HEADERS, PASSWORD, cookie, get_with_cookie, location, sign_in, start_console_with_users,
    try_to_sign_in, user_config,
};
use crate::api::{group_config, lock_path};
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn unauthenticated_requests_reach_only_public_pages() {
    let nodes = RedisNodes::start(1).await;
    let alice = user_config("alice", RoleGrant::unrestricted(Role::Admin));
    let console = start_console_with_users(vec![group_config("orders", &nodes)], vec![alice]).await;
    let api = console.api();
    for (path, next) in [
        ("/", "%2F"),
        ("/nodes", "%2Fnodes"),
        ("/no-such-page", "%2Fno-such-page"),
        ("/?verdict=split", "%2F%3Fverdict%3Dsplit"),
        (
            "/groups/orders/locks/lock%3Aa",
            "%2Fgroups%2Forders%2Flocks%2Flock%253Aa",
        ),
    ] {
        let response = api.get(path).await;
        assert_eq!(location(&response), format!("/sign-in?next={next}"));
        assert!(!response.text.contains("orders"), "{}", response.text);
    }
    for path in [
        "/api/v1/groups",
        "/api/v1/events",
        "/api/v1/no-such-route",
        "/api/no",
    ] {
        let response = api.get(path).await;
        assert_eq!(
            (response.status, response.problem_code()),
            (401, "sign-in-required".to_owned())
        );
        assert!(
            response.headers["www-authenticate"]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
    }
    let acquire = lock_path("orders", b"lock:a", "/acquire");
    let response = api
        .post(&acquire, serde_json::json!({"ttl_ms": 1000}))
        .await;
    assert_eq!(response.problem_code(), "sign-in-required");
    for path in [
        "/sign-in",
        "/healthz",
        "/readyz",
        "/api/openapi.json",
        "/api/docs/",
    ] {
        let status = api.get(path).await.status;
        // `/readyz` returns 503 until the console is ready.
        assert!(status < 400 || status == 503, "{path}: {status}");
    }
    let page = api.get("/sign-in").await;
    assert!(page.text.contains("type=\"password\""), "{}", page.text);
    assert!(!page.text.contains("orders"), "{}", page.text);
}

#[tokio::test]
async fn a_user_who_signs_in_returns_to_the_requested_page_and_can_acquire() {
    let nodes = RedisNodes::start(1).await;
    let alice = user_config("alice", RoleGrant::unrestricted(Role::Operator));
    let console = start_console_with_users(vec![group_config("orders", &nodes)], vec![alice]).await;
    let api = console.api();
    let response = try_to_sign_in(&api, "alice", PASSWORD).await;
    assert_eq!(location(&response), "/nodes");
    let set_cookie = response.headers["set-cookie"].to_str().unwrap();
    assert!(
        set_cookie.starts_with("lockkeeper=") && !set_cookie.contains("Secure"),
        "{set_cookie}"
    );
    assert!(
        set_cookie.contains("; HttpOnly; SameSite=Lax; "),
        "{set_cookie}"
    );
    let cookie = cookie(&response);
    let page = get_with_cookie(&api, "/", &cookie).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("alice") && page.text.contains("operator"));
    let acquire = lock_path("orders", b"lock:a", "/acquire");
    let headers = [
        ("cookie", cookie.as_str()),
        ("content-type", "application/json"),
    ];
    let response = api
        .send("POST", &acquire, &headers, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(response.status, 201);
}

#[tokio::test]
async fn over_https_the_cookie_has_the_host_prefix_and_hsts_is_sent() {
    let nodes = RedisNodes::start(1).await;
    let alice = user_config("alice", RoleGrant::unrestricted(Role::Viewer));
    let console = start_console_with_users(vec![group_config("orders", &nodes)], vec![alice]).await;
    let api = console.api();
    let https = ("x-forwarded-proto", "https");
    let form = format!("name=alice&password={}", PASSWORD.replace(' ', "+"));
    let response = api
        .send("POST", "/sign-in", &[FORM_HEADERS[0], https], form)
        .await;
    let set_cookie = response.headers["set-cookie"].to_str().unwrap();
    assert!(
        set_cookie.starts_with("__Host-lockkeeper=") && set_cookie.contains("; Secure; Path=/;"),
        "{set_cookie}"
    );
    assert!(
        response.headers["strict-transport-security"]
            .to_str()
            .unwrap()
            .starts_with("max-age=")
    );
    let secret = cookie(&response).split_once('=').unwrap().1.to_owned();
    let status_with_cookie = async |name: &str| {
        let cookie = format!("{name}={secret}");
        let headers = [("cookie", cookie.as_str()), https];
        api.send("GET", "/api/v1/groups", &headers, "").await.status
    };
    assert_eq!(status_with_cookie("__Host-lockkeeper").await, 200);
    // Another subdomain of the same domain could have set a cookie without the prefix.
    assert_eq!(status_with_cookie("lockkeeper").await, 401);
    let plain = api.get("/sign-in").await;
    assert!(!plain.headers.contains_key("strict-transport-security"));
}

#[tokio::test]
async fn a_cookie_is_invalid_after_sign_out() {
    let nodes = RedisNodes::start(1).await;
    let users =
        ["alice", "bob"].map(|name| user_config(name, RoleGrant::unrestricted(Role::Viewer)));
    let console =
        start_console_with_users(vec![group_config("orders", &nodes)], users.to_vec()).await;
    let api = console.api();
    let is_valid =
        async |cookie: &str| get_with_cookie(&api, "/api/v1/groups", cookie).await.status == 200;
    let sign_out = async |cookie: &str, form: &'static str| {
        let headers = [FORM_HEADERS[0], ("cookie", cookie)];
        let response = api.send("POST", "/sign-out", &headers, form).await;
        assert_eq!(location(&response), "/sign-in");
        assert!(
            response.headers["set-cookie"]
                .to_str()
                .unwrap()
                .contains("Max-Age=0")
        );
    };
    let (first, second) = (sign_in(&api, "alice").await, sign_in(&api, "alice").await);
    let third = sign_in(&api, "alice").await;
    let bob = sign_in(&api, "bob").await;
    assert!(is_valid(&first).await);
    sign_out(&first, "").await;
    assert!(!is_valid(&first).await);
    assert!(is_valid(&second).await);
    sign_out(&second, "everywhere=yes").await;
    assert!(!is_valid(&second).await && !is_valid(&third).await);
    assert!(is_valid(&bob).await);
    // An invalid cookie signs out no session.
    sign_out(&first, "everywhere=yes").await;
    assert!(is_valid(&bob).await);
}

#[tokio::test]
async fn every_sign_in_sets_a_new_cookie_and_ends_the_previous_session() {
    let nodes = RedisNodes::start(1).await;
    let alice = user_config("alice", RoleGrant::unrestricted(Role::Viewer));
    let console = start_console_with_users(vec![group_config("orders", &nodes)], vec![alice]).await;
    let api = console.api();
    let first = sign_in(&api, "alice").await;
    // A cookie value chosen by an attacker is not adopted (session fixation).
    for previous in [first.as_str(), "lockkeeper=chosen-by-an-attacker"] {
        let headers = [FORM_HEADERS[0], ("cookie", previous)];
        let form = format!("name=alice&password={}", PASSWORD.replace(' ', "+"));
        let response = api.send("POST", "/sign-in", &headers, form).await;
        assert_ne!(cookie(&response), previous);
        assert_eq!(
            get_with_cookie(&api, "/api/v1/groups", previous)
                .await
                .status,
            401
        );
    }
}

#[tokio::test]
async fn cross_site_requests_cannot_sign_in_sign_out_or_acquire() {
    let nodes = RedisNodes::start(1).await;
    let alice = user_config("alice", RoleGrant::unrestricted(Role::Admin));
    let console = start_console_with_users(vec![group_config("orders", &nodes)], vec![alice]).await;
    let api = console.api();
    let cookie = sign_in(&api, "alice").await;
    let form = format!("name=alice&password={}", PASSWORD.replace(' ', "+"));
    let json = ("content-type", "application/json");
    let acquire = lock_path("orders", b"lock:a", "/acquire");
    for origin_header in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let headers = [FORM_HEADERS[0], ("cookie", cookie.as_str()), origin_header];
        for (path, body) in [
            ("/sign-in", form.clone()),
            ("/sign-out", "everywhere=yes".into()),
        ] {
            let response = api.send("POST", path, &headers, body).await;
            assert_eq!(response.status, 403, "{path} {origin_header:?}");
            assert!(!response.headers.contains_key("set-cookie"));
        }
        let headers = [json, ("cookie", cookie.as_str()), origin_header];
        let response = api
            .send("POST", &acquire, &headers, r#"{"ttl_ms": 60000}"#)
            .await;
        assert_eq!(response.status, 403, "{origin_header:?}");
    }
    assert_eq!(
        get_with_cookie(&api, "/api/v1/groups", &cookie)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn the_sign_in_page_has_no_password_field_without_password_users() {
    let nodes = RedisNodes::start(1).await;
    let without_users =
        start_console_with_users(vec![group_config("orders", &nodes)], Vec::new()).await;
    let page = without_users.api().get("/sign-in").await;
    assert!(
        page.text.contains("Sign-in is not required"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("type=\"password\""));
    let proxy_user = UserConfig {
        password_hash: None,
        ..user_config("alice", RoleGrant::unrestricted(Role::Admin))
    };
    let with_proxy_user =
        start_console_with_users(vec![group_config("orders", &nodes)], vec![proxy_user]).await;
    let page = with_proxy_user.api().get("/sign-in").await;
    assert!(
        page.text.contains("has no users with a password"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("type=\"password\""));
}
