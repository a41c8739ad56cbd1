//! What a search lets through, and what is said of one that is wrong.

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
        "acquired_at_is": "first-seen", "observed_at": NOW,
        "nodes": [
            {"node": "a", "outcome": "holds", "owner": owner, "lease_ms": 4_000, "expires_at": NOW.plus_millis(4_000)},
            {"node": "b", "outcome": "absent"},
        ],
        "renewals": {"count": 0, "source": "feed"}, "evidence": [],
    }))
    .unwrap()
}

fn read(text: &str) -> Search {
    text.parse().unwrap()
}

#[test]
fn every_term_must_hold() {
    for (text, admits) in [
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
        assert_eq!(read(text).admits(&lock(), NOW), admits, "{text}");
    }
}

#[test]
fn an_error_points_at_the_place_and_says_what_would_be_right() {
    for (text, told) in [
        (
            "é verdict:fre",
            "at character 11: `fre` is no verdict; it is one of held, partial, split, unknown",
        ),
        (
            "verdict:held,fre",
            "at character 14: `fre` is no verdict; it is one of held, partial, split, unknown",
        ),
        (
            "group:",
            "at character 7: nothing stands behind `group`; write `group:orders`",
        ),
        (
            "flag:split,",
            "at character 12: nothing stands behind `flag`; write `flag:at-risk`",
        ),
        (
            "held>soon",
            "at character 6: `soon` is no span of time; write `held>10m`, with ms, s, m, h or d",
        ),
        (
            "lease:5s",
            "at character 7: `lease` is compared; write `lease<5s`",
        ),
        (
            "group>5",
            "at character 7: `group` is not compared; write `group:orders`",
        ),
        (
            "a \"b",
            "at character 3: a quotation mark opens here and is not closed",
        ),
    ] {
        let error = text.parse::<Search>().unwrap_err();
        assert_eq!(error.to_string(), told, "{text}");
    }
}

#[test]
fn what_is_written_is_what_was_read() {
    for (text, printed) in [
        ("  GROUP:orders   held>600s ", "group:orders held>10m"),
        ("held<90s", "held<90s"),
        ("lease>1h30m", "lease>90m"),
        ("owner:\"a b\" -\"held>3\"", "owner:\"a b\" -\"held>3\""),
        ("group:\"a,b\"", "group:\"a,b\""),
        ("\"a\"b", "a b"),
        ("--x", "-\"-x\""),
    ] {
        assert_eq!(read(text).to_string(), printed, "{text}");
    }
    assert_eq!(read("a group:b c").without(1).to_string(), "a c");
    let text = Ask::Text("verdict:x*".to_owned());
    let search = Search::default().with(text);
    assert_eq!(search.to_string(), "\"verdict:x*\"");
}

#[test]
fn what_is_still_being_written_narrows_nothing() {
    for (text, understood) in [
        ("group:orders verdict:fre x", "group:orders x"),
        ("verdict:", ""),
        ("a \"b c", "a c"),
        ("lease:5s held>10m", "held>10m"),
    ] {
        assert_eq!(Search::understood(text).to_string(), understood, "{text}");
    }
}

fn offers(text: &str) -> Vec<String> {
    let known = Known {
        groups: vec!["orders".into(), "my jobs".into()],
        nodes: vec!["a".into()],
        formats: vec!["redisson".into()],
        owners: vec!["web-3".into()],
    };
    complete(text, text.len(), &known).offers
}

#[test]
fn a_word_is_completed_by_fields_and_by_what_was_seen() {
    assert_eq!(offers("ver"), ["verdict:"]);
    assert_eq!(offers("a -ver"), ["-verdict:"]);
    assert_eq!(offers("verdict:s"), ["verdict:split"]);
    assert_eq!(offers("verdict:held,sp"), ["verdict:held,split"]);
    assert_eq!(offers("group:"), ["group:orders", "group:\"my jobs\""]);
    assert_eq!(offers("reds"), [""; 0]);
    assert_eq!(offers("redi"), ["format:redisson"]);
    assert_eq!(offers("spl"), ["verdict:split", "flag:split"]);
    assert_eq!(offers("lock:inv"), [""; 0]);
    assert_eq!(offers("\"gro"), [""; 0]);
    assert_eq!(offers("x ").len(), MOST_SHOWN);
    let text = "a ver b";
    let completion = complete(text, 5, &Known::default());
    assert_eq!(
        completion.take(text, "verdict:"),
        ("a verdict:b".into(), 10)
    );
    assert_eq!(
        completion.take(text, "is:attention"),
        ("a is:attention b".into(), 15)
    );
}

const MOST_SHOWN: usize = 8;

proptest! {
    #[test]
    fn nothing_that_is_typed_breaks_it(text in "\\PC{0,40}", cursor in 0..50_usize) {
        let _ = text.parse::<Search>();
        let _ = complete(&text, cursor, &Known::default());
    }

    #[test]
    fn printing_is_stable(words in proptest::collection::vec(
        prop_oneof![
            Just("group:a,b".to_owned()), Just("-held>3m".to_owned()), Just("lease:none".to_owned()),
            Just("\"x \\\" y\"".to_owned()), Just("flag:split,at-risk".to_owned()), "[-\"a-z:*,<> \\\\]{0,8}", "\\PC{0,6}",
        ], 0..6)) {
        let text = words.join(" ");
        if let Ok(search) = text.parse::<Search>() {
            let printed = search.to_string();
            prop_assert_eq!(printed.parse::<Search>(), Ok(search), "{}", printed);
        }
    }
}
