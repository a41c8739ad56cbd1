//! Who may come in, as people write it, with every mistake they make.

use std::time::Duration;

use super::*;
use crate::domain::Rights;
use crate::server::config::{Config, parse};

/// `correct horse`, hashed as cheaply as it goes.
const HASH: &str =
    "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ";

fn read(text: &str) -> Result<Config, String> {
    let environment = |name: &str| (name == "ALICE").then(|| HASH.to_owned());
    let groups = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]\n\
                  [[group]]\nname = \"jobs\"\nnode = [{ url = \"redis://h:2\" }]\n";
    parse("c", &format!("{groups}{text}"), &environment).map_err(|why| why.to_string())
}

#[test]
fn without_anybody_named_nobody_needs_to_sign_in() {
    let config = read("").unwrap();
    assert!(config.access.is_open());
    assert!(!config.access.anyone_on_the_network);
}

#[test]
fn people_and_programs_are_read_with_their_rights() {
    let digest = "0123456789abcdef".repeat(4);
    let config = read(&format!(
        r#"
[sign_in]
idle = "30m"
longest = "8h"
https = true
trusted_header = "X-Forwarded-User"
trusted_from = ["10.0.0.5", "fd00::/8"]
trusted_role = "viewer"
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
    assert!(!access.is_open());
    assert_eq!(
        (access.sessions.idle, access.sessions.longest),
        (Duration::from_mins(30), Duration::from_hours(8))
    );
    assert_eq!(access.https, Some(true));
    let proxy = access.proxy.unwrap();
    assert_eq!(
        (proxy.header.as_str(), proxy.from.len(), proxy.others),
        ("x-forwarded-user", 2, Some(Role::Viewer))
    );
    let [alice, bob] = &access.users[..] else {
        panic!("{:?}", access.users)
    };
    assert!(alice.password.is_some() && bob.password.is_none());
    assert_eq!(
        alice.rights.groups.as_deref(),
        Some(&["orders".to_owned()][..])
    );
    assert_eq!(
        alice.rights.keys.as_deref(),
        Some(&["lock:*".to_owned()][..])
    );
    assert_eq!(bob.rights, Rights::everywhere(Role::Admin));
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
fn read_only_refuses_acts_in_every_group() {
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
fn every_mistake_is_told_with_what_to_do() {
    let user = |rest: &str| format!("[[user]]\nname = \"alice\"\nrole = \"admin\"\n{rest}");
    let hashed = |rest: &str| user(&format!("password_hash = \"{HASH}\"\n{rest}"));
    let token = |hash: &str, rest: &str| {
        format!("[[token]]\nid = \"ci\"\nrole = \"viewer\"\nhash = \"{hash}\"\n{rest}")
    };
    let digest = format!("sha256:{}", "ab".repeat(32));
    for (text, says) in [
        (
            "[sign_in]".to_owned(),
            "c:7:1: there is nobody who could sign in",
        ),
        (
            "[sign_in]\nidle = \"1h\"\nlongest = \"30m\"".into(),
            "c:7:1: `longest` must not be shorter",
        ),
        (
            "[sign_in]\nidle = \"soon\"".into(),
            "c:8:8: this is not a span of time",
        ),
        (
            "[sign_in]\nshared = true".into(),
            "c:8:1: unknown field `shared`",
        ),
        (
            "[sign_in]\ntrusted_header = \"a b\"".into(),
            "c:8:18: invalid HTTP header name",
        ),
        (
            "[sign_in]\ntrusted_header = \"x-user\"".into(),
            "`trusted_from` must list",
        ),
        (
            "[sign_in]\ntrusted_from = [\"10.0.0.1\"]".into(),
            "there is nobody who could sign in",
        ),
        (
            "[sign_in]\ntrusted_header = \"x-user\"\ntrusted_from = [\"proxy\"]".into(),
            "c:9:17: this is no address and no network",
        ),
        (
            user(""),
            "there is no `password_hash`; make one with `lockkeeper hash-password`",
        ),
        (
            user("password_hash = \"secret\""),
            "c:10:17: this is not an argon2id hash",
        ),
        (
            user("password_hash = \"${BOB}\""),
            "the environment variable BOB is not set",
        ),
        (
            user("password_hash = \"$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$x\""),
            "not an argon2id hash",
        ),
        (hashed("groups = []"), "this list is empty"),
        (hashed("keys = []"), "this list is empty"),
        (
            hashed("keys = [\"\"]"),
            "an empty pattern matches only the empty key",
        ),
        (
            hashed("groups = [\"order\"]"),
            "c:7:1: there is no group \"order\" in this file",
        ),
        (
            format!("{}{}", hashed(""), hashed("")),
            "the user \"alice\" is there twice",
        ),
        (
            "[[user]]\nname = \" x\"\nrole = \"admin\"".into(),
            "a user's name has 1 to 128 bytes",
        ),
        (
            "[[user]]\nname = \"x\"\nrole = \"root\"".into(),
            "unknown variant `root`",
        ),
        (token("sha256:abc", ""), "this is not the hash of a token"),
        (token("lk_ci_0123", ""), "this is not the hash of a token"),
        (
            token(&digest, "expires = \"tomorrow\""),
            "this is not a moment",
        ),
        (
            token(&digest, "").replace("\"ci\"", "\"C I\""),
            "a token's id has 1 to 64",
        ),
        (
            format!("{}{}", token(&digest, ""), token(&digest, "")),
            "the token \"ci\" is there twice",
        ),
    ] {
        let why = read(&text).unwrap_err();
        assert!(why.contains(says), "{text}\n{why}");
        assert!(!why.contains("argon2id$v"), "{why}");
    }
}
