//! Recognises locks in the keys of etcd. No I/O.
//!
//! ```text
//! jobs/nightly/1eeea209a75e8406            ""        lease 0x1eeea209a75e8406   mutex: clientv3, etcdctl lock, the lock service, jetcd
//! leader/scheduler/1eeea209a75e840b        "node-a"  lease 0x1eeea209a75e840b   election: clientv3, etcdctl elect
//! election/node/2228897027941368866        "a"       lease 2228897027941368866  election: npm etcd3
//! node-lock                                ""        lease                      npm etcd3
//! /locks/orders                            16 bytes  lease                      Python etcd3, etcd-sdk-python: a version 1 UUID
//! /locks/orders                            36 chars  lease                      Python etcd3gw: the same as text
//! shedlock:default:reports                 "ADDED:<time>@<host>"  lease         ShedLock
//! ```
//!
//! Mutexes and elections have one key per contender. The last part of the key is the key's own lease,
//! which no other data has. The contender with the lowest `create_revision` of *all* keys below the
//! name holds the lock: clientv3 does not ask whose key it is.

use super::client::{KeyValue, LeaseId};
use crate::domain::{Confidence, Format, Lease, Mode, Owner, Timestamp};
use crate::server::stores::{DetectedLock, DetectedOwner, OwnerBytes};

/// The name with which Python libraries begin the keys of their locks.
const PYTHON_PREFIX: &[u8] = b"/locks/";
/// The value of a contender of this console begins with this; the label follows.
pub const CONSOLE_VALUE_PREFIX: &str = "lockkeeper:";
/// The longest label, in characters.
const MAX_LABEL_CHARS: usize = 80;

/// A lock in a state of the keys: its holder, and the contenders that wait.
#[derive(Clone, Debug, PartialEq)]
pub struct RecognisedLock<'a> {
    /// The key that holds the lock.
    pub holder: &'a KeyValue,
    /// The contenders that wait, in order; not all if there are more than were read.
    pub waiters: &'a [KeyValue],
    /// The number of contenders that wait; `None` if the format does not store them.
    pub waiter_count: Option<u64>,
    /// The format.
    pub format: Format,
    confidence: Confidence,
    label: Option<String>,
    claimed_at: Option<Timestamp>,
}

/// How a contender writes its lease into its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseDigits {
    Hex,
    Decimal,
}

impl RecognisedLock<'_> {
    /// The lock as all stores report it.
    pub fn into_detected(self, lease: Lease) -> DetectedLock {
        let bytes = owner_bytes(self.holder);
        let owner = Owner {
            fingerprint: bytes.fingerprint(),
            label: self.label,
            format: self.format,
            hold_count: None,
        };
        DetectedLock {
            format: self.format,
            confidence: self.confidence,
            mode: Mode::Exclusive,
            owners: vec![DetectedOwner {
                bytes,
                owner,
                lease: None,
            }],
            lease,
            claimed_at: self.claimed_at,
            waiter_count: self
                .waiter_count
                .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            may_be_registry_lock: false,
        }
    }

    /// How certain it is that this is a lock.
    pub fn confidence(&self) -> Confidence {
        self.confidence
    }
}

/// What identifies one hold: no other key ever has the same name and `create_revision`.
pub fn owner_bytes(kv: &KeyValue) -> OwnerBytes {
    let mut bytes = format!("{}:", kv.create_revision).into_bytes();
    bytes.extend_from_slice(&kv.key);
    OwnerBytes::new(bytes)
}

/// The name of the lock that a key belongs to, if it is a contender or a lock by itself.
pub fn lock_name(kv: &KeyValue) -> Option<&[u8]> {
    match contender(kv) {
        Some((name, _)) => Some(name),
        None => single_key(kv).map(|_| kv.key.as_slice()),
    }
}

/// The name of the lock that a key with this lease is contending for.
pub fn contended_name(key: &[u8], lease: LeaseId) -> Option<&[u8]> {
    contender_of(key, lease).map(|(name, _)| name)
}

/// The names of the locks that a key without its value and lease may belong to: those whose contender
/// it may be, and its own.
pub fn possible_names(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (name, last) = split(key).unwrap_or((key, b""));
    let is_number = !last.is_empty() && last.len() <= 20 && last.iter().all(u8::is_ascii_hexdigit);
    [key].into_iter().chain(is_number.then_some(name))
}

