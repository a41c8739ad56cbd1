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
        (json!({ "sub": "1", "email": "a@b" }), "a@b"),
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
