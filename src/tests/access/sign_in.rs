//! Signing in and out with a browser.

use lockkeeper::domain::Rights;
use lockkeeper::domain::role::Role;
use lockkeeper::server::config::access::UserConfig;

use super::{
    FORM, PASSWORD, console_for, cookie, get_with, location, sign_in, try_to_sign_in, user,
};
use crate::api::{group, lock_path};
use crate::support::redis_nodes::RedisNodes;

#[tokio::test]
async fn whoever_is_not_signed_in_gets_no_further_than_the_page_to_sign_in() {
    let nodes = RedisNodes::start(1).await;
    let alice = user("alice", Rights::everywhere(Role::Admin));
    let console = console_for(vec![group("orders", &nodes)], vec![alice]).await;
    let person = console.person();
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
        let answer = person.get(path).await;
        assert_eq!(location(&answer), format!("/sign-in?next={next}"));
        assert!(!answer.text.contains("orders"), "{}", answer.text);
    }
    for path in [
        "/api/v1/groups",
        "/api/v1/events",
        "/api/v1/no-such-route",
        "/api/no",
    ] {
        let answer = person.get(path).await;
        assert_eq!(
            (answer.status, answer.code()),
            (401, "sign-in-required".to_owned())
        );
        assert!(
            answer.headers["www-authenticate"]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
    }
    let acquire = lock_path("orders", b"lock:a", "/acquire");
    let answer = person
        .post(&acquire, serde_json::json!({"ttl_ms": 1000}))
        .await;
    assert_eq!(answer.code(), "sign-in-required");
    for path in [
        "/sign-in",
        "/healthz",
        "/readyz",
        "/api/openapi.json",
        "/api/docs/",
    ] {
        let status = person.get(path).await.status;
        // Not ready yet is an answer, too.
        assert!(status < 400 || status == 503, "{path}: {status}");
    }
    let page = person.get("/sign-in").await;
    assert!(page.text.contains("type=\"password\""), "{}", page.text);
    assert!(!page.text.contains("orders"), "{}", page.text);
}

#[tokio::test]
async fn whoever_signs_in_goes_on_where_they_wanted_to_and_acts_in_their_own_name() {
    let nodes = RedisNodes::start(1).await;
    let alice = user("alice", Rights::everywhere(Role::Operator));
    let console = console_for(vec![group("orders", &nodes)], vec![alice]).await;
    let person = console.person();
    let answer = try_to_sign_in(&person, "alice", PASSWORD).await;
    assert_eq!(location(&answer), "/nodes");
    let set = answer.headers["set-cookie"].to_str().unwrap();
    assert!(
        set.starts_with("lockkeeper=") && !set.contains("Secure"),
        "{set}"
    );
    assert!(set.contains("; HttpOnly; SameSite=Lax; "), "{set}");
    let cookie = cookie(&answer);
    let page = get_with(&person, "/", &cookie).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("alice") && page.text.contains("operator"));
    let acquire = lock_path("orders", b"lock:a", "/acquire");
    let headers = [
        ("cookie", cookie.as_str()),
        ("content-type", "application/json"),
    ];
    let answer = person
        .send("POST", &acquire, &headers, r#"{"ttl_ms": 60000}"#)
        .await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn over_https_the_cookie_belongs_to_this_host_alone_and_the_browser_stays_with_https() {
    let nodes = RedisNodes::start(1).await;
    let alice = user("alice", Rights::everywhere(Role::Viewer));
    let console = console_for(vec![group("orders", &nodes)], vec![alice]).await;
    let person = console.person();
    let https = ("x-forwarded-proto", "https");
    let form = format!("name=alice&password={}", PASSWORD.replace(' ', "+"));
    let answer = person
        .send("POST", "/sign-in", &[FORM[0], https], form)
        .await;
    let set = answer.headers["set-cookie"].to_str().unwrap();
    assert!(
        set.starts_with("__Host-lockkeeper=") && set.contains("; Secure; Path=/;"),
        "{set}"
    );
    assert!(
        answer.headers["strict-transport-security"]
            .to_str()
            .unwrap()
            .starts_with("max-age=")
    );
    let secret = cookie(&answer).split_once('=').unwrap().1.to_owned();
    let ask = async |name: &str| {
        let cookie = format!("{name}={secret}");
        let headers = [("cookie", cookie.as_str()), https];
        person
            .send("GET", "/api/v1/groups", &headers, "")
            .await
            .status
    };
    assert_eq!(ask("__Host-lockkeeper").await, 200);
    // A neighbour below the same domain could have set this one.
    assert_eq!(ask("lockkeeper").await, 401);
    let plain = person.get("/sign-in").await;
    assert!(!plain.headers.contains_key("strict-transport-security"));
}

#[tokio::test]
async fn a_cookie_is_worthless_after_the_sign_out() {
    let nodes = RedisNodes::start(1).await;
    let people = ["alice", "bob"].map(|name| user(name, Rights::everywhere(Role::Viewer)));
    let console = console_for(vec![group("orders", &nodes)], people.to_vec()).await;
    let person = console.person();
    let works =
        async |cookie: &str| get_with(&person, "/api/v1/groups", cookie).await.status == 200;
    let sign_out = async |cookie: &str, form: &'static str| {
        let headers = [FORM[0], ("cookie", cookie)];
        let answer = person.send("POST", "/sign-out", &headers, form).await;
        assert_eq!(location(&answer), "/sign-in");
        assert!(
            answer.headers["set-cookie"]
                .to_str()
                .unwrap()
                .contains("Max-Age=0")
        );
    };
    let (stolen, other) = (
        sign_in(&person, "alice").await,
        sign_in(&person, "alice").await,
    );
    let third = sign_in(&person, "alice").await;
    let bobs = sign_in(&person, "bob").await;
    assert!(works(&stolen).await);
    sign_out(&stolen, "").await;
    assert!(!works(&stolen).await);
    assert!(works(&other).await);
    sign_out(&other, "everywhere=yes").await;
    assert!(!works(&other).await && !works(&third).await);
    assert!(works(&bobs).await);
    // Nobody is signed out by the worthless one.
    sign_out(&stolen, "everywhere=yes").await;
    assert!(works(&bobs).await);
}

