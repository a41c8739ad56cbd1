//! Tests of all detectors: configured patterns take precedence, no input panics, and labels contain
//! no tokens.

use proptest::prelude::*;
use strum::VariantArray as _;

use super::testing::{hash, set, string, zset};
use super::*;
use crate::domain::{LockKey, Timestamp};
use crate::server::config::FormatOverride;
use crate::server::stores::redis::key_state::{Companion, Ttl};

#[test]
fn every_format_has_one_detector_unless_it_needs_an_override_or_has_two_structures() {
    for &format in Format::VARIANTS {
        let detectors = DISTINCTIVE_DETECTORS
            .iter()
            .chain(&TOKEN_SHAPE_DETECTORS)
            .filter(|detector| detector.formats.contains(&format));
        let expected = match format {
            // A sorted set, and before version 5.2 a string.
            Format::Symfony => 2,
            // The stores of other services detect theirs.
            _ if !format.is_in_redis() => 0,
            _ => usize::from(!OVERRIDE_ONLY.contains(&format)),
        };
        assert_eq!(detectors.count(), expected, "{format}");
    }
}

fn patterns<'a>(overrides: &'a [FormatOverride], exclude: &'a [String]) -> KeyPatterns<'a> {
    KeyPatterns {
        keys: &[],
        keys_are_explicit: false,
        format_overrides: overrides,
        exclude,
        excluded_prefixes: None,
    }
}

fn format_override(pattern: &str, format: Format) -> FormatOverride {
    FormatOverride {
        pattern: pattern.into(),
        format,
    }
}

#[test]
fn a_string_with_a_format_override_is_a_lock_of_that_format() {
    let overrides = [
        format_override("orders:paid:*", Format::Plain),
        format_override("orders:*", Format::RedisPy),
        format_override("slots:*", Format::RedissonSemaphore),
    ];
    let describe = |key: &str, value: &str| {
        let lock = detect_with_patterns(&string(key, value, None), patterns(&overrides, &[]))?;
        assert_eq!(lock.owners[0].owner.format, lock.format);
        Some((lock.format, lock.confidence))
    };
    assert_eq!(
        describe("orders:7", "worker-1"),
        Some((Format::RedisPy, Confidence::Sure))
    );
    assert_eq!(
        describe("orders:7", "{\"by\":\"worker-1\"}"),
        Some((Format::RedisPy, Confidence::Sure)),
        "even if it looks like JSON"
    );
    assert_eq!(
        describe("orders:paid:7", "worker-1"),
        Some((Format::Plain, Confidence::Sure)),
        "the first matching override applies"
    );
    assert_eq!(
        describe("slots:7", "3"),
        Some((Format::RedissonSemaphore, Confidence::Sure))
    );
    assert_eq!(describe("orders:7", ""), None);
    assert_eq!(describe("other:7", "worker-1"), None);
}

#[test]
fn a_format_override_for_another_structure_does_not_match() {
    let owner = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    let overrides = [
        format_override("fair:*", Format::RedissonFair),
        format_override("spring:*", Format::SpringIntegration),
    ];
    let describe = |state: KeyState| {
        let lock = detect_with_patterns(&state, patterns(&overrides, &[]))?;
        Some((lock.format, lock.owners[0].owner.label.clone()))
    };
    assert_eq!(
        describe(hash("fair:a", &[(owner, "1")], 9_000)),
        Some((Format::RedissonFair, Some("6d1f0c3e thread 87".into())))
    );
    assert_eq!(describe(string("fair:a", "token", 9_000)), None);
    assert_eq!(describe(hash("spring:a", &[(owner, "1")], 9_000)), None);
    assert_eq!(
        describe(string("spring:a", &owner[..36], 9_000)),
        Some((Format::SpringIntegration, None))
    );
}

#[test]
fn exclusions_take_precedence_over_format_overrides() {
    let overrides = [format_override("lock:*", Format::Plain)];
    let exclude = ["lock:ui:*".to_owned()];
    let detected =
        |key: &str| detect_with_patterns(&string(key, "x", 9_000), patterns(&overrides, &exclude));
    assert!(detected("lock:a").is_some());
    assert_eq!(detected("lock:ui:a"), None);
    let fence = string("lockkeeper:fence:{a}", "7", 9_000);
    let all = [format_override("*", Format::Plain)];
    assert_eq!(detect_with_patterns(&fence, patterns(&all, &[])), None);
}

