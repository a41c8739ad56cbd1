//! Tests of the mapping from claims to names and roles.

use serde_json::json;

use super::*;
use crate::domain::RoleGrant;
use crate::domain::role::Role;
use crate::server::config::oidc::ProviderConfig;

fn config(grants: &[(&str, &str, Role)]) -> OidcConfig {
    let grants = grants.iter().map(|(claim, value, role)| RoleMapping {
        claim: (*claim).to_owned(),
        value: (*value).to_owned(),
        unverified: false,
        grant: RoleGrant::unrestricted(*role),
    });
    OidcConfig {
        provider: ProviderConfig {
            issuer: "https://login.example.org".to_owned(),
            client_id: "lockkeeper".to_owned(),
            client_secret: None,
            public_url: "https://locks.example.org".to_owned(),
            scopes: Vec::new(),
            roots: None,
            timeout: std::time::Duration::from_secs(1),
        },
        label: "Example".to_owned(),
        name_claims: vec!["preferred_username".to_owned(), "email".to_owned()],
        role_mappings: grants.collect(),
        max_session_age: std::time::Duration::from_hours(1),
    }
}

fn claims(value: Value) -> OidcClaims {
    let Value::Object(claims) = value else {
        panic!("{value}")
    };
    claims
}

#[test]
fn the_first_matching_role_mapping_applies() {
    let config = config(&[
        ("groups", "root", Role::Admin),
        ("groups", "sre", Role::Operator),
        ("realm_access.roles", "sre", Role::Viewer),
        ("https://example.org/lock.keeper", "yes", Role::Operator),
        ("staff", "true", Role::Viewer),
        ("level", "3", Role::Viewer),
    ]);
    for (input, role) in [
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
        let found = config.find_role_mapping(&claims(input.clone()));
        assert_eq!(found.map(|identity| identity.grant.role), role, "{input}");
    }
}

#[test]
fn the_user_name_comes_from_the_first_printable_name_claim() {
    let config = config(&[]);
    for (input, name) in [
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
        let subject = config.subject(&claims(input.clone())).unwrap();
        assert_eq!(
            (subject.id.as_str(), subject.name.as_str()),
            ("1", name),
            "{input}"
        );
    }
    for input in [
        json!({}),
        json!({ "sub": 1 }),
        json!({ "sub": "" }),
        json!({ "sub": "a\u{0}" }),
    ] {
        let rejected = config.subject(&claims(input.clone()));
        assert!(
            matches!(rejected, Err(SignInError::Unverified(_))),
            "{input}"
        );
    }
}

#[test]
fn a_session_has_the_current_role_of_its_role_mapping() {
    let before = config(&[("groups", "sre", Role::Operator)]);
    let credential_version = before.credential_version(&before.role_mappings[0]);
    let alice = OidcSubject {
        id: "1".to_owned(),
        name: "al\"ice".to_owned(),
    };
    let role = |config: &OidcConfig| {
        let identity = config.session_identity(&alice.session_user(), credential_version)?;
        assert_eq!(identity.name, alice.name);
        Some(identity.grant.role)
    };
    assert_eq!(role(&before), Some(Role::Operator));
    assert_eq!(
        role(&config(&[("groups", "sre", Role::Viewer)])),
        Some(Role::Viewer)
    );
    assert_eq!(role(&config(&[("groups", "others", Role::Operator)])), None);
    assert_eq!(role(&config(&[("group", "ssre", Role::Operator)])), None);
    let mut other_issuer = before.clone();
    other_issuer.provider.issuer = "https://evil.example".to_owned();
    assert_eq!(role(&other_issuer), None);
    // A configured user whose name equals the session user of another person has another credential
    // version.
    assert!(
        before
            .session_identity("alice", credential_version)
            .is_none()
    );
    assert_eq!(
        OidcSubject::parse_session_user(&alice.session_user()),
        Some(alice)
    );
}

#[test]
fn an_email_mapping_requires_a_verified_address() {
    let strict = config(&[("email", "boss@example.org", Role::Admin)]);
    let mut lenient = strict.clone();
    lenient.role_mappings[0].unverified = true;
    for (verified, is_accepted) in [
        (json!(true), true),
        (json!("true"), true),
        (json!(false), false),
        (json!("false"), false),
        (json!("TRUE"), false),
        (json!(1), false),
        (json!(null), false),
    ] {
        let input = claims(json!({ "email": "boss@example.org", "email_verified": verified }));
        assert_eq!(
            strict.find_role_mapping(&input).is_some(),
            is_accepted,
            "{verified}"
        );
        assert!(lenient.find_role_mapping(&input).is_some(), "{verified}");
    }
    let without_flag = claims(json!({ "email": "boss@example.org" }));
    assert!(
        strict.find_role_mapping(&without_flag).is_none()
            && lenient.find_role_mapping(&without_flag).is_some()
    );
    assert_eq!(strict.required_claims(), ["email", "email_verified"]);
    assert_eq!(lenient.required_claims(), ["email"]);
}

#[test]
fn email_verified_applies_only_to_the_address_of_the_same_source() {
    for (token, info, email, verified) in [
        // The address in the ID token is unverified; UserInfo verifies another one.
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
        merge_user_info(&mut merged, claims(info.clone()));
        assert_eq!(merged["email"], email, "{token} {info}");
        let input = merged.get("email_verified").and_then(Value::as_bool);
        assert_eq!(input, verified, "{token} {info}");
    }
}
