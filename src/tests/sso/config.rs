//! Parsing of `[sign_in.oidc]`, and the error for each mistake.

use std::time::Duration;

use lockkeeper::domain::role::Role;
use lockkeeper::server::config::{Config, parse};

const TABLE: &str = "[sign_in.oidc]
issuer = \"https://login.example.org/realms/ops\"
client_id = \"lockkeeper\"
public_url = \"https://locks.example.org\"
";
const ROLE_MAPPING: &str = "[[sign_in.oidc.role_mapping]]\nvalue = \"sre\"\nrole = \"operator\"\n";

fn parse_config(text: &str) -> Result<Config, String> {
    let environment = |name: &str| (name == "SECRET").then(|| "s3cret".to_owned());
    let group = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]\n";
    parse("c", &format!("{text}{group}"), &environment).map_err(|error| error.to_string())
}

#[test]
fn optional_fields_have_defaults() {
    let config = parse_config(&format!("{TABLE}{ROLE_MAPPING}")).unwrap();
    assert!(!config.access.is_auth_disabled());
    let oidc = config.access.oidc.unwrap();
    assert_eq!(oidc.label, "login.example.org");
    assert_eq!(oidc.provider.scopes, ["openid", "profile"]);
    assert_eq!(
        oidc.provider.redirect_url(),
        "https://locks.example.org/sign-in/callback"
    );
    assert_eq!(oidc.provider.timeout, Duration::from_secs(10));
    assert_eq!(oidc.provider.client_secret, None);
    let mapping = &oidc.role_mappings[0];
    assert_eq!(
        (mapping.claim.as_str(), mapping.grant.role),
        ("groups", Role::Operator)
    );
}

#[test]
fn a_client_secret_is_read_from_the_environment_or_a_file_and_never_printed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("secret");
    std::fs::write(&file, "s3cret\n").unwrap();
    for line in [
        "client_secret = \"${SECRET}\"\n".to_owned(),
        format!("client_secret_file = {file:?}\n"),
    ] {
        let config = parse_config(&format!("{TABLE}{line}{ROLE_MAPPING}")).unwrap();
        assert!(!format!("{config:?}").contains("s3cret"));
        let secret = config.access.oidc.unwrap().provider.client_secret.unwrap();
        assert_eq!(secret.read().unwrap(), "s3cret");
    }
}

#[test]
fn errors_have_the_position_and_the_reason() {
    let with = |line: &str| format!("{TABLE}{line}\n{ROLE_MAPPING}");
    let without = |name: &str| {
        let remaining = TABLE.lines().filter(|line| !line.starts_with(name));
        format!(
            "{}\n{ROLE_MAPPING}",
            remaining.collect::<Vec<_>>().join("\n")
        )
    };
    let with_issuer =
        |issuer: &str| with("").replace("https://login.example.org/realms/ops", issuer);
    let with_public_url = |url: &str| with("").replace("https://locks.example.org", url);
    for (text, expected) in [
        (without("issuer"), "c:1:1: missing field `issuer`"),
        (without("client_id"), "missing field `client_id`"),
        (without("public_url"), "missing field `public_url`"),
        (TABLE.to_owned(), "add a [[sign_in.oidc.role_mapping]]"),
        (with_issuer("login.example.org"), "c:2:10: invalid URL"),
        (
            with_issuer("http://login.example.org"),
            "c:2:10: the URL must use https, except for localhost",
        ),
        (
            with_issuer("http://127.evil.example"),
            "the URL must use https",
        ),
        (
            with_issuer("https://login.example.org/?a=b"),
            "must not have a user name, query or fragment",
        ),
        (
            with_issuer("https://me@login.example.org"),
            "must not have a user name, query or fragment",
        ),
        (
            with_public_url("https://locks.example.org/console"),
            "c:4:14: `public_url` must not have a path",
        ),
        (
            with("client_secret = \"${NONE}\""),
            "c:5:17: the environment variable NONE is not set",
        ),
        (
            with("client_secret = \"\""),
            "c:1:1: the client secret is empty",
        ),
        (
            with("client_secret_file = \"/dev/null\""),
            "c:1:1: the client secret is empty",
        ),
        (
            with("client_secret_file = \"/no/such/file\""),
            "c:1:1: the client secret file cannot be read",
        ),
        (
            with("client_secret = \"a\"\nclient_secret_file = \"b\""),
            "are both set; remove one of them",
        ),
        (
            with("ca_file = \"/no/such/file\""),
            "c:5:11: cannot read CA certificates",
        ),
        (
            with("scopes = [\"a b\"]"),
            "c:5:11: the value must not be empty or contain spaces",
        ),
        (with("label = \"\""), "c:5:9: invalid label"),
        (
            with("name_claim = \"\""),
            "c:5:14: the value must not be empty",
        ),
        (
            with("timeout = \"0s\""),
            "c:5:11: the duration must be greater than zero",
        ),
        (with("audience = \"x\""), "c:5:1: unknown field `audience`"),
        (with("").replace("sre", ""), "`value` is empty"),
        (
            with("").replace("operator", "root"),
            "unknown variant `root`",
        ),
        (with("") + "groups = [\"no\"]\n", "unknown group \"no\""),
        (with("") + "keys = []\n", "the list is empty"),
    ] {
        let error = parse_config(&text).unwrap_err();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn the_examples_in_the_documentation_are_accepted() {
    let page = include_str!("../../../docs/single-sign-on.md");
    let mut count = 0;
    for example in page.split("```toml\n").skip(1) {
        let example = example.split("```").next().unwrap();
        let config = parse_config(&example.replace("${OIDC_SECRET}", "${SECRET}"));
        let config = config.unwrap_or_else(|error| panic!("{example}\n{error}"));
        assert!(config.access.oidc.is_some());
        count += 1;
    }
    assert!(count > 0);
}
