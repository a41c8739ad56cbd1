//! What somebody is called and may do for what a provider says, and what of it is not believed.

use serde_json::json;

use super::*;
use crate::domain::Rights;
use crate::domain::role::Role;
use crate::server::config::oidc::ProviderConfig;

fn config(grants: &[(&str, &str, Role)]) -> OidcConfig {
    let grants = grants.iter().map(|(claim, value, role)| GrantConfig {
        claim: (*claim).to_owned(),
        value: (*value).to_owned(),
        unverified: false,
        rights: Rights::everywhere(*role),
    });
    OidcConfig {
        provider: ProviderConfig {
            issuer: "https://login.example.org".to_owned(),
            client_id: "lockkeeper".to_owned(),
            client_secret: None,
            console_url: "https://locks.example.org".to_owned(),
            scopes: Vec::new(),
            roots: None,
            timeout: std::time::Duration::from_secs(1),
        },
        label: "Example".to_owned(),
        names: vec!["preferred_username".to_owned(), "email".to_owned()],
        grants: grants.collect(),
        max_session: std::time::Duration::from_hours(1),
    }
}

fn claims(value: Value) -> Claims {
    let Value::Object(claims) = value else {
        panic!("{value}")
    };
    claims
}

#[test]
fn the_first_grant_that_fits_counts() {
    let config = config(&[
        ("groups", "root", Role::Admin),
        ("groups", "sre", Role::Operator),
        ("realm_access.roles", "sre", Role::Viewer),
        ("https://example.org/lock.keeper", "yes", Role::Operator),
        ("staff", "true", Role::Viewer),
        ("level", "3", Role::Viewer),
    ]);
    for (told, role) in [
        (json!({ "groups": ["a", "sre", "root"] }), Some(Role::Admin)),
        (json!({ "groups": "sre" }), Some(Role::Operator)),
        (json!({ "groups": ["sre2", "SRE", "xsre"] }), None),
        (json!({ "groups": "root sre" }), None),
        (json!({ "groups": [["root"]] }), None),
        (json!({ "groups": { "root": true } }), None),
        (json!({ "groups": null }), None),
        (
            json!({ "realm_access": { "roles": ["sre"] } }),
            Some(Role::Viewer),
        ),
        (json!({ "realm_access": ["sre"] }), None),
        (
            json!({ "https://example.org/lock.keeper": "yes" }),
            Some(Role::Operator),
        ),
        (json!({ "staff": true }), Some(Role::Viewer)),
        (json!({ "staff": "true" }), Some(Role::Viewer)),
        (json!({ "staff": 1 }), None),
        (json!({ "level": 3 }), Some(Role::Viewer)),
        (json!({}), None),
    ] {
        let found = config.grant(&claims(told.clone()));
        assert_eq!(found.map(|grant| grant.rights.role), role, "{told}");
    }
}

#[test]
fn somebody_is_called_what_the_provider_plainly_says() {
    let config = config(&[]);
    for (told, name) in [
        (
            json!({ "sub": "1", "preferred_username": "alice", "email": "a@b" }),
            "alice",
        ),
        (json!({ "sub": "1", "email": "a@b" }), "1"),
        (
            json!({ "sub": "1", "email": "a@b", "email_verified": true }),
            "a@b",
        ),
        (
            json!({ "sub": "1", "email": "a@b", "email_verified": false }),
            "1",
        ),
        (json!({ "sub": "1", "preferred_username": "al\nice" }), "1"),
        (json!({ "sub": "1", "preferred_username": " alice" }), "1"),
        (
            json!({ "sub": "1", "preferred_username": "x".repeat(129) }),
            "1",
        ),
        (json!({ "sub": "1", "preferred_username": ["alice"] }), "1"),
        (
            json!({ "sub": "1", "preferred_username": "艾丽丝" }),
            "艾丽丝",
        ),
    ] {
        let subject = config.subject(&claims(told.clone())).unwrap();
        assert_eq!(
            (subject.id.as_str(), subject.name.as_str()),
            ("1", name),
            "{told}"
        );
    }
    for told in [
        json!({}),
        json!({ "sub": 1 }),
        json!({ "sub": "" }),
        json!({ "sub": "a\u{0}" }),
    ] {
        let refused = config.subject(&claims(told.clone()));
        assert!(matches!(refused, Err(Refusal::NotProven(_))), "{told}");
    }
}

