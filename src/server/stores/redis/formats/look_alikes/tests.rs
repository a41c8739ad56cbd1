//! Tests of keys that look like locks, one per kind.

use super::super::testing::{describe, format, hash, key_state, members, set, string, zset};
use super::super::*;

const TOKEN: &str = "de0643ec94ee19182e5d96ac99871f9e";
const UUID: &str = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";

fn assert_excluded_name(name: &str) {
    for value in ["1", "1795200545", TOKEN] {
        for ttl in [Some(1_000), None] {
            let state = string(name, value, ttl);
            assert_eq!(detect(&state, true), None, "{name} = {value}");
        }
    }
}

#[test]
fn companion_keys_are_not_locks() {
    for name in [
        "redisson_unlock_latch:{order:42}:0123456789abcdef0123456789abcdef",
        "{order:42}:6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:rwlock_timeout:1",
        "redisson_lock_queue:{order:42}",
        "redisson_lock_timeout:{order:42}",
        "redisson_lock_token:{order:42}",
        "lock-signal:prl",
        "uniquejobs:9f86d081884c7d659a2feaa0c55ad015",
        "uniquejobs:9f86d081884c7d659a2feaa0c55ad015:QUEUED",
        "SEMAPHORE:gpu:EXISTS",
    ] {
        assert_excluded_name(name);
    }
    let owner = format!("{UUID}:87");
    let queue = key_state(
        "redisson_lock_queue:{order:42}",
        RedisValue::List(members(&[&owner])),
        None,
    );
    assert_eq!(detect(&queue, true), None);
    let timeouts = zset("redisson_lock_timeout:{lock}", &[(&owner, 2e12)], None);
    assert_eq!(detect(&timeouts, true), None);
}

#[test]
fn throttles_and_timers_are_not_locks() {
    for name in [
        "bull:mail:stalled-check",
        "rq:clean_registries:default",
        "rq:scheduler_lock",
        "symfony_check_support_time",
        "lock-symfony_check_support_time",
        "login.lock:timer",
    ] {
        assert_excluded_name(name);
    }
}

#[test]
fn uniqueness_keys_have_the_purpose_deduplication() {
    use crate::domain::library::LockPurpose;
    for (name, value) in [
        ("gitlab:exclusive_lease:el:throttle:a", UUID),
        ("laravel_unique_job:Mail:7", "Yk941JgLndDdI9Ec"),
        ("qo_mail_to-7", "88a4914ee51011f19df302fc00000001"),
        ("asynq:{default}:unique:mail:7", UUID),
        ("activejob_uniqueness:mail:7", UUID),
    ] {
        let (format, ..) = describe(&string(name, value, 9_000)).unwrap();
        assert_eq!(
            format.library().purpose,
            LockPurpose::Deduplication,
            "{name}"
        );
    }
}

#[test]
fn a_session_is_not_a_lock_but_its_lock_is() {
    for name in [
        "PHPREDIS_SESSION:abc123",
        "spring:session:sessions:lock",
        "sess:lock:1",
    ] {
        assert_excluded_name(name);
    }
    let lock = string("PHPREDIS_SESSION:abc123_LOCK", "vm|17171", 60_000);
    assert_eq!(describe(&lock).unwrap().0, Format::PhpredisSession);
}

#[test]
fn rate_limiters_are_not_locks() {
    for (name, value) in [
        ("rate:login:7", "17"),
        ("login:7:timer", "1795200545"),
        ("rate:lock:7:timer", "1795200545"),
    ] {
        assert_eq!(detect(&string(name, value, 60_000), true), None, "{name}");
    }
    let stamps = zset(
        "lock:rate",
        &[("1795200485556", 1_795_200_485_556.0)],
        60_000,
    );
    assert_eq!(detect(&stamps, true), None);
}

#[test]
fn cached_values_are_rejected_even_under_a_lock_like_name() {
    let values: [&[u8]; 22] = [
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
        // Flask-Caching 2.5.1.
        b"!\x80\x05\x95\n\x00\x00\x00\x00\x00\x00\x00\x8c\x06082177\x94.",
        // dogpile.cache 1.5.0.
        b"{\"ct\": 1795656057.156803, \"v\": 2}|\x80\x04\x95\n\x00\x00\x00\x00\x00\x00\x00\x8c\x06567097\x94.",
        // django-redis 7.0.0 with its compressors and serializers.
        b"x\x9ck`\x99\xca\xc5\x00\x01=l\xc6\xc6\x06f&&S\xf4\x00$C\x03\xac",
        b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F",
        b"\x82\xa1n\x0c\xa2is\xacxxxxxxxxxxxx",
        b"\x92\x93\r\xaasmart lock\xcb@3\xfdp\xa3\xd7\n=\x93\x0e\xa7padlock\xcb@#\x00\x00\x00\x00\x00\x00",
        b"",
    ];
    for value in values {
        for ttl in [Some(1_000), None] {
            assert_eq!(
                detect(&string("lock:a", value, ttl), true),
                None,
                "{}",
                value.escape_ascii()
            );
        }
    }
    assert_eq!(
        detect(&key_state("lock:a", RedisValue::TooLarge, 1_000), true),
        None
    );
}

