//! The recognisers together: nothing that only looks like a lock passes, nothing panics, no token gets into a label.

use proptest::prelude::*;

use super::testing::{hash, seen, string};
use super::*;
use crate::domain::LockKey;

#[test]
fn every_format_has_one_recogniser() {
    for format in Format::ALL {
        let recognisers = RECOGNISERS.iter().filter(|(known, _)| *known == format);
        // A fair lock's hash is any Redisson lock's; its queue, while there is one, is a key of its own.
        let expected = usize::from(format != Format::RedissonFair);
        assert_eq!(recognisers.count(), expected, "{format}");
    }
}

#[test]
fn what_only_looks_like_a_lock_is_refused_by_its_name() {
    let token = "de0643ec94ee19182e5d96ac99871f9e";
    let names = [
        "redisson_unlock_latch:{order:42}:0123456789abcdef0123456789abcdef",
        "{order:42}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:1",
        "redisson_lock_queue:{order:42}",
        "redisson_lock_timeout:{order:42}",
        "redisson_lock_token:{order:42}",
        "lock-signal:prl",
        "bull:mail:stalled-check",
        "rq:clean_registries:default",
        "rq:scheduler_lock",
        "symfony_check_support_time",
        "PHPREDIS_SESSION:abc123",
        "spring:session:sessions:lock",
        "sess:lock:1",
        "login.lock:timer",
    ];
    for name in names {
        for value in ["1", "1795200545", token] {
            for ttl in [Some(1_000), None] {
                assert_eq!(
                    recognise(&string(name, value, ttl), true),
                    None,
                    "{name} = {value}"
                );
            }
        }
    }
}

#[test]
fn cached_values_are_refused_even_under_the_name_of_a_lock() {
    let values: [&[u8]; 16] = [
        b"{\"user\":7}",
        b"{}",
        b"[1,2]",
        b"[{\"cut\":\"off",
        b" {\"a\":1}\n",
        b"\"quoted\"",
        b"a:1:{s:4:\"user\";i:7;}",
        b"O:8:\"stdClass\":0:{}",
        b"s:5:\"hello\";",
        b"i:7;",
        b"N;",
        b"\x80\x04\x95\x0a\x00\x00\x00\x00\x00\x00\x00\x8c\x05owner\x94.",
        b"\x80\x05K\x01.",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        b"\x28\xb5\x2f\xfd\x04\x00",
        b"",
    ];
    for value in values {
        for ttl in [Some(1_000), None] {
            assert_eq!(
                recognise(&string("lock:a", value, ttl), true),
                None,
                "{}",
                value.escape_ascii()
            );
        }
    }
}

#[test]
fn a_bare_number_is_a_lock_only_with_a_ttl_under_the_name_of_one() {
    for value in ["1", "0", "-3", "42", "100000", "true", "on", "null"] {
        assert_eq!(
            recognise(&string("rate:login:7", value, 60_000), true),
            None,
            "{value}"
        );
        assert_eq!(
            recognise(&string("lock:attempts", value, None), true),
            None,
            "{value}"
        );
        assert_eq!(
            recognise(&string("lock:import", value, 60_000), false)
                .unwrap()
                .format,
            Format::Plain,
            "{value}"
        );
    }
    let limiter = string("rate:login:7", "1795200545", 60_000);
    assert_eq!(recognise(&limiter, true), None);
}

#[test]
fn laravel_serialises_its_token_and_that_is_a_lock_under_the_name_of_one() {
    let value = "s:16:\"Zb1kM5c0P7mJr8xw\";";
    assert_eq!(
        recognise(&string("laravel-cache-lock:a", value, 10_000), false)
            .unwrap()
            .format,
        Format::Plain
    );
    assert_eq!(
        recognise(&string("laravel-cache-greeting", value, 10_000), true),
        None
    );
}

#[test]
fn job_ids_api_tokens_and_other_types_are_not_locks() {
    let uuid = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";
    assert_eq!(
        recognise(&string("idempotency:7", uuid, 60_000), false),
        None
    );
    assert_eq!(
        recognise(
            &string("PHPREDIS_SESSION:abc123_LOCK", "vm|17171", 60_000),
            false
        )
        .unwrap()
        .format,
        Format::Plain
    );
    assert_eq!(
        recognise(
            &hash("lock:visits", &[(uuid, "17"), ("total", "40")], None),
            true
        ),
        None
    );
    assert_eq!(
        recognise(&seen("lock:a", Value::TooLarge, 1_000), true),
        None
    );
    assert_eq!(
        recognise(
            &seen(
                "lock:a",
                Value::Other {
                    type_name: "zset".into()
                },
                1_000
            ),
            true
        ),
        None
    );
}

#[test]
fn the_bytes_of_an_owner_do_not_show_in_debug_output() {
    let lock = recognise(&string("lock:a", "s3cr3t-t0k3n", 1_000), false).unwrap();
    assert!(!format!("{lock:?}").contains("s3cr3t"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..140);
    prop_oneof![
        bytes().prop_map(Value::Text),
        "[0-9a-f]{32}|[0-9]{10}(\\.[0-9]{0,4})?|ADDED:[0-9TZ:.@-]{0,60}|lockkeeper:.{0,50}|[A-Za-z0-9+/]{22}==|.{0,60}"
            .prop_map(|text| Value::Text(text.into_bytes())),
        proptest::collection::vec((bytes(), bytes()), 0..4).prop_map(Value::Hash),
        Just(Value::TooLarge),
    ]
}

proptest! {
    #[test]
    fn whatever_the_bytes_nothing_panics(
        key in proptest::collection::vec(any::<u8>(), 0..40),
        named_like_a_lock in any::<bool>(),
        value in any_value(),
        ttl in proptest::option::of(any::<u64>()),
        now in any::<i64>(),
        named_by_operator in any::<bool>(),
    ) {
        let key = if named_like_a_lock { LockKey::from("lock:a") } else { LockKey::new(key) };
        let ttl = ttl.map_or(Ttl::Never, Ttl::Ms);
        let sighting = Sighting { key, value, ttl, seen_at: Timestamp::from_millis(now) };
        if let Some(lock) = recognise(&sighting, named_by_operator) {
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
