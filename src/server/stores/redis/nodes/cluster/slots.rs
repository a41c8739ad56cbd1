//! The slot map of a cluster, and the mapping from keys to slots. No I/O.

use redis::{FromRedisValue, ParsingError, Value};
use std::collections::BTreeMap;

/// The number of slots in a cluster.
pub const SLOT_COUNT: u16 = 16_384;

/// Host and port of a node.
pub type NodeAddress = (String, u16);

/// The slot of a key: the CRC16 of its hash tag, which is the text between the first `{` and the
/// next `}` if that is not empty, else of the whole key.
pub fn key_slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        // An empty tag `{}` does not count, according to the specification.
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOT_COUNT
}

/// A hash tag for a slot: a number whose decimal digits hash to that slot. For keys that cannot be
/// their own hash tag.
///
/// Computed on each call: such keys are rare, and building a table of all slots takes longer than a
/// node's timeout. Numbers with a common prefix share the CRC of that prefix, because some slots
/// need a hundred thousand attempts.
pub fn hash_tag_for_slot(slot: u16) -> u32 {
    let with_prefix = |prefix: u32| {
        let crc = crc16(prefix.to_string().as_bytes());
        let is_in_slot = |suffix: &u32| {
            let digits = [suffix / 100, suffix / 10 % 10, suffix % 10];
            let digit =
                |crc, digit: u32| crc16_update(crc, b'0' + u8::try_from(digit).unwrap_or_default());
            digits.into_iter().fold(crc, digit) % SLOT_COUNT == slot
        };
        let suffix = (0..1_000).find(is_in_slot)?;
        Some(prefix * 1_000 + suffix)
    };
    (1..).find_map(with_prefix).unwrap_or_default()
}

/// CRC-16/XMODEM, as in the Redis Cluster specification.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().copied().fold(0, crc16_update)
}

/// Extends a checksum by one byte.
fn crc16_update(crc: u16, byte: u8) -> u16 {
    const TABLE: [u16; 256] = {
        let (mut table, mut byte) = ([0; 256], 0_u16);
        while byte < 256 {
            let (mut crc, mut bit) = (byte << 8, 0);
            while bit < 8 {
                let shifted = crc << 1;
                crc = if crc & 0x8000 == 0 {
                    shifted
                } else {
                    shifted ^ 0x1021
                };
                bit += 1;
            }
            table[byte as usize] = crc;
            byte += 1;
        }
        table
    };
    let [high, _] = crc.to_be_bytes();
    (crc << 8) ^ TABLE[usize::from(high ^ byte)]
}

/// The reply to `CLUSTER SLOTS`: the primaries and the slots they serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotMap {
    /// Keyed by the last slot of each range: the first slot and the primary.
    ranges: BTreeMap<u16, (u16, NodeAddress)>,
    /// The primary of each replica.
    replicas: BTreeMap<NodeAddress, NodeAddress>,
}

impl SlotMap {
    /// The primary that serves a slot, or `None` if the slot is not covered.
    pub fn primary_for_slot(&self, slot: u16) -> Option<&NodeAddress> {
        // Keyed by the last slot: the first range that ends at or after the slot is the only
        // candidate.
        let (_, (first, address)) = self.ranges.range(slot..).next()?;
        (*first <= slot).then_some(address)
    }

    /// The number of slots that a primary serves.
    pub fn slot_count(&self, address: &NodeAddress) -> u32 {
        let owner = self
            .ranges
            .iter()
            .filter(|(_, (_, owner))| owner == address);
        owner
            .map(|(last, (first, _))| u32::from(*last) - u32::from(*first) + 1)
            .sum()
    }

    /// The primary of a replica; `None` for any other server.
    pub fn primary_of(&self, replica: &NodeAddress) -> Option<&NodeAddress> {
        self.replicas.get(replica)
    }

    /// All primaries, each once, sorted.
    pub fn primaries(&self) -> Vec<NodeAddress> {
        let mut servers: Vec<NodeAddress> = self
            .ranges
            .values()
            .map(|(_, address)| address.clone())
            .collect();
        servers.sort();
        servers.dedup();
        servers
    }

    /// Fills in the host of servers that do not know their own address: it is the host that was
    /// queried.
    pub fn with_host(mut self, queried_host: &str) -> Self {
        for (_, (host, _)) in self.ranges.values_mut() {
            if host.is_empty() {
                queried_host.clone_into(host);
            }
        }
        let named = |(host, port): NodeAddress| {
            let host = if host.is_empty() {
                queried_host.to_owned()
            } else {
                host
            };
            (host, port)
        };
        let replicas = std::mem::take(&mut self.replicas).into_iter();
        self.replicas = replicas
            .map(|(replica, primary)| (named(replica), named(primary)))
            .collect();
        self
    }
}

