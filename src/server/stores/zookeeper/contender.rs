//! The names of contenders: the children of a lock's directory. A name shows the library, what the
//! contender asks for, and its number in the queue.

use crate::domain::Format;

/// The number of digits that a server appends to the name of a sequential node.
const SEQUENCE_DIGITS: usize = 10;

/// The libraries whose contenders exclude each other. Contenders of different families in the same
/// directory do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Curator's mutex and `LeaderSelector`, and go-zk, which count the same names.
    CuratorLock,
    /// Curator's read-write lock.
    CuratorReadWrite,
    /// The leases of Curator's semaphores.
    CuratorLease,
    /// Curator's `LeaderLatch`.
    CuratorLatch,
    /// kazoo's locks, elections and read-write locks.
    Kazoo,
    /// The recipes of the ZooKeeper documentation.
    Recipe,
    /// Accumulo's `ServiceLock`.
    Accumulo,
}

/// What a contender asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It excludes all others.
    Exclusive,
    /// It excludes exclusive ones only.
    Shared,
}

/// The name of a contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The number that the server appended. Contenders are served in this order.
    pub sequence: i32,
    /// The name of the node.
    pub name: String,
    /// The libraries whose contenders it excludes.
    pub family: Family,
    /// What it asks for.
    pub claim: Claim,
    /// It is of go-zk, whose GUID has no dashes.
    pub is_go_zk: bool,
}

impl Contender {
    /// Recognises the name of a contender.
    pub fn parse(name: &str) -> Option<Self> {
        let (prefix, sequence) = split_sequence(name)?;
        let (family, claim, is_go_zk) = recognise(prefix)?;
        Some(Self {
            sequence,
            name: name.to_owned(),
            family,
            claim,
            is_go_zk,
        })
    }
}

impl Family {
    /// The format of locks with these contenders.
    pub fn format(self, contenders: &[Contender]) -> Format {
        match self {
            Self::CuratorLock if contenders.iter().all(|contender| contender.is_go_zk) => {
                Format::GoZk
            }
            Self::CuratorLock => Format::Curator,
            Self::CuratorReadWrite => Format::CuratorReadWrite,
            Self::CuratorLease => Format::CuratorSemaphore,
            Self::CuratorLatch => Format::CuratorLeaderLatch,
            Self::Kazoo if contenders.iter().any(|one| one.claim == Claim::Shared) => {
                Format::KazooReadWrite
            }
            Self::Kazoo => Format::Kazoo,
            Self::Recipe => Format::ZookeeperRecipe,
            Self::Accumulo => Format::EphemeralNode,
        }
    }
}

/// Splits off the number. It is a signed integer: after 2147483647 it continues with
/// -2147483648.
fn split_sequence(name: &str) -> Option<(&str, i32)> {
    let at = name.len().checked_sub(SEQUENCE_DIGITS)?;
    let (prefix, digits) = name.split_at_checked(at)?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // All names end with a dash or an underscore before the number, so a second dash is its sign.
    match prefix.strip_suffix('-') {
        Some(rest) if rest.ends_with(['-', '_']) => {
            Some((rest, i32::try_from(-digits.parse::<i64>().ok()?).ok()?))
        }
        Some(_) | None => Some((prefix, digits.parse().ok()?)),
    }
}

fn recognise(prefix: &str) -> Option<(Family, Claim, bool)> {
    if let Some(rest) = prefix.strip_prefix("_c_") {
        let (is_go_zk, kind) = match rest.split_at_checked(36) {
            Some((uuid, kind)) if is_uuid(uuid) => (false, kind),
            Some(_) | None => {
                let (guid, kind) = rest.split_at_checked(32)?;
                (is_hex(guid, 32).then_some(true)?, kind)
            }
        };
        let (family, claim) = match kind {
            "-lock-" => (Family::CuratorLock, Claim::Exclusive),
            "-__WRIT__" => (Family::CuratorReadWrite, Claim::Exclusive),
            "-__READ__" => (Family::CuratorReadWrite, Claim::Shared),
            "-lease-" => (Family::CuratorLease, Claim::Shared),
            "-latch-" => (Family::CuratorLatch, Claim::Exclusive),
            _ => return None,
        };
        return Some((family, claim, is_go_zk));
    }
    if let Some((id, kind)) = prefix.split_at_checked(32)
        && is_hex(id, 32)
    {
        return match kind {
            "__lock__" => Some((Family::Kazoo, Claim::Exclusive, false)),
            "__rlock__" => Some((Family::Kazoo, Claim::Shared, false)),
            _ => None,
        };
    }
    if let Some(uuid) = prefix.strip_prefix("zlock#") {
        return is_uuid(uuid.strip_suffix('#')?).then_some((
            Family::Accumulo,
            Claim::Exclusive,
            false,
        ));
    }
    let claim = match prefix {
        "lock-" | "write-" => Claim::Exclusive,
        "read-" => Claim::Shared,
        _ => {
            // The session id, in decimal from Java and in hexadecimal from C.
            let id = prefix.strip_prefix("x-")?.strip_suffix('-')?;
            let id = id.strip_prefix('-').unwrap_or(id);
            let is_id = (1..=20).contains(&id.len()) && id.bytes().all(|c| c.is_ascii_hexdigit());
            is_id.then_some(Claim::Exclusive)?
        }
    };
    Some((Family::Recipe, claim, false))
}

