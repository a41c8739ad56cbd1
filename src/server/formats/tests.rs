//! The recognisers together: what the operator says goes first, nothing panics, no token gets into a label.

use proptest::prelude::*;
use strum::VariantArray as _;

use super::testing::{hash, set, string, zset};
use super::*;
use crate::domain::{LockKey, Timestamp};
use crate::server::config::Pin;
use crate::server::sighting::{Companion, Ttl};

#[test]
fn every_format_has_one_recogniser_or_none_at_all() {
    for &format in Format::VARIANTS {
        let recognisers = TELLING
            .iter()
            .chain(&SHAPES)
            .filter(|known| known.formats.contains(&format));
        let expected = match format {
            // A sorted set, and a string before version 5.2.
            Format::Symfony => 2,
            _ => usize::from(!PINNED_ONLY.contains(&format)),
        };
        assert_eq!(recognisers.count(), expected, "{format}");
    }
}

fn naming<'a>(pins: &'a [Pin], ignore: &'a [String]) -> Naming<'a> {
    Naming {
        keys: &[],
        is_explicit: false,
        pins,
        ignore,
    }
}

fn pin(pattern: &str, format: Format) -> Pin {
    Pin {
        pattern: pattern.into(),
        format,
    }
}

#[test]
fn a_pinned_string_is_a_lock_of_that_format_whatever_token_it_has() {
    let pins = [
        pin("orders:paid:*", Format::Plain),
        pin("orders:*", Format::RedisPy),
        pin("slots:*", Format::RedissonSemaphore),
    ];
    let told = |key: &str, value: &str| {
        let lock = recognise_named(&string(key, value, None), naming(&pins, &[]))?;
        assert_eq!(lock.owners[0].owner.format, lock.format);
        Some((lock.format, lock.confidence))
    };
    assert_eq!(
        told("orders:7", "worker-1"),
        Some((Format::RedisPy, Confidence::Sure))
    );
    assert_eq!(
        told("orders:7", "{\"by\":\"worker-1\"}"),
        Some((Format::RedisPy, Confidence::Sure)),
        "whatever it looks like"
    );
    assert_eq!(
        told("orders:paid:7", "worker-1"),
        Some((Format::Plain, Confidence::Sure)),
        "the first pin decides"
    );
    assert_eq!(
        told("slots:7", "3"),
        Some((Format::RedissonSemaphore, Confidence::Sure))
    );
    assert_eq!(told("orders:7", ""), None);
    assert_eq!(told("other:7", "worker-1"), None);
}

#[test]
fn a_pinned_key_of_another_structure_is_no_lock() {
    let owner = "6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87";
    let pins = [
        pin("fair:*", Format::RedissonFair),
        pin("spring:*", Format::SpringIntegration),
    ];
    let told = |sighting: Sighting| {
        let lock = recognise_named(&sighting, naming(&pins, &[]))?;
        Some((lock.format, lock.owners[0].owner.label.clone()))
    };
    assert_eq!(
        told(hash("fair:a", &[(owner, "1")], 9_000)),
        Some((Format::RedissonFair, Some("6d1f0c3e thread 87".into())))
    );
    assert_eq!(told(string("fair:a", "token", 9_000)), None);
    assert_eq!(told(hash("spring:a", &[(owner, "1")], 9_000)), None);
    assert_eq!(
        told(string("spring:a", &owner[..36], 9_000)),
        Some((Format::SpringIntegration, None))
    );
}

#[test]
fn what_the_operator_ignores_is_no_lock_even_if_pinned() {
    let pins = [pin("lock:*", Format::Plain)];
    let ignore = ["lock:ui:*".to_owned()];
    let seen = |key: &str| recognise_named(&string(key, "x", 9_000), naming(&pins, &ignore));
    assert!(seen("lock:a").is_some());
    assert_eq!(seen("lock:ui:a"), None);
    let fence = string("lockkeeper:fence:{a}", "7", 9_000);
    let all = [pin("*", Format::Plain)];
    assert_eq!(recognise_named(&fence, naming(&all, &[])), None);
}

