//! Tests of the prefixes in memory.

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn record_lock(prefixes: &LockPrefixes, name: &str) {
    prefixes.record_lock(&name.into(), Format::Plain, PrefixSource::Scan, at(1));
}

fn set(prefixes: &LockPrefixes, prefix: &str, state: PrefixState) {
    let settings = PrefixSettings { state, name: None };
    let change = settings_change(&prefix.into(), settings, "ada", at(2));
    prefixes.apply_settings(&change).unwrap();
}

#[test]
fn a_name_with_the_prefix_of_a_lock_is_followed() {
    let prefixes = LockPrefixes::default();
    record_lock(&prefixes, "orders:42");
    record_lock(&prefixes, "pdf-generation");
    for (name, is_followed) in [
        ("orders:43", true),
        ("orders:7:print", true),
        ("carts:42", false),
        ("pdf-import", false),
    ] {
        assert_eq!(prefixes.is_followed(name.as_bytes()), is_followed, "{name}");
    }
}

#[test]
fn a_prefix_with_many_other_names_is_not_followed_unless_it_is_pinned() {
    let prefixes = LockPrefixes::default();
    record_lock(&prefixes, "orders:1");
    for n in 0..OTHERS_ALLOWED + OTHERS_ALLOWED_PER_LOCK {
        prefixes.record_other(&format!("orders:cached:{n}").as_str().into());
        prefixes.record_other(&format!("orders:{n}").as_str().into());
    }
    assert!(prefixes.is_followed(b"orders:2"));
    prefixes.record_other(&"orders:3".into());
    assert!(!prefixes.is_followed(b"orders:2"));
    record_lock(&prefixes, "orders:4");
    assert!(prefixes.is_followed(b"orders:2"), "locks are found again");
    for n in 0..1_000 {
        prefixes.record_other(&format!("orders:{n}").as_str().into());
    }
    assert!(!prefixes.is_followed(b"orders:2"));
    set(&prefixes, "orders:", PrefixState::Pinned);
    assert!(prefixes.is_followed(b"orders:2"));
}

#[test]
fn names_below_an_excluded_prefix_are_neither_followed_nor_counted() {
    let prefixes = LockPrefixes::default();
    record_lock(&prefixes, "orders:eu:1");
    let mut version = prefixes.subscribe();
    set(&prefixes, "orders:", PrefixState::Excluded);
    assert!(version.has_changed().unwrap());
    version.mark_unchanged();
    set(&prefixes, "orders:eu:", PrefixState::Pinned);
    prefixes.record_other(&"orders:eu:2".into());
    assert!(prefixes.is_excluded(b"orders:eu:1") && !prefixes.is_followed(b"orders:eu:1"));
    assert_eq!(prefixes.get(&"orders:eu:".into()).others, 0);
    set(&prefixes, "orders:", PrefixState::Learned);
    assert!(!prefixes.is_excluded(b"orders:eu:1") && prefixes.is_followed(b"orders:eu:1"));
    assert_eq!(prefixes.list().len(), 1, "nothing is known of the other");
}

#[test]
fn the_number_of_prefixes_is_bounded_and_a_pinned_one_stays() {
    let prefixes = LockPrefixes::default();
    for n in 0..=MAX_PREFIXES {
        record_lock(&prefixes, &format!("p{n}x:1"));
    }
    let last = format!("p{MAX_PREFIXES}x:2");
    assert!(prefixes.is_followed(b"p0x:2"));
    assert!(!prefixes.is_followed(last.as_bytes()));
    set(&prefixes, "p0x:", PrefixState::Pinned);
    let day_after_next = at(2 * 86_400);
    for n in MAX_PREFIXES..3 * MAX_PREFIXES {
        let name = format!("p{n}x:1");
        let key = LockKey::from(name.as_str());
        prefixes.record_lock(&key, Format::Plain, PrefixSource::Scan, day_after_next);
    }
    assert_eq!(prefixes.list().len(), MAX_PREFIXES);
    assert!(prefixes.is_followed(b"p0x:2"), "it is pinned");
    assert!(prefixes.is_followed(last.as_bytes()));
    assert!(!prefixes.is_followed(b"p1x:2"), "it was replaced");
    let key = LockKey::from("p1x:1");
    let next_week = at(9 * 86_400);
    prefixes.record_lock(&key, Format::Plain, PrefixSource::Scan, next_week);
    let evicted = prefixes.take_changes().evicted;
    assert_eq!(evicted.len(), MAX_PREFIXES - 1);
    assert!(!evicted.contains(&"p1x:".into()), "it was found again");
}

