//! `[sign_in.oidc]` as people write it, with every mistake they make.

use std::time::Duration;

use lockkeeper::domain::role::Role;
use lockkeeper::server::config::{Config, parse};

const TABLE: &str = "[sign_in.oidc]
issuer = \"https://login.example.org/realms/ops\"
client_id = \"lockkeeper\"
console_url = \"https://locks.example.org\"
";
const GRANT: &str = "[[sign_in.oidc.grant]]\nvalue = \"sre\"\nrole = \"operator\"\n";

fn read(text: &str) -> Result<Config, String> {
    let environment = |name: &str| (name == "SECRET").then(|| "s3cret".to_owned());
    let group = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]\n";
    parse("c", &format!("{text}{group}"), &environment).map_err(|why| why.to_string())
}

#[test]
fn little_has_to_be_said() {
    let config = read(&format!("{TABLE}{GRANT}")).unwrap();
    assert!(!config.access.is_open());
    let oidc = config.access.oidc.unwrap();
    assert_eq!(oidc.label, "login.example.org");
    assert_eq!(oidc.provider.scopes, ["openid", "profile"]);
    assert_eq!(
        oidc.provider.back(),
        "https://locks.example.org/sign-in/back"
    );
    assert_eq!(oidc.provider.timeout, Duration::from_secs(10));
    assert_eq!(oidc.provider.client_secret, None);
    let grant = &oidc.grants[0];
    assert_eq!(
        (grant.claim.as_str(), grant.rights.role),
        ("groups", Role::Operator)
    );
}

#[test]
fn a_secret_comes_from_the_environment_or_from_a_file_and_is_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "s3cret\n").unwrap();
    for line in [
        "client_secret = \"${SECRET}\"\n".to_owned(),
        format!("client_secret_file = {file:?}\n"),
    ] {
        let config = read(&format!("{TABLE}{line}{GRANT}")).unwrap();
        assert!(!format!("{config:?}").contains("s3cret"));
        let secret = config.access.oidc.unwrap().provider.client_secret.unwrap();
        assert_eq!(secret.read().unwrap(), "s3cret");
    }
}

#[test]
fn every_mistake_has_its_place() {
    let with = |line: &str| format!("{TABLE}{line}\n{GRANT}");
    let without = |name: &str| {
        let kept = TABLE.lines().filter(|line| !line.starts_with(name));
        format!("{}\n{GRANT}", kept.collect::<Vec<_>>().join("\n"))
    };
    let issuer = |issuer: &str| with("").replace("https://login.example.org/realms/ops", issuer);
    let console = |url: &str| with("").replace("https://locks.example.org", url);
    for (text, says) in [
        (without("issuer"), "c:1:1: missing field `issuer`"),
        (without("client_id"), "missing field `client_id`"),
        (without("console_url"), "missing field `console_url`"),
        (TABLE.to_owned(), "add a [[sign_in.oidc.grant]]"),
        (
            issuer("login.example.org"),
            "c:2:10: this is not an address",
        ),
        (
            issuer("http://login.example.org"),
            "c:2:10: this has to be https, except on this machine",
        ),
        (issuer("http://127.evil.example"), "this has to be https"),
        (
            issuer("https://login.example.org/?a=b"),
            "no user name, query or fragment",
        ),
        (
            issuer("https://me@login.example.org"),
            "no user name, query or fragment",
        ),
        (
            console("https://locks.example.org/console"),
            "c:4:15: the console's address has no path",
        ),
        (
            with("client_secret = \"${NONE}\""),
            "c:5:17: the environment variable NONE is not set",
        ),
        (with("client_secret = \"\""), "c:1:1: its secret is empty"),
        (
            with("client_secret_file = \"/dev/null\""),
            "c:1:1: its secret is empty",
        ),
        (
            with("client_secret_file = \"/no/such/file\""),
            "c:1:1: the secret's file cannot be read",
        ),
        (
            with("client_secret = \"a\"\nclient_secret_file = \"b\""),
            "one of them is too many",
        ),
        (
            with("ca_file = \"/no/such/file\""),
            "c:5:11: the certificates cannot be read",
        ),
        (
            with("scopes = [\"a b\"]"),
            "c:5:11: this has at least one letter, and no spaces",
        ),
        (with("label = \"\""), "c:5:9: the label of a button"),
        (
            with("name_claim = \"\""),
            "c:5:14: this has at least one letter",
        ),
        (with("timeout = \"0s\""), "c:5:11: this span of time"),
        (with("audience = \"x\""), "c:5:1: unknown field `audience`"),
        (with("").replace("sre", ""), "this grants to nobody"),
        (
            with("").replace("operator", "root"),
            "unknown variant `root`",
        ),
        (
            with("") + "groups = [\"no\"]\n",
            "there is no group \"no\" in this file",
        ),
        (with("") + "keys = []\n", "this list is empty"),
    ] {
        let why = read(&text).unwrap_err();
        assert!(why.contains(says), "{text}\n{why}");
    }
}

#[test]
fn what_is_written_about_it_is_accepted() {
    let shown = include_str!("../../../.github/single-sign-on.md");
    let mut count = 0;
    for example in shown.split("```toml\n").skip(1) {
        let example = example.split("```").next().unwrap();
        let config = read(&example.replace("${OIDC_SECRET}", "${SECRET}"));
        let config = config.unwrap_or_else(|why| panic!("{example}\n{why}"));
        assert!(config.access.oidc.is_some());
        count += 1;
    }
    assert!(count > 0);
}