/// The label of a contender.
pub fn label(kv: &KeyValue) -> Option<String> {
    let text = readable(&kv.value)?;
    let own = text.strip_prefix(CONSOLE_VALUE_PREFIX);
    Some(own.unwrap_or(text).to_owned()).filter(|label| !label.is_empty())
}

/// Finds the lock `name` in the keys that are below it, ordered by `create_revision`, and in the key
/// of that name. `below` may be the start of `below_count` keys.
pub fn held_lock<'a>(
    name: &[u8],
    own: Option<&'a KeyValue>,
    below: &'a [KeyValue],
    below_count: u64,
) -> Option<RecognisedLock<'a>> {
    queue(name, below, below_count).or_else(|| own.and_then(single_key))
}

/// A lock with one key per contender.
fn queue<'a>(name: &[u8], below: &'a [KeyValue], below_count: u64) -> Option<RecognisedLock<'a>> {
    let (holder, waiters) = below.split_first()?;
    let own_contender = |kv: &KeyValue| {
        contender(kv)
            .filter(|(of, _)| *of == name)
            .map(|(_, text)| text)
    };
    let lease_text = below.iter().find_map(own_contender)?;
    let is_contender = own_contender(holder).is_some();
    let format = match (lease_text, holder.value.is_empty() || is_of_console(holder)) {
        (LeaseDigits::Decimal, _) => Format::NodeEtcd3Election,
        (LeaseDigits::Hex, true) => Format::EtcdMutex,
        (LeaseDigits::Hex, false) => Format::EtcdElection,
    };
    Some(RecognisedLock {
        holder,
        waiters,
        waiter_count: Some(below_count.saturating_sub(1)),
        format,
        // Another key below the name, older than all contenders, blocks them. It may be anything,
        // so it is shown and not released.
        confidence: if is_contender {
            Confidence::Sure
        } else {
            Confidence::Possible
        },
        label: if is_contender {
            label(holder)
        } else {
            readable(&holder.key).map(|key| format!("blocked by the key {key}"))
        },
        claimed_at: None,
    })
}

/// The lock that a key is contending for: the last part of the key is its own lease.
fn contender(kv: &KeyValue) -> Option<(&[u8], LeaseDigits)> {
    contender_of(&kv.key, kv.lease)
}

fn contender_of(key: &[u8], lease: LeaseId) -> Option<(&[u8], LeaseDigits)> {
    let (name, last) = split(key)?;
    if name.is_empty() || lease.0 <= 0 {
        return None;
    }
    if last == lease.hex().as_bytes() {
        Some((name, LeaseDigits::Hex))
    } else if last == lease.0.to_string().as_bytes() {
        Some((name, LeaseDigits::Decimal))
    } else {
        None
    }
}

/// A lock that is one key. Keys without a lease are no locks.
fn single_key(kv: &KeyValue) -> Option<RecognisedLock<'_>> {
    if kv.lease.0 == 0 || contender(kv).is_some() {
        return None;
    }
    let lock = |format, confidence, label, claimed_at| RecognisedLock {
        holder: kv,
        waiters: &[],
        waiter_count: None,
        format,
        confidence,
        label,
        claimed_at,
    };
    // The libraries write these names; a UUID under another one can be an id.
    let by_name = if kv.key.starts_with(PYTHON_PREFIX) {
        Confidence::Sure
    } else {
        Confidence::Possible
    };
    if let Some((at, host)) = shedlock(&kv.value) {
        return Some(lock(
            Format::ShedLock,
            Confidence::Sure,
            readable(host).map(str::to_owned),
            Some(at),
        ));
    }
    if let Some(uuid) = uuid_of_16_bytes(&kv.value) {
        let label = hardware_address(&uuid);
        return Some(lock(Format::PythonEtcd3, by_name, label, None));
    }
    if let Some(uuid) = uuid_of_text(&kv.value) {
        let label = hardware_address(&uuid);
        return Some(lock(Format::Etcd3gw, by_name, label, None));
    }
    if kv.value.is_empty() {
        // A registration of a service can look the same.
        let confidence = if has_word_lock(&kv.key) {
            Confidence::Likely
        } else {
            Confidence::Possible
        };
        return Some(lock(Format::NodeEtcd3, confidence, None, None));
    }
    None
}

fn split(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = key.iter().rposition(|&byte| byte == b'/')?;
    Some((&key[..slash], &key[slash + 1..]))
}