/// Whether the name is that of a lease of kazoo's semaphore, which has no number.
pub fn is_kazoo_lease(name: &str) -> bool {
    is_hex(name, 32)
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length
        && text
            .bytes()
            .all(|c| c.is_ascii_digit() || matches!(c, b'a'..=b'f'))
}

fn is_uuid(text: &str) -> bool {
    let is_part = |(part, length): (&str, usize)| is_hex(part, length);
    let lengths = [8, 4, 4, 4, 12];
    text.len() == 36 && text.split('-').count() == 5 && text.split('-').zip(lengths).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_names_are_recognised() {
        use Claim::{Exclusive, Shared};
        const UUID: &str = "9facbb75-2934-4067-8a15-201f46511f17";
        const HEX: &str = "06e5f14164eb4e07afed0be23349ec04";
        for (name, family, claim, format) in [
            (
                format!("_c_{UUID}-lock-0000000000"),
                Family::CuratorLock,
                Exclusive,
                Format::Curator,
            ),
            (
                format!("_c_{HEX}-lock-0000000007"),
                Family::CuratorLock,
                Exclusive,
                Format::GoZk,
            ),
            (
                format!("_c_{UUID}-__WRIT__0000000001"),
                Family::CuratorReadWrite,
                Exclusive,
                Format::CuratorReadWrite,
            ),
            (
                format!("_c_{UUID}-__READ__0000000001"),
                Family::CuratorReadWrite,
                Shared,
                Format::CuratorReadWrite,
            ),
            (
                format!("_c_{UUID}-lease-0000000001"),
                Family::CuratorLease,
                Shared,
                Format::CuratorSemaphore,
            ),
            (
                format!("_c_{UUID}-latch-0000000001"),
                Family::CuratorLatch,
                Exclusive,
                Format::CuratorLeaderLatch,
            ),
            (
                format!("{HEX}__lock__0000000001"),
                Family::Kazoo,
                Exclusive,
                Format::Kazoo,
            ),
            (
                format!("{HEX}__rlock__0000000001"),
                Family::Kazoo,
                Shared,
                Format::KazooReadWrite,
            ),
            (
                "x-72057650180849664-0000000003".to_owned(),
                Family::Recipe,
                Exclusive,
                Format::ZookeeperRecipe,
            ),
            (
                "x-0100000d12610005-0000000003".to_owned(),
                Family::Recipe,
                Exclusive,
                Format::ZookeeperRecipe,
            ),
            (
                "lock-0000000003".to_owned(),
                Family::Recipe,
                Exclusive,
                Format::ZookeeperRecipe,
            ),
            (
                format!("zlock#{UUID}#0000000000"),
                Family::Accumulo,
                Exclusive,
                Format::EphemeralNode,
            ),
        ] {
            let contender = Contender::parse(&name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(
                (contender.family, contender.claim),
                (family, claim),
                "{name}"
            );
            assert_eq!(family.format(&[contender]), format, "{name}");
        }
    }

    #[test]
    fn other_names_are_not_contenders() {
        for name in [
            "",
            "0000000000",
            "qn-0000000000",
            "orders",
            "leases",
            "lock-000000000",
            "06e5f14164eb4e07afed0be23349ec04__party__",
            "_c_9facbb75-2934-4067-8a15-201f46511f17-member-0000000000",
            "ü-lock-0000000000",
            "日本語日本語日本語",
        ] {
            assert_eq!(Contender::parse(name), None, "{name}");
        }
    }

    #[test]
    fn the_number_continues_below_zero_after_its_maximum() {
        let sequence = |number: &str| {
            let name = format!("06e5f14164eb4e07afed0be23349ec04__lock__{number}");
            Contender::parse(&name).map(|contender| contender.sequence)
        };
        assert_eq!(sequence("2147483647"), Some(i32::MAX));
        assert_eq!(sequence("-2147483648"), Some(i32::MIN));
        assert_eq!(sequence("9999999999"), None);
        let name = "_c_9facbb75-2934-4067-8a15-201f46511f17-lock--2147483648";
        assert_eq!(Contender::parse(name).unwrap().sequence, i32::MIN);
    }
}
