//! Valid sign-in tables, and the error of each mistake.

use std::time::Duration;

use super::*;
use crate::domain::RoleGrant;
use crate::server::config::{Config, parse};

/// The hash of `correct horse` with the cheapest parameters.
const HASH: &str =
    "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ";

fn read(text: &str) -> Result<Config, String> {
    let environment = |name: &str| (name == "ALICE").then(|| HASH.to_owned());
    let groups = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]\n\
                  [[group]]\nname = \"jobs\"\nnode = [{ url = \"redis://h:2\" }]\n";
    parse("c", &format!("{groups}{text}"), &environment).map_err(|why| why.to_string())
}

#[test]
fn without_users_and_tokens_authentication_is_disabled() {
    let config = read("").unwrap();
    assert!(config.access.is_auth_disabled());
    assert!(!config.access.insecure_no_auth);
}

#[test]
fn users_and_tokens_are_read_with_their_permissions() {
    let digest = "0123456789abcdef".repeat(4);
    let config = read(&format!(
        r#"
[sign_in]
idle_timeout = "30m"
max_session_age = "8h"
secure_cookies = true
auth_proxy_header = "X-Forwarded-User"
trusted_proxies = ["10.0.0.5", "fd00::/8"]
auth_proxy_default_role = "viewer"
[[user]]
name = "alice"
password_hash = "${{ALICE}}"
role = "operator"
groups = ["orders"]
keys = ["lock:*"]
[[user]]
name = "bob@example.org"
role = "admin"
[[token]]
id = "deploy-1"
hash = "sha256:{digest}"
role = "operator"
expires = "2027-01-31"
"#
    ))
    .unwrap();
    let access = config.access;
    assert!(!access.is_auth_disabled());
    assert_eq!(
        (access.sessions.idle_timeout, access.sessions.max_age),
        (Duration::from_mins(30), Duration::from_hours(8))
    );
    assert_eq!(access.secure_cookies, Some(true));
    let proxy = access.auth_proxy.unwrap();
    assert_eq!(
        (
            proxy.header.as_str(),
            proxy.networks.len(),
            proxy.default_role
        ),
        ("x-forwarded-user", 2, Some(Role::Viewer))
    );
    let [alice, bob] = &access.users[..] else {
        panic!("{:?}", access.users)
    };
    assert!(alice.password_hash.is_some() && bob.password_hash.is_none());
    assert_eq!(
        alice.grant.groups.as_deref(),
        Some(&["orders".to_owned()][..])
    );
    assert_eq!(
        alice.grant.keys.as_deref(),
        Some(&["lock:*".to_owned()][..])
    );
    assert_eq!(bob.grant, RoleGrant::unrestricted(Role::Admin));
    let [token] = &access.tokens[..] else {
        panic!("{:?}", access.tokens)
    };
    assert_eq!(token.digest[..3], [0x01, 0x23, 0x45]);
    assert_eq!(
        token.expires.unwrap().to_string(),
        "2027-01-31T00:00:00.000Z"
    );
    assert!(!format!("{alice:?}").contains("argon2"));
}

#[test]
fn read_only_applies_to_every_group() {
    let groups = "[[group]]\nname = \"a\"\nnode = [{ url = \"redis://h:1\" }]\n\
                  [[group]]\nname = \"b\"\nread_only = true\nnode = [{ url = \"redis://h:2\" }]\n";
    let read_only = |first: &str| {
        let config = parse("c", &format!("{first}{groups}"), &|_| None).unwrap();
        config
            .groups
            .iter()
            .map(|group| group.read_only)
            .collect::<Vec<_>>()
    };
    assert_eq!(read_only(""), [false, true]);
    assert_eq!(read_only("read_only = false\n"), [false, true]);
    assert_eq!(read_only("read_only = true\n"), [true, true]);
}

#[test]
fn every_error_says_what_to_do() {
    let user = |rest: &str| format!("[[user]]\nname = \"alice\"\nrole = \"admin\"\n{rest}");
    let hashed = |rest: &str| user(&format!("password_hash = \"{HASH}\"\n{rest}"));
    let token = |hash: &str, rest: &str| {
        format!("[[token]]\nid = \"ci\"\nrole = \"viewer\"\nhash = \"{hash}\"\n{rest}")
    };
    let digest = format!("sha256:{}", "ab".repeat(32));
    for (text, expected) in [
        (
            "[sign_in]".to_owned(),
            "c:7:1: [sign_in] is set, but no user could sign in",
        ),
        (
            "[sign_in]\nidle_timeout = \"1h\"\nmax_session_age = \"30m\"".into(),
            "c:7:1: `max_session_age` must not be shorter",
        ),
        (
            "[sign_in]\nidle_timeout = \"soon\"".into(),
            "c:8:16: invalid duration; write",
        ),
        (
            "[sign_in]\nshared = true".into(),
            "c:8:1: unknown field `shared`",
        ),
        (
            "[sign_in]\nauth_proxy_header = \"a b\"".into(),
            "c:8:21: invalid HTTP header name",
        ),
        (
            "[sign_in]\nauth_proxy_header = \"x-user\"".into(),
            "`auth_proxy_header` requires `trusted_proxies`",
        ),
        (
            "[sign_in]\ntrusted_proxies = [\"10.0.0.1\"]".into(),
            "no user could sign in",
        ),
        (
            "[sign_in]\nauth_proxy_header = \"x-user\"\ntrusted_proxies = [\"proxy\"]".into(),
            "c:9:20: invalid IP address or network",
        ),
        (
            user(""),
            "`password_hash` is missing; create one with `lockkeeper hash-password`",
        ),
        (
            user("password_hash = \"secret\""),
            "c:10:17: not an argon2id hash",
        ),
        (
            user("password_hash = \"${BOB}\""),
            "the environment variable BOB is not set",
        ),
        (
            user("password_hash = \"$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$x\""),
            "not an argon2id hash",
        ),
        (hashed("groups = []"), "the list is empty"),
        (hashed("keys = []"), "the list is empty"),
        (
            hashed("keys = [\"\"]"),
            "an empty pattern matches only the empty key",
        ),
        (
            hashed("groups = [\"order\"]"),
            "c:7:1: unknown group \"order\"",
        ),
        (
            format!("{}{}", hashed(""), hashed("")),
            "duplicate user \"alice\"",
        ),
        (
            "[[user]]\nname = \" x\"\nrole = \"admin\"".into(),
            "invalid user name",
        ),
        (
            "[[user]]\nname = \"x\"\nrole = \"root\"".into(),
            "unknown variant `root`",
        ),
        (token("sha256:abc", ""), "not the hash of a token"),
        (token("lk_ci_0123", ""), "not the hash of a token"),
        (
            token(&digest, "expires = \"tomorrow\""),
            "invalid date or time",
        ),
        (
            token(&digest, "").replace("\"ci\"", "\"C I\""),
            "invalid token id",
        ),
        (
            format!("{}{}", token(&digest, ""), token(&digest, "")),
            "duplicate token \"ci\"",
        ),
    ] {
        let why = read(&text).unwrap_err();
        assert!(why.contains(expected), "{text}\n{why}");
        assert!(!why.contains("argon2id$v"), "{why}");
    }
}