#[test]
fn an_array_of_suo_is_a_lock_although_it_is_msgpack() {
    let value = [
        &b"\x91\x92\xcb\x41\xda\xc0\x10\x89\x63\x95\x81\xb8"[..],
        b"Zb1kM5c0P7mJr8xw3uVYHQ==",
    ];
    assert_eq!(
        format(&string("report", value.concat(), None)),
        Some((Format::Suo, Confidence::Likely))
    );
}

#[test]
fn serialised_strings_of_laravel_need_a_lock_like_name() {
    let value = "s:16:\"Zb1kM5c0P7mJr8xw\";";
    assert_eq!(
        format(&string("laravel-cache-lock:a", value, 10_000)),
        Some((Format::Laravel, Confidence::Likely))
    );
    let entry = string("laravel-cache-greeting", value, 10_000);
    assert_eq!(detect(&entry, true), None);
}

#[test]
fn ids_of_jobs_and_requests_are_not_locks() {
    assert_eq!(describe(&string("idempotency:7", UUID, 60_000)), None);
    assert_eq!(describe(&string("api-token:7", UUID, 60_000)), None);
    assert_eq!(describe(&string("job:7", UUID, None)), None);
    // Token shapes without a lock-like name are only possible locks.
    for value in ["8m0GHkYkjgOHbLYwpNksuy", "Yk941JgLndDdI9Ec"] {
        let (_, confidence) = format(&string("payouts:7", value, 60_000)).unwrap();
        assert_eq!(confidence, Confidence::Possible);
        assert_eq!(describe(&string("payouts:7", value, None)), None);
        assert_eq!(describe(&string("api-token:7", value, 60_000)), None);
    }
}

#[test]
fn a_random_value_that_expires_late_is_only_a_possible_lock() {
    let confidence = |ttl: u64| format(&string("payouts:7", TOKEN, ttl)).unwrap().1;
    assert_eq!(confidence(300_000), Confidence::Likely);
    assert_eq!(confidence(300_001), Confidence::Possible);
    let named = string("lock:payouts:7", TOKEN, 300_001);
    assert_eq!(format(&named).unwrap().1, Confidence::Sure);
}

#[test]
fn bare_numbers_are_locks_only_with_a_ttl_and_a_lock_like_name() {
    for value in ["1", "0", "-3", "42", "100000", "true", "on", "null"] {
        let named = |name: &str, ttl: Option<u64>| string(name, value, ttl);
        for (name, ttl) in [("rate:login:7", Some(60_000)), ("lock:attempts", None)] {
            assert_eq!(detect(&named(name, ttl), true), None, "{name} = {value}");
        }
        assert_eq!(
            format(&named("lock:import", Some(60_000))),
            Some((Format::Plain, Confidence::Likely)),
            "{value}"
        );
    }
}

#[test]
fn leader_keys_have_the_purpose_leader() {
    use crate::domain::library::{LockPurpose, ReleaseHazard};
    let n8n = string("n8n:main_instance_leader", "main-1", 10_000);
    let library = describe(&n8n).unwrap().0.library();
    assert_eq!(library.purpose, LockPurpose::Leader);
    assert!(library.hazards.contains(&ReleaseHazard::OwnerReacquires));
}

#[test]
fn hashes_of_counters_are_not_locks() {
    let visits = hash("lock:visits", &[(UUID, "17"), ("total", "40")], None);
    assert_eq!(detect(&visits, true), None);
    let owner = format!("{UUID}:87");
    let figures = hash("visits", &[(&owner, "1")], None);
    assert_eq!(detect(&figures, true), None, "no TTL, no name");
}

#[test]
fn other_types_are_not_locks() {
    let stream = RedisValue::Other {
        type_name: "stream".into(),
    };
    assert_eq!(detect(&key_state("lock:a", stream, 1_000), true), None);
    assert_eq!(detect(&set("lock:a", &["7"], 1_000), true), None);
    let list = RedisValue::List(members(&[TOKEN]));
    assert_eq!(detect(&key_state("lock:a", list, 1_000), true), None);
}