#[test]
fn a_session_is_worth_what_its_grant_grants_by_now() {
    let before = config(&[("groups", "sre", Role::Operator)]);
    let stamp = before.stamp(&before.grants[0]);
    let alice = Subject {
        id: "1".to_owned(),
        name: "al\"ice".to_owned(),
    };
    let role = |config: &OidcConfig| {
        let who = config.signed_in(&alice.person(), stamp)?;
        assert_eq!(who.name, alice.name);
        Some(who.rights.role)
    };
    assert_eq!(role(&before), Some(Role::Operator));
    assert_eq!(
        role(&config(&[("groups", "sre", Role::Viewer)])),
        Some(Role::Viewer)
    );
    assert_eq!(role(&config(&[("groups", "others", Role::Operator)])), None);
    assert_eq!(role(&config(&[("group", "ssre", Role::Operator)])), None);
    let mut elsewhere = before.clone();
    elsewhere.provider.issuer = "https://evil.example".to_owned();
    assert_eq!(role(&elsewhere), None);
    // A user of the configuration who is called like a session of somebody else has another stamp, and this is no session's name.
    assert!(before.signed_in("alice", stamp).is_none());
    assert_eq!(Subject::of_person(&alice.person()), Some(alice));
}

#[test]
fn an_address_counts_where_the_provider_says_that_it_checked_it() {
    let strict = config(&[("email", "boss@example.org", Role::Admin)]);
    let mut lenient = strict.clone();
    lenient.grants[0].unverified = true;
    for (verified, is_let_in) in [
        (json!(true), true),
        (json!("true"), true),
        (json!(false), false),
        (json!("false"), false),
        (json!("TRUE"), false),
        (json!(1), false),
        (json!(null), false),
    ] {
        let told = claims(json!({ "email": "boss@example.org", "email_verified": verified }));
        assert_eq!(strict.grant(&told).is_some(), is_let_in, "{verified}");
        assert!(lenient.grant(&told).is_some(), "{verified}");
    }
    let unsaid = claims(json!({ "email": "boss@example.org" }));
    assert!(strict.grant(&unsaid).is_none() && lenient.grant(&unsaid).is_some());
    assert_eq!(strict.wanted(), ["email", "email_verified"]);
    assert_eq!(lenient.wanted(), ["email"]);
}

#[test]
fn whether_an_address_was_checked_comes_from_where_the_address_stands() {
    for (token, info, email, verified) in [
        // The ID token's address was not checked; that of the UserInfo endpoint is another one.
        (
            json!({ "email": "boss@b" }),
            json!({ "email": "me@b", "email_verified": true }),
            "boss@b",
            None,
        ),
        (
            json!({ "email": "boss@b" }),
            json!({ "email_verified": true }),
            "boss@b",
            None,
        ),
        (
            json!({ "email": "me@b" }),
            json!({ "email": "me@b", "email_verified": true }),
            "me@b",
            Some(true),
        ),
        (
            json!({ "email_verified": true }),
            json!({ "email": "boss@b" }),
            "boss@b",
            None,
        ),
        (
            json!({ "email_verified": true }),
            json!({ "email": "boss@b", "email_verified": false }),
            "boss@b",
            Some(false),
        ),
        (
            json!({ "email": "me@b", "email_verified": false }),
            json!({ "email": "me@b", "email_verified": true }),
            "me@b",
            Some(false),
        ),
    ] {
        let mut merged = claims(token.clone());
        merge(&mut merged, claims(info.clone()));
        assert_eq!(merged["email"], email, "{token} {info}");
        let told = merged.get("email_verified").and_then(Value::as_bool);
        assert_eq!(told, verified, "{token} {info}");
    }
}
