//! Nothing that only looks like a lock passes: one test for each kind of thing that does.

use super::testing::{format, hash, members, seen, set, string, told, zset};
use super::*;

const TOKEN: &str = "de0643ec94ee19182e5d96ac99871f9e";
const UUID: &str = "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05";

fn is_refused_whatever_it_holds(name: &str) {
    for value in ["1", "1795200545", TOKEN] {
        for ttl in [Some(1_000), None] {
            let sighting = string(name, value, ttl);
            assert_eq!(recognise(&sighting, true), None, "{name} = {value}");
        }
    }
}

#[test]
fn companions_belong_to_their_locks() {
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
        is_refused_whatever_it_holds(name);
    }
    let owner = format!("{UUID}:87");
    let queue = seen(
        "redisson_lock_queue:{order:42}",
        Value::List(members(&[&owner])),
        None,
    );
    assert_eq!(recognise(&queue, true), None);
    let timeouts = zset("redisson_lock_timeout:{lock}", &[(&owner, 2e12)], None);
    assert_eq!(recognise(&timeouts, true), None);
}

#[test]
fn throttles_and_marks_of_time_are_nobodys() {
    for name in [
        "bull:mail:stalled-check",
        "rq:clean_registries:default",
        "rq:scheduler_lock",
        "symfony_check_support_time",
        "lock-symfony_check_support_time",
        "login.lock:timer",
    ] {
        is_refused_whatever_it_holds(name);
    }
}

#[test]
fn marks_of_uniqueness_are_shown_for_what_they_are() {
    use crate::domain::library::Meaning;
    for (name, value) in [
        ("gitlab:exclusive_lease:el:throttle:a", UUID),
        ("laravel_unique_job:Mail:7", "Yk941JgLndDdI9Ec"),
        ("qo_mail_to-7", "88a4914ee51011f19df302fc00000001"),
        ("asynq:{default}:unique:mail:7", UUID),
        ("activejob_uniqueness:mail:7", UUID),
    ] {
        let (format, ..) = told(&string(name, value, 9_000)).unwrap();
        assert_eq!(format.library().meaning, Meaning::Once, "{name}");
    }
}

#[test]
fn sessions_are_not_locks_and_the_lock_of_a_session_is() {
    for name in [
        "PHPREDIS_SESSION:abc123",
        "spring:session:sessions:lock",
        "sess:lock:1",
    ] {
        is_refused_whatever_it_holds(name);
    }
    let lock = string("PHPREDIS_SESSION:abc123_LOCK", "vm|17171", 60_000);
    assert_eq!(told(&lock).unwrap().0, Format::PhpredisSession);
}

#[test]
fn rate_limiters_are_not_locks() {
    for (name, value) in [
        ("rate:login:7", "17"),
        ("login:7:timer", "1795200545"),
        ("rate:lock:7:timer", "1795200545"),
    ] {
        assert_eq!(
            recognise(&string(name, value, 60_000), true),
            None,
            "{name}"
        );
    }
    let stamps = zset(
        "lock:rate",
        &[("1795200485556", 1_795_200_485_556.0)],
        60_000,
    );
    assert_eq!(recognise(&stamps, true), None);
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
    assert_eq!(
        recognise(&seen("lock:a", Value::TooLarge, 1_000), true),
        None
    );
}

#[test]
fn laravels_serialised_strings_need_the_name_of_a_lock() {
    let value = "s:16:\"Zb1kM5c0P7mJr8xw\";";
    assert_eq!(
        format(&string("laravel-cache-lock:a", value, 10_000)),
        Some((Format::Laravel, Confidence::Likely))
    );
    let entry = string("laravel-cache-greeting", value, 10_000);
    assert_eq!(recognise(&entry, true), None);
}

#[test]
fn ids_of_jobs_and_requests_are_not_locks() {
    assert_eq!(told(&string("idempotency:7", UUID, 60_000)), None);
    assert_eq!(told(&string("api-token:7", UUID, 60_000)), None);
    assert_eq!(told(&string("job:7", UUID, None)), None);
    // Shapes that libraries do write are kept apart until a name or a pin speaks for them.
    for value in ["8m0GHkYkjgOHbLYwpNksuy", "Yk941JgLndDdI9Ec"] {
        let (_, confidence) = format(&string("api-token:7", value, 60_000)).unwrap();
        assert_eq!(confidence, Confidence::Possible);
        assert_eq!(told(&string("api-token:7", value, None)), None);
    }
}

#[test]
fn semaphores_counters_and_latches_are_bare_numbers() {
    for value in ["1", "0", "-3", "42", "100000", "true", "on", "null"] {
        let named = |name: &str, ttl: Option<u64>| string(name, value, ttl);
        for (name, ttl) in [("rate:login:7", Some(60_000)), ("lock:attempts", None)] {
            assert_eq!(recognise(&named(name, ttl), true), None, "{name} = {value}");
        }
        assert_eq!(
            format(&named("lock:import", Some(60_000))),
            Some((Format::Plain, Confidence::Likely)),
            "{value}"
        );
    }
}

#[test]
fn leaders_are_shown_as_what_they_are() {
    use crate::domain::library::{Hazard, Meaning};
    let n8n = string("n8n:main_instance_leader", "main-1", 10_000);
    let library = told(&n8n).unwrap().0.library();
    assert_eq!(library.meaning, Meaning::Leader);
    assert!(library.hazards.contains(&Hazard::ComesBack));
}

#[test]
fn hashes_of_figures_are_not_locks() {
    let visits = hash("lock:visits", &[(UUID, "17"), ("total", "40")], None);
    assert_eq!(recognise(&visits, true), None);
    let owner = format!("{UUID}:87");
    let figures = hash("visits", &[(&owner, "1")], None);
    assert_eq!(recognise(&figures, true), None, "no TTL, no name");
}

#[test]
fn other_types_are_not_locks() {
    let stream = Value::Other {
        type_name: "stream".into(),
    };
    assert_eq!(recognise(&seen("lock:a", stream, 1_000), true), None);
    assert_eq!(recognise(&set("lock:a", &["7"], 1_000), true), None);
    let list = Value::List(members(&[TOKEN]));
    assert_eq!(recognise(&seen("lock:a", list, 1_000), true), None);
}
