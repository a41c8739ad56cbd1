//! What a recogniser finds: format, owners with their secret bytes, lease.

use data_encoding::HEXLOWER;

use super::shapes;
use crate::domain::{Confidence, Fingerprint, Format, Lease, Mode, Owner, Timestamp};
use crate::server::sighting::{Sighting, Ttl, Value};

/// A key that was recognised as a lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognised {
    /// Which library's layout it has.
    pub format: Format,
    /// How sure that is.
    pub confidence: Confidence,
    /// One owner at a time, or several.
    pub mode: Mode,
    /// Who holds it: at least one.
    pub owners: Vec<SeenOwner>,
    /// Until when, on this node. From the value where the format keeps the time there.
    pub lease: Lease,
    /// When the owner says it asked for the lock, where the format carries a time.
    pub claimed_at: Option<Timestamp>,
    /// How many wait for it, where the format keeps them on the node.
    pub waiting: Option<u32>,
    /// Several such locks together may turn out to be a registry's: a plain one whose owner is a UUID.
    pub may_be_of_a_registry: bool,
}

/// An owner with its secret bytes, inside the server only.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenOwner {
    /// The bytes that prove ownership to the library.
    pub bytes: OwnerBytes,
    /// What everybody may see.
    pub owner: Owner,
    /// Until when it has the lock, where the value says so of each owner.
    pub until: Option<Lease>,
}

/// The bytes that an owner wrote: a credential. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnerBytes(Vec<u8>);

impl OwnerBytes {
    /// Wraps the bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves: for comparing on a node only.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// What people see of them.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.0)
    }
}

impl std::fmt::Debug for OwnerBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnerBytes(…)")
    }
}

/// The first 16 hex digits of SHA-256 over an owner's bytes.
pub fn fingerprint(bytes: &[u8]) -> Fingerprint {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(bytes);
    Fingerprint::parse(&HEXLOWER.encode(&digest[..8])).expect("8 bytes are 16 hex digits")
}

impl Recognised {
    /// An exclusive lock whose owner's bytes are the whole value, with the key's own TTL as the lease.
    pub(super) fn by_value(
        format: Format,
        sighting: &Sighting,
        value: &[u8],
        label: Option<String>,
    ) -> Self {
        Self::of_owners(format, sighting, vec![SeenOwner::new(format, value, label)])
    }

    /// An exclusive lock with these owners, with the key's own TTL as the lease.
    pub(super) fn of_owners(format: Format, sighting: &Sighting, owners: Vec<SeenOwner>) -> Self {
        Self {
            format,
            confidence: Confidence::Sure,
            mode: Mode::Exclusive,
            owners,
            lease: key_lease(sighting),
            claimed_at: None,
            waiting: None,
            may_be_of_a_registry: false,
        }
    }

    /// A shared lock of members that each have a deadline of their own, in milliseconds since 1970. Those past it are
    /// no owners any more; nothing where none is left. The lease is the last one's.
    ///
    /// The deadlines are by a clock that is so many milliseconds ahead of ours. Of clients' clocks nothing is known: ours stands
    /// in for them.
    pub(super) fn of_deadlines<'a>(
        format: Format,
        sighting: &Sighting,
        ahead_ms: i64,
        members: impl Iterator<Item = (&'a [u8], Option<String>, i64)>,
    ) -> Option<Self> {
        let mut last = None;
        let mut owners = Vec::new();
        for (bytes, label, until) in members {
            let until = until.saturating_sub(ahead_ms);
            if until > sighting.seen_at.millis() {
                last = last.max(Some(until));
                let lease = Lease::until(Timestamp::from_millis(until), sighting.seen_at);
                owners.push(SeenOwner::new(format, bytes, label).until(lease));
            }
        }
        let until = Timestamp::from_millis(last?);
        Some(Self {
            mode: Mode::Shared,
            lease: Lease::until(until, sighting.seen_at),
            ..Self::of_owners(format, sighting, owners)
        })
    }

    /// The same, asked for at `moment` by the owner's own account.
    pub(super) fn claimed_at(self, moment: Timestamp) -> Self {
        Self {
            claimed_at: Some(moment),
            ..self
        }
    }

    /// The same, that sure.
    pub(super) fn with(self, confidence: Confidence) -> Self {
        Self { confidence, ..self }
    }

    /// The same, held by several at once.
    pub(super) fn shared(self) -> Self {
        Self {
            mode: Mode::Shared,
            ..self
        }
    }

    /// The same as a lock of another format: somebody who knows said so.
    pub fn of_format(mut self, format: Format) -> Self {
        self.format = format;
        self.confidence = Confidence::Sure;
        for seen in &mut self.owners {
            seen.owner.format = format;
        }
        self
    }
}

impl SeenOwner {
    /// The owner with these bytes.
    pub(super) fn new(format: Format, bytes: &[u8], label: Option<String>) -> Self {
        let bytes = OwnerBytes::new(bytes);
        let owner = Owner {
            fingerprint: bytes.fingerprint(),
            label,
            format,
            holds: None,
        };
        Self {
            bytes,
            owner,
            until: None,
        }
    }

    /// The same, who has it until then.
    pub(super) fn until(self, lease: Lease) -> Self {
        Self {
            until: Some(lease),
            ..self
        }
    }
}

/// The lease that the key's TTL gives.
pub(super) fn key_lease(sighting: &Sighting) -> Lease {
    match sighting.ttl {
        Ttl::Ms(left) => {
            let left = i64::try_from(left).unwrap_or(i64::MAX);
            Lease::until(sighting.seen_at.plus_millis(left), sighting.seen_at)
        }
        Ttl::Never => Lease::Never,
    }
}

/// The value of a string key; nothing for every other type.
pub(super) fn text(sighting: &Sighting) -> Option<&[u8]> {
    match &sighting.value {
        Value::Text(bytes) => Some(bytes),
        Value::Hash(_)
        | Value::Set(_)
        | Value::SortedSet(_)
        | Value::List(_)
        | Value::TooLarge
        | Value::Other { .. } => None,
    }
}

/// The fields of a hash that has any; nothing for every other key.
pub(super) fn fields(sighting: &Sighting) -> Option<&[(Vec<u8>, Vec<u8>)]> {
    match &sighting.value {
        Value::Hash(fields) if !fields.is_empty() => Some(fields),
        Value::Hash(_)
        | Value::Text(_)
        | Value::Set(_)
        | Value::SortedSet(_)
        | Value::List(_)
        | Value::TooLarge
        | Value::Other { .. } => None,
    }
}

/// The members of a sorted set that has any, with their scores; nothing for every other key.
pub(super) fn scores(sighting: &Sighting) -> Option<&[(Vec<u8>, f64)]> {
    match &sighting.value {
        Value::SortedSet(members) if !members.is_empty() => Some(members),
        Value::SortedSet(_)
        | Value::Text(_)
        | Value::Hash(_)
        | Value::Set(_)
        | Value::List(_)
        | Value::TooLarge
        | Value::Other { .. } => None,
    }
}

/// Whether the key goes away by itself.
pub(super) fn has_ttl(sighting: &Sighting) -> bool {
    match sighting.ttl {
        Ttl::Ms(_) => true,
        Ttl::Never => false,
    }
}

/// A host that is no secret, or nothing.
pub(super) fn host(bytes: &[u8]) -> Option<String> {
    shapes::is_host(bytes)
        .then(|| shapes::readable(bytes).map(str::to_owned))
        .flatten()
}
