//! Audit files with arbitrary content.

use proptest::prelude::*;

const HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A line that resembles an audit entry.
pub fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0_u64..9, any::<u64>()];
    let body = prop_oneof![
        r#""kind":"(begin|end)","id":"[a-f0-9]{12}-[0-9]{1,3}","action":"(acquire|release|dance)","actor":"\\PC{0,8}","group":"orders","key":"a","started_at":"(2026-11-22T01:00:00Z|never)""#,
        r#""kind":"[a-z]{0,6}","id":"\\PC{0,8}""#,
        "\\PC{0,60}",
    ];
    let hash_value = prop_oneof![Just(HASH.to_owned()), "[0-9a-f]{60,66}"];
    let line = (number, body, hash_value.clone(), hash_value).prop_map(
        |(number, body, previous, hash)| {
            format!(r#"{{"seq":{number},{body},"previous_hash":"{previous}","hash":"{hash}"}}"#)
                .into_bytes()
        },
    );
    let text = prop_oneof![
        4 => line,
        1 => proptest::collection::vec(any::<u8>(), 0..300),
    ];
    (text, proptest::bool::weighted(0.9)).prop_map(|(mut text, ends_with_newline)| {
        if ends_with_newline {
            text.push(b'\n');
        }
        text
    })
}