#[tokio::test]
async fn every_sign_in_has_a_cookie_of_its_own_and_ends_the_one_before() {
    let nodes = RedisNodes::start(1).await;
    let alice = user("alice", Rights::everywhere(Role::Viewer));
    let console = console_for(vec![group("orders", &nodes)], vec![alice]).await;
    let person = console.person();
    let first = sign_in(&person, "alice").await;
    // What somebody else put there is not taken over.
    for before in [first.as_str(), "lockkeeper=chosen-by-somebody-else"] {
        let headers = [FORM[0], ("cookie", before)];
        let form = format!("name=alice&password={}", PASSWORD.replace(' ', "+"));
        let answer = person.send("POST", "/sign-in", &headers, form).await;
        assert_ne!(cookie(&answer), before);
        assert_eq!(
            get_with(&person, "/api/v1/groups", before).await.status,
            401
        );
    }
}

#[tokio::test]
async fn nobody_is_signed_in_or_out_by_another_site() {
    let nodes = RedisNodes::start(1).await;
    let alice = user("alice", Rights::everywhere(Role::Admin));
    let console = console_for(vec![group("orders", &nodes)], vec![alice]).await;
    let person = console.person();
    let cookie = sign_in(&person, "alice").await;
    let form = format!("name=alice&password={}", PASSWORD.replace(' ', "+"));
    let json = ("content-type", "application/json");
    let acquire = lock_path("orders", b"lock:a", "/acquire");
    for from in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let with = [FORM[0], ("cookie", cookie.as_str()), from];
        for (path, body) in [
            ("/sign-in", form.clone()),
            ("/sign-out", "everywhere=yes".into()),
        ] {
            let answer = person.send("POST", path, &with, body).await;
            assert_eq!(answer.status, 403, "{path} {from:?}");
            assert!(!answer.headers.contains_key("set-cookie"));
        }
        let with = [json, ("cookie", cookie.as_str()), from];
        let answer = person
            .send("POST", &acquire, &with, r#"{"ttl_ms": 60000}"#)
            .await;
        assert_eq!(answer.status, 403, "{from:?}");
    }
    assert_eq!(
        get_with(&person, "/api/v1/groups", &cookie).await.status,
        200
    );
}

#[tokio::test]
async fn nobody_is_asked_for_a_password_where_there_is_none() {
    let nodes = RedisNodes::start(1).await;
    let open = console_for(vec![group("orders", &nodes)], Vec::new()).await;
    let page = open.person().get("/sign-in").await;
    assert!(
        page.text.contains("Nobody has to sign in here"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("type=\"password\""));
    let of_a_proxy = UserConfig {
        password: None,
        ..user("alice", Rights::everywhere(Role::Admin))
    };
    let guarded = console_for(vec![group("orders", &nodes)], vec![of_a_proxy]).await;
    let page = guarded.person().get("/sign-in").await;
    assert!(
        page.text.contains("names nobody who signs in"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("type=\"password\""));
}