#[test]
fn the_bytes_of_an_owner_do_not_show_in_debug_output() {
    let lock = recognise(&string("lock:a", "s3cr3t-t0k3n", 1_000), false).unwrap();
    assert!(!format!("{lock:?}").contains("s3cr3t"));
    for sighting in [
        set("a", &["s3cr3t"], None),
        zset("a", &[("s3cr3t", 1.0)], None),
        hash("a", &[("s3cr3t", "s3cr3t")], None).beside("b", Value::List(vec![b"s3cr3t".into()])),
    ] {
        assert!(!format!("{sighting:?}").contains("s3cr3t"));
    }
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..140)
}

/// What owners look like, more or less.
fn any_owner() -> impl Strategy<Value = Vec<u8>> {
    let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
    let shaped = format!(
        "{uuid}(:[0-9]{{1,20}}|_[0-9]|-x_?|:)?|[0-9a-f]{{24}}|[a-z]{{0,3}}_[0-9]{{1,9}}_[0-9a-f]{{32}}|[A-Za-z0-9+/]{{43}}=|mode|__write__"
    );
    let shaped = proptest::string::string_regex(&shaped).unwrap();
    prop_oneof![shaped.prop_map(String::into_bytes), any_bytes()]
}

fn any_value() -> impl Strategy<Value = Value> {
    let texts = "[0-9a-f]{32}|[0-9]{10}(\\.[0-9]{0,4})?|ADDED:[0-9TZ:.@-]{0,60}|lockkeeper:.{0,50}|[A-Za-z0-9+/]{22}==|.{0,60}";
    prop_oneof![
        any_owner().prop_map(Value::Text),
        texts.prop_map(|text| Value::Text(text.into_bytes())),
        proptest::collection::vec((any_owner(), any_owner()), 0..4).prop_map(Value::Hash),
        proptest::collection::vec((any_owner(), "[0-9]{1,3}"), 0..4).prop_map(|fields| {
            Value::Hash(
                fields
                    .into_iter()
                    .map(|(field, count)| (field, count.into()))
                    .collect(),
            )
        }),
        proptest::collection::vec(any_owner(), 0..4).prop_map(Value::Set),
        proptest::collection::vec(any_owner(), 0..4).prop_map(Value::List),
        proptest::collection::vec((any_owner(), any::<f64>()), 0..4).prop_map(Value::SortedSet),
        Just(Value::TooLarge),
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
    fn whatever_the_bytes_nothing_panics(
        key in any_key(),
        value in any_value(),
        beside in proptest::option::of(any_value()),
        ttl in proptest::option::of(any::<u64>()),
        now in any::<i64>(),
        named_by_operator in any::<bool>(),
        format in proptest::sample::select(Format::VARIANTS.to_vec()),
    ) {
        let ttl = ttl.map_or(Ttl::Never, Ttl::Ms);
        let mut sighting = Sighting::alone(key, value, ttl, Timestamp::from_millis(now));
        if let Some(value) = beside {
            for key in companions_of(&sighting) {
                sighting.companions.push(Companion { key, value: value.clone(), ttl });
            }
        }
        let pins = [pin("*", format)];
        for lock in [recognise(&sighting, named_by_operator), recognise_named(&sighting, naming(&pins, &[]))] {
            let Some(lock) = lock else { continue };
            prop_assert!(!lock.owners.is_empty());
            for seen in &lock.owners {
                prop_assert_eq!(seen.owner.format, lock.format);
                prop_assert_eq!(&seen.owner.fingerprint, &seen.bytes.fingerprint());
            }
        }
    }

    #[test]
    fn random_tokens_of_any_alphabet_get_no_label(token in "[A-Za-z0-9]{16,64}|[0-9a-f]{12,64}|[A-Za-z0-9_-]{43}") {
        let lock = recognise(&string("lock:a", token.as_str(), 1_000), false);
        prop_assert_eq!(lock.and_then(|lock| lock.owners[0].owner.label.clone()), None);
    }
}
