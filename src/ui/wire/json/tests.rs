//! What is read of JSON, compared with what `serde_json` makes of it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

/// Every shape that is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Shapes {
    text: String,
    more: Option<Box<Shapes>>,
    whole: u64,
    small: u32,
    signed: i64,
    is_set: bool,
    list: Vec<Option<String>>,
    pair: (u32, String),
    counts: BTreeMap<String, u32>,
    kind: Kind,
    #[serde(default)]
    left_out: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    NoValue,
    OneValue(String),
    TwoValues(u32, bool),
    Fields { a: i64 },
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::NoValue),
        any::<String>().prop_map(Kind::OneValue),
        any::<(u32, bool)>().prop_map(|(a, b)| Kind::TwoValues(a, b)),
        any::<i64>().prop_map(|a| Kind::Fields { a }),
    ]
}

fn shapes() -> impl Strategy<Value = Shapes> {
    let leaf = (
        any::<(String, u64, u32, i64, bool)>(),
        any::<Vec<Option<String>>>(),
        any::<BTreeMap<String, u32>>(),
        kinds(),
    );
    let leaf = leaf.prop_map(|(some, list, counts, kind)| {
        let (text, whole, small, signed, is_set) = some;
        Shapes {
            pair: (small, text.clone()),
            more: None,
            left_out: small,
            text,
            whole,
            small,
            signed,
            is_set,
            list,
            counts,
            kind,
        }
    });
    let leaf = leaf.boxed();
    (leaf.clone(), proptest::option::of(leaf)).prop_map(|(shapes, more)| Shapes {
        more: more.map(Box::new),
        ..shapes
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read_and_what_nobody_asks_for_is_passed_over(shapes in shapes()) {
        for text in [serde_json::to_string(&shapes).unwrap(), serde_json::to_string_pretty(&shapes).unwrap()] {
            prop_assert_eq!(read::<Shapes>(&text), Ok(shapes.clone()));
            let text = format!(r#"{{"unknown":[{text},{text}],"other":{text},{}"#, text.trim_start().strip_prefix('{').unwrap());
            prop_assert_eq!(read::<Shapes>(&text), Ok(shapes.clone()));
        }
    }

    #[test]
    fn nonsense_is_refused_and_breaks_nothing(text in any::<String>(), bytes in r#"[\[\]{}:,"\\untrfalse0-9.eE+ -]{0,40}"#) {
        for text in [&text, &bytes] {
            if read::<Shapes>(text).is_ok() {
                prop_assert!(serde_json::from_str::<Shapes>(text).is_ok(), "{}", text);
            }
            let _ends = (read::<Vec<String>>(text), read::<Vec<f64>>(text), read::<Option<bool>>(text));
        }
    }

    #[test]
    fn numbers_with_decimals_are_read_as_near_as_people_look(number in any::<f64>().prop_filter("a number", |number| number.is_normal() && number.abs() < 1e300 && number.abs() > 1e-280)) {
        let text = serde_json::to_string(&number).unwrap();
        let read = read::<f64>(&text).unwrap();
        prop_assert!(((read - number) / number).abs() < 1e-12, "{} {}", text, read);
    }
}

#[test]
fn escapes_are_read() {
    assert_eq!(
        read::<String>(r#" "a\"\\\/\b\f\n\r\té把\ud83d\ude00ü" "#).as_deref(),
        Ok("a\"\\/\u{8}\u{c}\n\r\té把😀ü")
    );
    for wrong in [
        r#""\ud83d""#,
        r#""\ude00x""#,
        r#""\u12""#,
        r#""\x""#,
        r#""\"#,
        r#"""#,
    ] {
        assert!(read::<String>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_not_all_of_it_or_more_is_refused() {
    for wrong in [
        "",
        "[1",
        "[1,]",
        "[1 2]",
        "[1] 2",
        "[,1]",
        "tru",
        "nul",
        "[true,tru]",
        "[1e999]",
        "[-]",
        "[--1]",
    ] {
        assert!(read::<Vec<f64>>(wrong).is_err(), "{wrong}");
    }
    assert!(read::<BTreeMap<String, u32>>(r#"{"a" 1}"#).is_err());
    assert!(read::<Vec<u32>>("[-1]").is_err());
    assert_eq!(
        read::<Vec<f64>>(" [ 1 , -2.5e1, 0.125 ] "),
        Ok(vec![1.0, -25.0, 0.125])
    );
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(
        read::<Shapes>(r#"{"text":"a"}"#).unwrap_err().to_string(),
        "a field is missing: whole"
    );
}