fn is_of_console(kv: &KeyValue) -> bool {
    kv.value.starts_with(CONSOLE_VALUE_PREFIX.as_bytes())
}

fn has_word_lock(key: &[u8]) -> bool {
    let mut windows = key.windows(4);
    windows.any(|word| word.eq_ignore_ascii_case(b"lock"))
}

/// The time and the host of `ADDED:<time>@<host>`.
fn shedlock(value: &[u8]) -> Option<(Timestamp, &[u8])> {
    let rest = value.strip_prefix(b"ADDED:")?;
    let at = rest.iter().position(|&byte| byte == b'@')?;
    let time = std::str::from_utf8(&rest[..at]).ok()?;
    let time = Timestamp::try_from(time.to_owned()).ok()?;
    Some((time, &rest[at + 1..]))
}

/// A version 1 UUID in 16 bytes.
fn uuid_of_16_bytes(value: &[u8]) -> Option<[u8; 16]> {
    let uuid: [u8; 16] = value.try_into().ok()?;
    (uuid[6] >> 4 == 1 && uuid[8] >> 6 == 0b10).then_some(uuid)
}

/// A version 1 UUID as text: `50e6d890-e76b-11f1-97e3-02fc00000001`.
fn uuid_of_text(value: &[u8]) -> Option<[u8; 16]> {
    if value.len() != 36 || [8, 13, 18, 23].iter().any(|&dash| value[dash] != b'-') {
        return None;
    }
    let digits: Vec<u8> = value.iter().copied().filter(|&byte| byte != b'-').collect();
    uuid_of_16_bytes(&data_encoding::HEXLOWER.decode(&digits).ok()?)
}

/// The hardware address of the owner's host, which a version 1 UUID contains. The rest of the UUID is
/// the owner's token. A host without an address writes a random one, marked by a bit.
fn hardware_address(uuid: &[u8; 16]) -> Option<String> {
    let address = &uuid[10..];
    let is_random = address[0] & 1 == 1;
    let bytes: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    (!is_random).then(|| format!("MAC {}", bytes.join(":")))
}

