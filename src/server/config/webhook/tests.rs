//! Valid `[[webhook]]` tables, and the error of each mistake.

use super::*;
use crate::domain::attention::AttentionReason;
use crate::server::config::{Config, parse};

const GROUP: &str = "[[group]]\nname = \"orders\"\nnode = [{ url = \"redis://h:1\" }]";
const MINIMAL: &str = "name = \"pager\"\nurl = \"https://${HOST}/hook\"\nsecret = \"${SECRET}\"";

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
fn a_webhook_has_defaults_that_can_be_overridden() {
    let minimal = &read(MINIMAL).unwrap().webhooks[0];
    assert_eq!(minimal.name, "pager");
    assert_eq!(minimal.url.expose(), "https://hooks.example.org/hook");
    assert_eq!(minimal.secret.as_ref().unwrap().expose().len(), 24);
    assert_eq!(minimal.flags, WebhookConfig::DEFAULT_FLAGS);
    // The default has the flags for which a lock needs attention, and one more.
    let is_reason = |flag: &Flag| AttentionReason::of_flag(*flag).is_some();
    let other: Vec<&Flag> = minimal
        .flags
        .iter()
        .filter(|flag| !is_reason(flag))
        .collect();
    assert_eq!(other, [&Flag::AtRisk]);
    assert_eq!(
        (&minimal.operations[..], minimal.lost_locks),
        (
            &[
                OperationKind::ForceRelease,
                OperationKind::CompleteRelease,
                OperationKind::Reacquired
            ][..],
            true
        )
    );
    assert_eq!(minimal.groups, None);

    let overrides = "groups = [\"orders\"]\nflags = [\"split\"]\noperations = []\nlost_locks = false\nflag_delay = \"1m\"\nmax_age = \"2h\"";
    let overridden = &read(&format!("{MINIMAL}\n{overrides}")).unwrap().webhooks[0];
    assert_eq!(
        overridden.groups.as_deref(),
        Some(&["orders".to_owned()][..])
    );
    assert_eq!(overridden.flags, [Flag::Split]);
    assert!(overridden.operations.is_empty() && !overridden.lost_locks);
    assert_eq!(overridden.flag_delay, Duration::from_mins(1));
    assert_eq!(overridden.max_age, Duration::from_hours(2));
}

#[test]
fn debug_output_contains_neither_url_nor_secret() {
    let shown = format!("{:?}", read(MINIMAL).unwrap());
    assert!(shown.contains("pager"));
    assert!(
        !shown.contains("hooks.example.org") && !shown.contains("MfKQ9r8"),
        "{shown}"
    );
}

#[test]
fn every_error_has_its_position_and_says_what_to_do() {
    let with = |line: &str| format!("{MINIMAL}\n{line}");
    let instead = |old: &str, new: &str| MINIMAL.replace(old, new);
    let secret = "secret = \"${SECRET}\"";
    for (webhook, expected) in [
        (instead("https", "ftp"), ":3:7: invalid `url`"),
        (
            instead("https://${HOST}", "https://a:b@h"),
            ":3:7: `url` must not have a user name",
        ),
        (
            instead("${HOST}", "${MISSING}"),
            ":3:7: the environment variable MISSING is not set",
        ),
        (
            instead(secret, ""),
            ":1:1: `secret` is missing; add it, because every event is signed",
        ),
        (
            with("secret_file = \"/x\""),
            ":5:15: `secret` and `secret_file` are both set",
        ),
        (
            instead(secret, "secret = \"short\""),
            ":4:10: the secret is shorter than 16 bytes",
        ),
        (
            instead(secret, "secret = \"whsec_*\""),
            ":4:10: the part after `whsec_` is not base64",
        ),
        (
            instead(secret, "secret_file = \"/no/such\""),
            ":4:15: the secret file cannot be read",
        ),
        (
            with("ca_file = \"/no/such\""),
            ":5:11: cannot read CA certificates",
        ),
        (
            with("ca_file = \"/dev/null\""),
            ":5:11: cannot read CA certificates: the file contains none",
        ),
        (with("groups = [\"jobs\"]"), ":1:1: unknown group \"jobs\""),
        (with("flags = [\"red\"]"), ":5:10: unknown variant `red`"),
        (
            with("operations = [\"dance\"]"),
            ":5:15: unknown operation \"dance\"",
        ),
        (with("flag_delay = \"soon\""), ":5:14: invalid duration"),
        (
            format!("{MINIMAL}\n[[webhook]]\n{MINIMAL}"),
            ":5:1: duplicate webhook \"pager\"",
        ),
        (instead("\"pager\"", "\"a b\""), ":2:8: invalid name"),
        (with("colour = 1"), ":5:1: unknown field `colour`"),
    ] {
        let error = read(&webhook).unwrap_err();
        let expected = format!("lockkeeper.toml{expected}");
        assert!(error.starts_with(&expected), "{error}\nand not\n{expected}");
    }
}

#[test]
fn an_unencrypted_receiver_on_another_machine_leads_to_a_warning() {
    for (url, has_warning) in [
        ("http://hooks.example.org/x", true),
        ("http://10.0.0.5:8080/x", true),
        ("http://localhost:8080/x", false),
        ("http://127.0.0.1/x", false),
        ("http://[::1]:8080/x", false),
        ("https://hooks.example.org/x", false),
    ] {
        let webhook = MINIMAL.replace("https://${HOST}/hook", url);
        let warnings = read(&webhook).unwrap().warnings;
        assert_eq!(!warnings.is_empty(), has_warning, "{url}: {warnings:?}");
        for warning in warnings {
            let expected =
                "lockkeeper.toml:1:1: webhook \"pager\": the data crosses the network unencrypted";
            assert!(warning.starts_with(expected), "{warning}");
        }
    }
}

#[test]
fn each_format_has_its_own_secret_and_events() {
    let table = |rest: &str| {
        let table = format!("name = \"pager\"\nurl = \"https://${{HOST}}/hook\"\n{rest}");
        read(&table).map(|config| config.webhooks[0].clone())
    };
    let key = "secret = \"${SECRET}\"";
    let slack = table("format = \"slack\"").unwrap();
    assert_eq!((slack.format, slack.secret), (WebhookFormat::Slack, None));
    let pagerduty = table(&format!("format = \"pagerduty\"\n{key}")).unwrap();
    assert_eq!(pagerduty.operations, []);
    for (rest, problem) in [
        ("", "`secret` is missing"),
        ("format = \"pagerduty\"", "integration key"),
        (&format!("format = \"slack\"\n{key}"), "remove it"),
        (
            &format!("format = \"pagerduty\"\n{key}\naudit_head = true"),
            "flags and lost locks only",
        ),
        (
            &format!("format = \"pagerduty\"\n{key}\noperations = [\"acquire\"]"),
            "flags and lost locks only",
        ),
        ("format = \"teams\"", "unknown variant `teams`"),
        (
            &format!("{key}\npublic_url = \"locks.example.org\""),
            "invalid `public_url`",
        ),
    ] {
        let error = table(rest).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}
