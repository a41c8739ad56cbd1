//! Tests of the search language.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn lock() -> Lock {
    let owner = json!({"fingerprint": "d3c19a0b77e04fd2", "label": "web-3 thread 87", "format": "redisson"});
    serde_json::from_value(json!({
        "group": "orders", "key": "lock:invoice:1842", "format": "redisson", "confidence": "sure", "mode": "exclusive",
        "verdict": "held", "flags": ["at-risk"], "owner": owner, "owners": [owner],
        "expires_at": NOW.plus_millis(4_000), "lease_ms": 4_000, "acquired_at": NOW.plus_millis(-660_000),
        "acquired_at_source": "first-seen", "observed_at": NOW,
        "nodes": [
            {"node": "a", "outcome": "holds", "owner": owner, "lease_ms": 4_000, "expires_at": NOW.plus_millis(4_000)},
            {"node": "b", "outcome": "absent"},
        ],
        "renewals": {"count": 0, "source": "feed"}, "evidence": [],
    }))
    .unwrap()
}

fn parse(text: &str) -> SearchQuery {
    text.parse().unwrap()
}

#[test]
fn every_term_must_hold() {
    for (text, matches) in [
        ("", true),
        ("group:orders verdict:held", true),
        ("group:ord*", true),
        ("group:jobs,orders", true),
        ("group:jobs", false),
        ("verdict:split,held flag:at-risk", true),
        ("-verdict:held", false),
        ("-verdict:split", true),
        ("VERDICT:Held", true),
        ("format:redisson owner:WEB-3", true),
        ("owner:d3c1", true),
        ("owner:api", false),
        ("held>10m", true),
        ("held>11m", false),
        ("held<1h", true),
        ("held>=600", true),
        ("lease<5s", true),
        ("lease<4000ms", false),
        ("lease:none", false),
        ("-lease:none", true),
        ("key:lock:invoice:*", true),
        ("key:invoice", true),
        ("key:invoice:*", false),
        ("prefix:lock:invoice:", true),
        ("prefix:lock:", false),
        ("prefix:\"\"", false),
        ("host:web-3", true),
        ("host:web", false),
        ("-host:\"\"", true),
        ("node:a", true),
        ("node:b", false),
        ("is:attention", false),
        ("invoice", true),
        ("lock:invoice:18", true),
        ("lock:*:1842", true),
        ("invoice*", false),
        ("\"thread 87\"", true),
        ("thread 87", true),
        ("\"87 thread\"", false),
        ("87 thread", true),
        ("-", true),
        ("-invoice", false),
        ("nonsense:held", false),
    ] {
        assert_eq!(parse(text).matches(&lock(), NOW), matches, "{text}");
    }
}

#[test]
fn an_error_has_a_position_and_a_suggestion() {
    for (text, expected) in [
        (
            "é verdict:fre",
            "at character 11: `fre` is not a valid verdict; use one of held, partial, split, unknown",
        ),
        (
            "verdict:held,fre",
            "at character 14: `fre` is not a valid verdict; use one of held, partial, split, unknown",
        ),
        (
            "group:",
            "at character 7: `group` has no value; write `group:orders`",
        ),
        (
            "flag:split,",
            "at character 12: `flag` has no value; write `flag:at-risk`",
        ),
        (
            "held>soon",
            "at character 6: `soon` is not a duration; write `held>10m`, with the unit ms, s, m, h or d",
        ),
        (
            "lease:5s",
            "at character 7: `lease` needs `<` or `>`; write `lease<5s`",
        ),
        (
            "group>5",
            "at character 7: `group` does not support `<` and `>`; write `group:orders`",
        ),
        ("a \"b", "at character 3: the quotation mark is not closed"),
    ] {
        let error = text.parse::<SearchQuery>().unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn a_search_is_formatted_as_it_was_parsed() {
    for (text, printed) in [
        ("  GROUP:orders   held>600s ", "group:orders held>10m"),
        ("held<90s", "held<90s"),
        ("lease>1h30m", "lease>90m"),
        ("owner:\"a b\" -\"held>3\"", "owner:\"a b\" -\"held>3\""),
        ("group:\"a,b\"", "group:\"a,b\""),
        ("\"a\"b", "a b"),
        ("--x", "-\"-x\""),
    ] {
        assert_eq!(parse(text).to_string(), printed, "{text}");
    }
    assert_eq!(parse("a group:b c").without_term(1).to_string(), "a c");
    let text = Predicate::Text("verdict:x*".to_owned());
    let search = SearchQuery::default().with_term(text);
    assert_eq!(search.to_string(), "\"verdict:x*\"");
}

#[test]
fn incomplete_terms_are_ignored() {
    for (text, expected) in [
        ("group:orders verdict:fre x", "group:orders x"),
        ("verdict:", ""),
        ("a \"b c", "a c"),
        ("lease:5s held>10m", "held>10m"),
    ] {
        assert_eq!(
            SearchQuery::parse_lenient(text).to_string(),
            expected,
            "{text}"
        );
    }
}

fn suggestions(text: &str) -> Vec<String> {
    let known = CompletionSource {
        groups: vec!["orders".into(), "my jobs".into()],
        nodes: vec!["a".into()],
        formats: vec!["redisson".into()],
        owners: vec!["web-3".into()],
    };
    complete(text, text.len(), &known).suggestions
}

#[test]
fn a_word_is_completed_with_fields_and_observed_names() {
    assert_eq!(suggestions("ver"), ["verdict:"]);
    assert_eq!(suggestions("a -ver"), ["-verdict:"]);
    assert_eq!(suggestions("verdict:s"), ["verdict:split"]);
    assert_eq!(suggestions("verdict:held,sp"), ["verdict:held,split"]);
    assert_eq!(suggestions("group:"), ["group:orders", "group:\"my jobs\""]);
    assert_eq!(suggestions("reds"), [""; 0]);
    assert_eq!(suggestions("redi"), ["format:redisson"]);
    assert_eq!(suggestions("spl"), ["verdict:split", "flag:split"]);
    assert_eq!(suggestions("lock:inv"), [""; 0]);
    assert_eq!(suggestions("\"gro"), [""; 0]);
    assert_eq!(suggestions("x ").len(), MAX_SUGGESTIONS);
    let text = "a ver b";
    let completion = complete(text, 5, &CompletionSource::default());
    assert_eq!(
        completion.apply(text, "verdict:"),
        ("a verdict:b".into(), 10)
    );
    assert_eq!(
        completion.apply(text, "is:attention"),
        ("a is:attention b".into(), 15)
    );
}

const MAX_SUGGESTIONS: usize = 8;

proptest! {
    #[test]
    fn no_input_panics(text in "\\PC{0,40}", cursor in 0..50_usize) {
        let _ = text.parse::<SearchQuery>();
        let _ = complete(&text, cursor, &CompletionSource::default());
    }

    #[test]
    fn printing_is_stable(words in proptest::collection::vec(
        prop_oneof![
            Just("group:a,b".to_owned()), Just("-held>3m".to_owned()), Just("lease:none".to_owned()),
            Just("\"x \\\" y\"".to_owned()), Just("flag:split,at-risk".to_owned()), "[-\"a-z:*,<> \\\\]{0,8}", "\\PC{0,6}",
        ], 0..6)) {
        let text = words.join(" ");
        if let Ok(search) = text.parse::<SearchQuery>() {
            let printed = search.to_string();
            prop_assert_eq!(printed.parse::<SearchQuery>(), Ok(search), "{}", printed);
        }
    }
}