/// Text that can be a label.
fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let is_short = text.chars().count() <= MAX_LABEL_CHARS;
    (!text.is_empty() && is_short && !text.chars().any(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::client::LeaseId;
    use super::*;

    fn kv(key: &str, value: impl AsRef<[u8]>, create_revision: i64, lease: i64) -> KeyValue {
        KeyValue {
            key: key.as_bytes().to_vec(),
            value: value.as_ref().to_vec(),
            create_revision,
            mod_revision: create_revision,
            lease: LeaseId(lease),
        }
    }

    fn of_one_key(kv: &KeyValue) -> Option<(Format, Confidence, Option<String>)> {
        let lock = held_lock(&kv.key, Some(kv), &[], 0)?;
        Some((lock.format, lock.confidence, lock.label))
    }

    /// Two contenders of `etcdctl lock`.
    fn contenders() -> [KeyValue; 2] {
        [
            kv(
                "jobs/nightly/1eeea209a75e8406",
                "",
                2,
                0x1eee_a209_a75e_8406,
            ),
            kv(
                "jobs/nightly/1eeea209a75e8409",
                "",
                4,
                0x1eee_a209_a75e_8409,
            ),
        ]
    }

    #[test]
    fn the_first_contender_holds_a_mutex_and_the_others_wait() {
        let below = contenders();
        let lock = held_lock(b"jobs/nightly", None, &below, 2).unwrap();
        assert_eq!(lock.format, Format::EtcdMutex);
        assert_eq!(lock.confidence, Confidence::Sure);
        assert_eq!((lock.holder, lock.waiters), (&below[0], &below[1..]));
        let detected = lock.into_detected(Lease::Session);
        assert_eq!(detected.waiter_count, Some(1));
        assert_eq!(detected.owners[0].owner.label, None);
        assert_eq!(lock_name(&below[1]), Some(b"jobs/nightly".as_slice()));
    }

    #[test]
    fn an_election_has_a_value() {
        let leader = kv(
            "leader/scheduler/1eeea209a75e840b",
            "node-a",
            3,
            0x1eee_a209_a75e_840b,
        );
        let below = [leader];
        let lock = held_lock(b"leader/scheduler", None, &below, 1).unwrap();
        assert_eq!(lock.format, Format::EtcdElection);
        assert_eq!(lock.label.as_deref(), Some("node-a"));
        let npm = [kv(
            "election/node-election/2228897027941368866",
            "candidate-a",
            9,
            2_228_897_027_941_368_866,
        )];
        let lock = held_lock(b"election/node-election", None, &npm, 1).unwrap();
        assert_eq!(lock.format, Format::NodeEtcd3Election);
        assert_eq!(lock.label.as_deref(), Some("candidate-a"));
    }

    #[test]
    fn a_mutex_of_this_console_has_a_label() {
        let below = [kv("jobs/a/ff", "lockkeeper:api-3", 2, 0xff)];
        let lock = held_lock(b"jobs/a", None, &below, 1).unwrap();
        assert_eq!(lock.format, Format::EtcdMutex);
        assert_eq!(lock.label.as_deref(), Some("api-3"));
    }

    #[test]
    fn an_older_key_below_the_name_blocks_the_contenders_and_is_not_released() {
        let [first, second] = contenders();
        let below = [kv("jobs/nightly/settings", "x", 1, 0), first, second];
        let lock = held_lock(b"jobs/nightly", None, &below, 3).unwrap();
        assert_eq!(lock.holder, &below[0]);
        assert_eq!(lock.confidence, Confidence::Possible);
        assert_eq!(lock.waiter_count, Some(2));
        assert_eq!(held_lock(b"jobs", None, &below, 3), None);
    }

    #[test]
    fn uuids_of_the_python_libraries_are_recognised() {
        let raw = data_encoding::HEXLOWER
            .decode(b"50e14664e76b11f1830b02fc00000001")
            .unwrap();
        let label = Some("MAC 02:fc:00:00:00:01".to_owned());
        assert_eq!(
            of_one_key(&kv("/locks/orders", &raw, 5, 7)),
            Some((Format::PythonEtcd3, Confidence::Sure, label.clone()))
        );
        let text = "50e6d890-e76b-11f1-97e3-02fc00000001";
        assert_eq!(
            of_one_key(&kv("/locks/gw-lock", text, 6, 8)),
            Some((Format::Etcd3gw, Confidence::Sure, label.clone()))
        );
        assert_eq!(
            of_one_key(&kv("sessions/7", text, 6, 8)),
            Some((Format::Etcd3gw, Confidence::Possible, label))
        );
        let version_4 = "50e6d890-e76b-41f1-97e3-02fc00000001";
        assert_eq!(of_one_key(&kv("/locks/a", version_4, 6, 8)), None);
    }

    #[test]
    fn an_empty_key_with_a_lease_may_be_a_lock_of_npm() {
        assert_eq!(
            of_one_key(&kv("node-lock", "", 5, 7)),
            Some((Format::NodeEtcd3, Confidence::Likely, None))
        );
        assert_eq!(
            of_one_key(&kv("members/db", "", 5, 7)),
            Some((Format::NodeEtcd3, Confidence::Possible, None))
        );
        assert_eq!(of_one_key(&kv("node-lock", "", 5, 0)), None);
        assert_eq!(of_one_key(&kv("services/a", "{}", 5, 7)), None);
    }

    #[test]
    fn shedlock_has_a_time_and_a_host() {
        let key = kv(
            "shedlock:default:reports",
            "ADDED:2026-11-20T18:40:00.123Z@worker-7d9f",
            5,
            7,
        );
        let lock = held_lock(&key.key, Some(&key), &[], 0).unwrap();
        assert_eq!(lock.format, Format::ShedLock);
        assert_eq!(lock.label.as_deref(), Some("worker-7d9f"));
        assert!(lock.claimed_at.is_some());
    }

    #[test]
    fn every_hold_has_its_own_fingerprint() {
        let [first, second] = contenders();
        let mut again = first.clone();
        again.create_revision += 1;
        let of = |kv: &KeyValue| owner_bytes(kv).fingerprint();
        assert_ne!(of(&first), of(&second));
        assert_ne!(of(&first), of(&again));
    }

    #[test]
    fn the_possible_names_of_a_deleted_key_are_its_own_and_its_queue() {
        let names: Vec<&[u8]> = possible_names(b"jobs/a/1eee").collect();
        assert_eq!(names, [b"jobs/a/1eee".as_slice(), b"jobs/a"]);
        assert_eq!(possible_names(b"jobs/a/settings").count(), 1);
    }
}
