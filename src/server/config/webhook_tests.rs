//! The `[[webhook]]` tables as people write them, with every mistake they make.

use super::*;
use crate::server::config::{Config, parse};

const GROUP: &str = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]";
const USUAL: &str = "name = \"pager\"\nurl = \"https://${HOST}/hook\"\nsecret = \"${SECRET}\"";

fn read(webhook: &str) -> Result<Config, String> {
    let environment = |name: &str| match name {
        "HOST" => Some("hooks.example.org".to_owned()),
        "SECRET" => Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        _ => None,
    };
    let text = format!("[[webhook]]\n{webhook}\n{GROUP}");
    parse("lockkeeper.toml", &text, &environment).map_err(|why| why.to_string())
}

#[test]
fn a_webhook_is_told_the_usual_unless_it_wants_something_else() {
    let usual = &read(USUAL).unwrap().webhooks[0];
    assert_eq!(usual.name, "pager");
    assert_eq!(usual.url.expose(), "https://hooks.example.org/hook");
    assert_eq!(usual.secret.expose().len(), 24);
    assert_eq!(usual.flags, WebhookConfig::FLAGS);
    assert_eq!(
        (&usual.acts[..], usual.lost),
        (
            &[
                ActKind::ForceRelease,
                ActKind::CompleteRelease,
                ActKind::PutBack
            ][..],
            true
        )
    );
    assert_eq!(usual.groups, None);

    let special = "groups = [\"orders\"]\nflags = [\"split\"]\nacts = []\nlost = false\nsettle = \"1m\"\ngive_up_after = \"2h\"";
    let special = &read(&format!("{USUAL}\n{special}")).unwrap().webhooks[0];
    assert_eq!(special.groups.as_deref(), Some(&["orders".to_owned()][..]));
    assert_eq!(special.flags, [Flag::Split]);
    assert!(special.acts.is_empty() && !special.lost);
    assert_eq!(special.settle, Duration::from_mins(1));
    assert_eq!(special.give_up_after, Duration::from_hours(2));
}

#[test]
fn neither_address_nor_secret_is_ever_shown() {
    let shown = format!("{:?}", read(USUAL).unwrap());
    assert!(shown.contains("pager"));
    assert!(
        !shown.contains("hooks.example.org") && !shown.contains("MfKQ9r8"),
        "{shown}"
    );
}

#[test]
fn every_mistake_names_its_place_and_what_to_do() {
    let with = |line: &str| format!("{USUAL}\n{line}");
    let instead = |old: &str, new: &str| USUAL.replace(old, new);
    let secret = "secret = \"${SECRET}\"";
    for (webhook, says) in [
        (
            instead("https", "ftp"),
            ":3:7: a webhook's `url` must be an address like",
        ),
        (
            instead("https://${HOST}", "https://a:b@h"),
            ":3:7: a webhook's `url` has no user name",
        ),
        (
            instead("${HOST}", "${NOBODY}"),
            ":3:7: the environment variable NOBODY is not set",
        ),
        (instead(secret, ""), ":1:1: missing field `secret`"),
        (
            with("secret_file = \"/x\""),
            ":5:15: there are `secret` and `secret_file`",
        ),
        (
            instead(secret, "secret = \"short\""),
            ":4:10: the secret is shorter than 16 bytes",
        ),
        (
            instead(secret, "secret = \"whsec_*\""),
            ":4:10: what follows `whsec_` is not base64",
        ),
        (
            instead(secret, "secret_file = \"/no/such\""),
            ":4:15: the secret's file cannot be read",
        ),
        (
            with("ca_file = \"/no/such\""),
            ":5:11: the certificates cannot be read",
        ),
        (
            with("ca_file = \"/dev/null\""),
            ":5:11: the certificates cannot be read: there is none",
        ),
        (
            with("groups = [\"jobs\"]"),
            ":1:1: there is no group \"jobs\" in this file",
        ),
        (with("flags = [\"red\"]"), ":5:10: unknown variant `red`"),
        (
            with("acts = [\"dance\"]"),
            ":5:9: there is no act \"dance\"",
        ),
        (
            with("settle = \"soon\""),
            ":5:10: this is not a span of time",
        ),
        (
            format!("{USUAL}\n[[webhook]]\n{USUAL}"),
            ":5:1: the webhook \"pager\" is there twice",
        ),
        (
            instead("\"pager\"", "\"a b\""),
            ":2:8: a name has 1 to 64 letters",
        ),
        (with("colour = 1"), ":5:1: unknown field `colour`"),
    ] {
        let error = read(&webhook).unwrap_err();
        let wanted = format!("lockkeeper.toml{says}");
        assert!(error.starts_with(&wanted), "{error}\nand not\n{wanted}");
    }
}

#[test]
fn a_receiver_beyond_this_machine_is_not_spoken_to_unencrypted_without_a_word() {
    for (url, is_odd) in [
        ("http://hooks.example.org/x", true),
        ("http://10.0.0.5:8080/x", true),
        ("http://localhost:8080/x", false),
        ("http://127.0.0.1/x", false),
        ("http://[::1]:8080/x", false),
        ("https://hooks.example.org/x", false),
    ] {
        let webhook = USUAL.replace("https://${HOST}/hook", url);
        let warnings = read(&webhook).unwrap().warnings;
        assert_eq!(!warnings.is_empty(), is_odd, "{url}: {warnings:?}");
        for warning in warnings {
            let says = "lockkeeper.toml:1:1: webhook \"pager\": what is sent there crosses the network unencrypted";
            assert!(warning.starts_with(says), "{warning}");
        }
    }
}