#[test]
fn owner_bytes_are_not_in_debug_output() {
    let lock = detect(&string("lock:a", "s3cr3t-t0k3n", 1_000), false).unwrap();
    assert!(!format!("{lock:?}").contains("s3cr3t"));
    for state in [
        set("a", &["s3cr3t"], None),
        zset("a", &[("s3cr3t", 1.0)], None),
        hash("a", &[("s3cr3t", "s3cr3t")], None)
            .with_companion("b", RedisValue::List(vec![b"s3cr3t".into()])),
    ] {
        assert!(!format!("{state:?}").contains("s3cr3t"));
    }
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..140)
}

/// Values that resemble owners.
fn any_owner() -> impl Strategy<Value = Vec<u8>> {
    let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
    let shaped = format!(
        "{uuid}(:[0-9]{{1,20}}|_[0-9]|-x_?|:)?|[0-9a-f]{{24}}|[a-z]{{0,3}}_[0-9]{{1,9}}_[0-9a-f]{{32}}|[A-Za-z0-9+/]{{43}}=|mode|__write__"
    );
    let shaped = proptest::string::string_regex(&shaped).unwrap();
    prop_oneof![shaped.prop_map(String::into_bytes), any_bytes()]
}

fn any_value() -> impl Strategy<Value = RedisValue> {
    let texts = "[0-9a-f]{32}|[0-9]{10}(\\.[0-9]{0,4})?|ADDED:[0-9TZ:.@-]{0,60}|lockkeeper:.{0,50}|[A-Za-z0-9+/]{22}==|.{0,60}";
    prop_oneof![
        any_owner().prop_map(RedisValue::Text),
        texts.prop_map(|text| RedisValue::Text(text.into_bytes())),
        proptest::collection::vec((any_owner(), any_owner()), 0..4).prop_map(RedisValue::Hash),
        proptest::collection::vec((any_owner(), "[0-9]{1,3}"), 0..4).prop_map(|fields| {
            RedisValue::Hash(
                fields
                    .into_iter()
                    .map(|(field, count)| (field, count.into()))
                    .collect(),
            )
        }),
        proptest::collection::vec(any_owner(), 0..4).prop_map(RedisValue::Set),
        proptest::collection::vec(any_owner(), 0..4).prop_map(RedisValue::List),
        proptest::collection::vec((any_owner(), any::<f64>()), 0..4)
            .prop_map(RedisValue::SortedSet),
        Just(RedisValue::TooLarge),
    ]
}

fn any_key() -> impl Strategy<Value = LockKey> {
    let names = [
        "lock:a",
        "a.readers",
        "a.writer",
        "{a}:timeout",
        "semaphore:a",
        "mutex:a",
        "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:LOCKED",
        "SEMAPHORE:a:GRABBED",
        "huey.results.app",
        "bull:a:1:lock",
        "a_LOCK",
        "redislock",
        "lock",
    ];
    prop_oneof![
        proptest::sample::select(names.to_vec()).prop_map(LockKey::from),
        any_bytes().prop_map(LockKey::new),
    ]
}

proptest! {
    #[test]
    fn no_input_panics(
        key in any_key(),
        value in any_value(),
        companion_value in proptest::option::of(any_value()),
        ttl in proptest::option::of(any::<u64>()),
        now in any::<i64>(),
        matches_explicit_keys in any::<bool>(),
        format in proptest::sample::select(Format::VARIANTS.to_vec()),
    ) {
        let ttl = ttl.map_or(Ttl::Never, Ttl::Ms);
        let mut state = KeyState::without_companions(key, value, ttl, Timestamp::from_millis(now));
        if let Some(value) = companion_value {
            for key in companion_keys(&state) {
                state.companions.push(Companion { key, value: value.clone(), ttl });
            }
        }
        let overrides = [format_override("*", format)];
        for lock in [detect(&state, matches_explicit_keys), detect_with_patterns(&state, patterns(&overrides, &[]))] {
            let Some(lock) = lock else { continue };
            prop_assert!(!lock.owners.is_empty());
            for detected in &lock.owners {
                prop_assert_eq!(detected.owner.format, lock.format);
                prop_assert_eq!(&detected.owner.fingerprint, &detected.bytes.fingerprint());
            }
        }
    }

    #[test]
    fn random_tokens_have_no_label(token in "[A-Za-z0-9]{16,64}|[0-9a-f]{12,64}|[A-Za-z0-9_-]{43}") {
        let lock = detect(&string("lock:a", token.as_str(), 1_000), false);
        prop_assert_eq!(lock.and_then(|lock| lock.owners[0].owner.label.clone()), None);
    }
}