#[test]
fn an_admin_can_choose_a_prefix_until_all_places_are_taken_by_decisions() {
    let prefixes = LockPrefixes::default();
    for n in 0..MAX_PREFIXES {
        record_lock(&prefixes, &format!("p{n}x:1"));
    }
    for n in 0..MAX_PREFIXES {
        set(&prefixes, &format!("q{n}"), PrefixState::Pinned);
    }
    let change = settings_change(&"r".into(), PrefixSettings::default(), "ada", at(3));
    assert_eq!(prefixes.check_room(&"r".into()), Err(PrefixesFull));
    assert_eq!(prefixes.apply_settings(&change), Err(PrefixesFull));
    assert_eq!(prefixes.check_room(&"q7".into()), Ok(()));
}

#[test]
fn long_prefixes_are_not_learned_and_names_that_are_not_text_have_none() {
    let prefixes = LockPrefixes::default();
    record_lock(
        &prefixes,
        &format!("{}:1", "x".repeat(LockPrefix::MAX_BYTES)),
    );
    let binary = LockKey::new([0xff, b':', b'1']);
    prefixes.record_lock(&binary, Format::Plain, PrefixSource::Scan, at(1));
    assert_eq!(prefixes.list(), []);
    set(&prefixes, "\u{0}\n", PrefixState::Excluded);
    assert!(prefixes.is_excluded(b"\0\nx"));
}

#[test]
fn stored_prefixes_are_added_to_those_found_since_the_start() {
    let earlier = LockPrefixes::default();
    record_lock(&earlier, "orders:1");
    record_lock(&earlier, "carts:1");
    set(&earlier, "carts:", PrefixState::Excluded);
    let changes = earlier.take_changes();
    assert_eq!(changes.changed.len(), 2);
    assert_eq!(earlier.take_changes(), PrefixChanges::default());
    earlier.return_changes(changes.clone());
    assert_eq!(earlier.take_changes().changed.len(), 2);

    let prefixes = LockPrefixes::default();
    let key = LockKey::from("orders:2");
    prefixes.record_lock(&key, Format::Redsync, PrefixSource::Feed, at(60));
    assert!(!prefixes.is_loaded());
    prefixes.add_stored(changes.changed);
    assert!(prefixes.is_loaded() && prefixes.is_excluded(b"carts:2"));
    let orders = prefixes.get(&"orders:".into());
    assert_eq!(
        (orders.locks, orders.source, orders.first_seen_at),
        (2, PrefixSource::Scan, Some(at(1)))
    );
    assert_eq!(orders.last_seen_at, Some(at(60)));
    assert_eq!(orders.formats, [Format::Redsync, Format::Plain]);
}

#[test]
fn only_newer_decisions_of_other_consoles_are_adopted() {
    let prefixes = LockPrefixes::default();
    set(&prefixes, "orders:", PrefixState::Pinned);
    let decision = |state, seconds| {
        let settings = PrefixSettings { state, name: None };
        vec![settings_change(
            &"orders:".into(),
            settings,
            "bob",
            at(seconds),
        )]
    };
    prefixes.adopt_settings(decision(PrefixState::Excluded, 1));
    assert_eq!(prefixes.get(&"orders:".into()).state, PrefixState::Pinned);
    prefixes.adopt_settings(decision(PrefixState::Excluded, 3));
    let adopted = prefixes.get(&"orders:".into());
    assert_eq!(adopted.state, PrefixState::Excluded);
    assert_eq!(adopted.changed_by.as_deref(), Some("bob"));
}