impl FromRedisValue for SlotMap {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let Value::Array(ranges) = value else {
            return Err(ParsingError::from(
                "the reply to CLUSTER SLOTS must be an array",
            ));
        };
        let mut map = Self::default();
        for range in ranges {
            let Value::Array(parts) = range else {
                return Err(ParsingError::from("a slot range must be an array"));
            };
            let mut parts = parts.into_iter();
            let mut number = || -> Result<u16, ParsingError> {
                redis::from_redis_value(parts.next().unwrap_or(Value::Nil))
            };
            let (first, last) = (number()?, number()?);
            // The primary is the first server of a range, followed by its replicas.
            let mut servers = parts.map_while(|part| match part {
                Value::Array(server) => Some(parse_server(server)),
                _ => None,
            });
            let Some(primary) = servers.next() else {
                continue;
            };
            let primary = primary?;
            for replica in servers {
                map.replicas.insert(replica?, primary.clone());
            }
            map.ranges.insert(last, (first, primary));
        }
        Ok(map)
    }
}

fn parse_server(server: Vec<Value>) -> Result<NodeAddress, ParsingError> {
    let mut server = server.into_iter();
    let (host, port) = (server.next(), server.next());
    // Null with `cluster-preferred-endpoint-type unknown-endpoint`: clients must use the address
    // they connected to.
    let host: Option<String> = redis::from_redis_value(host.unwrap_or(Value::Nil))?;
    let host = host.filter(|host| host != "?").unwrap_or_default();
    Ok((host, redis::from_redis_value(port.unwrap_or(Value::Nil))?))
}

/// Parses `host:port` of a `MOVED` or `ASK` error. An empty host is the host that was queried.
pub fn parse_address(text: &str, queried_host: &str) -> Option<NodeAddress> {
    let (host, port) = text.rsplit_once(':')?;
    // IPv6 addresses are written with or without brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.is_empty() || host == "?" {
        queried_host
    } else {
        host
    };
    Some((host.to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_slots_match_the_specification() {
        // The specification gives CRC 31C3 for "123456789".
        for (key, slot) in [
            ("123456789", 0x31c3),
            ("foo", 12_182),
            ("", 0),
            ("{user1000}.following", 3_443),
            ("{user1000}.followers", 3_443),
            ("foo{bar}{zap}", 5_061),
            ("bar", 5_061),
        ] {
            assert_eq!(key_slot(key.as_bytes()), slot, "{key}");
        }
        assert_ne!(
            key_slot(b"foo{}{bar}"),
            key_slot(b"bar"),
            "an empty tag is none"
        );
    }

    fn parse_slots(text: &[u8]) -> SlotMap {
        redis::from_redis_value(redis::parse_redis_value(text).unwrap()).unwrap()
    }

    #[test]
    fn the_first_node_of_a_range_is_its_primary() {
        let map = parse_slots(
            b"*3\r\n\
              *4\r\n:0\r\n:99\r\n*3\r\n$1\r\na\r\n:7000\r\n$2\r\nid\r\n*3\r\n$1\r\nz\r\n:7009\r\n$2\r\nid\r\n\
              *3\r\n:200\r\n:299\r\n*3\r\n$0\r\n\r\n:7001\r\n$2\r\nid\r\n\
              *3\r\n:300\r\n:300\r\n*3\r\n$-1\r\n:7002\r\n$2\r\nid\r\n",
        )
        .with_host("h");
        let server = |slot| {
            map.primary_for_slot(slot)
                .map(|(host, port)| (host.as_str(), *port))
        };
        assert_eq!(server(0), Some(("a", 7000)));
        assert_eq!(server(99), Some(("a", 7000)));
        assert_eq!(server(100), None);
        assert_eq!(server(250), Some(("h", 7001)));
        assert_eq!(server(300), Some(("h", 7002)));
        assert_eq!(server(301), None);
        assert_eq!(map.primaries().len(), 3);
    }

    #[test]
    fn redirection_addresses_are_parsed() {
        let read = |text| parse_address(text, "queried");
        assert_eq!(read("10.0.0.1:7000"), Some(("10.0.0.1".into(), 7000)));
        assert_eq!(read("::1:7000"), Some(("::1".into(), 7000)));
        assert_eq!(read("[::1]:7000"), Some(("::1".into(), 7000)));
        assert_eq!(read(":7000"), Some(("queried".into(), 7000)));
        assert_eq!(read("nonsense"), None);
    }
}
