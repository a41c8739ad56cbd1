//! Which node serves which slot of a cluster, as its nodes tell; and which slot a key belongs to. Pure.

use redis::{FromRedisValue, ParsingError, Value};
use std::collections::BTreeMap;

/// How many slots a cluster has.
pub const SLOTS: u16 = 16_384;

/// Where a node is: host and port.
pub type Address = (String, u16);

/// The slot of a key: of what stands between the first `{` and the next `}`, where that is something; else of all of it.
pub fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// A hash tag for each slot: a number whose digits lie in it. For names that cannot be their own tag.
///
/// It is searched for each time: such names are rare, and a table of all slots takes a command longer to make than a node may take.
/// Numbers that begin alike share the work for their beginning, since some take a hundred thousand tries.
pub fn tag_of(slot: u16) -> u32 {
    let with_beginning = |beginning: u32| {
        let crc = crc16(beginning.to_string().as_bytes());
        let lies_in_it = |end: &u32| {
            let digits = [end / 100, end / 10 % 10, end % 10];
            let digit =
                |crc, digit: u32| crc16_with(crc, b'0' + u8::try_from(digit).unwrap_or_default());
            digits.into_iter().fold(crc, digit) % SLOTS == slot
        };
        let end = (0..1_000).find(lies_in_it)?;
        Some(beginning * 1_000 + end)
    };
    (1..).find_map(with_beginning).unwrap_or_default()
}

/// CRC-16/XMODEM, as the specification of Redis Cluster has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().copied().fold(0, crc16_with)
}

/// The checksum of what had this one, and one byte more.
fn crc16_with(crc: u16, byte: u8) -> u16 {
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

/// The answer to `CLUSTER SLOTS`: the primaries and what they serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotMap {
    /// By the last slot of each range: the first one, and who serves it.
    ranges: BTreeMap<u16, (u16, Address)>,
    /// By each replica: the primary that it follows.
    replicas: BTreeMap<Address, Address>,
}

impl SlotMap {
    /// Who serves a slot; nobody may.
    pub fn server_of(&self, slot: u16) -> Option<&Address> {
        let (_, (first, address)) = self.ranges.range(slot..).next()?;
        (*first <= slot).then_some(address)
    }

    /// How many slots somebody serves.
    pub fn served_by(&self, address: &Address) -> u32 {
        let theirs = self
            .ranges
            .iter()
            .filter(|(_, (_, theirs))| theirs == address);
        theirs
            .map(|(last, (first, _))| u32::from(*last) - u32::from(*first) + 1)
            .sum()
    }

    /// The primary that a server follows, if it is a replica.
    pub fn primary_of(&self, replica: &Address) -> Option<&Address> {
        self.replicas.get(replica)
    }

    /// Everybody who serves slots, each once.
    pub fn servers(&self) -> Vec<Address> {
        let mut servers: Vec<Address> = self
            .ranges
            .values()
            .map(|(_, address)| address.clone())
            .collect();
        servers.sort();
        servers.dedup();
        servers
    }

    /// Those that do not know their own address mean the host at which they were asked.
    pub fn with_host(mut self, asked: &str) -> Self {
        for (_, (host, _)) in self.ranges.values_mut() {
            if host.is_empty() {
                asked.clone_into(host);
            }
        }
        let named = |(host, port): Address| {
            let host = if host.is_empty() {
                asked.to_owned()
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
            return Err(ParsingError::from("CLUSTER SLOTS answers with a list"));
        };
        let mut map = Self::default();
        for range in ranges {
            let Value::Array(parts) = range else {
                return Err(ParsingError::from("a range of slots is a list"));
            };
            let mut parts = parts.into_iter();
            let mut number = || -> Result<u16, ParsingError> {
                redis::from_redis_value(parts.next().unwrap_or(Value::Nil))
            };
            let (first, last) = (number()?, number()?);
            // The primary comes first, its replicas behind it.
            let mut servers = parts.map_while(|part| match part {
                Value::Array(server) => Some(server_at(server)),
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

/// Host and port of a server in the answer.
fn server_at(server: Vec<Value>) -> Result<Address, ParsingError> {
    let mut server = server.into_iter();
    let (host, port) = (server.next(), server.next());
    // Null where the node was told not to name addresses.
    let host: Option<String> = redis::from_redis_value(host.unwrap_or(Value::Nil))?;
    let host = host.filter(|host| host != "?").unwrap_or_default();
    Ok((host, redis::from_redis_value(port.unwrap_or(Value::Nil))?))
}

/// Host and port of `host:port`, as `MOVED` and `ASK` name them; an empty host is the one that was asked.
pub fn address(text: &str, asked: &str) -> Option<Address> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.is_empty() || host == "?" {
        asked
    } else {
        host
    };
    Some((host.to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_slot_that_the_specification_gives_it() {
        // "123456789" is the specification's own example: CRC 31C3.
        for (key, slot) in [
            ("123456789", 0x31c3),
            ("foo", 12_182),
            ("", 0),
            ("{user1000}.following", 3_443),
            ("{user1000}.followers", 3_443),
            ("foo{bar}{zap}", 5_061),
            ("bar", 5_061),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
        assert_ne!(
            slot_of(b"foo{}{bar}"),
            slot_of(b"bar"),
            "an empty tag is none"
        );
    }

    fn told(text: &[u8]) -> SlotMap {
        redis::from_redis_value(redis::parse_redis_value(text).unwrap()).unwrap()
    }

    #[test]
    fn a_slot_is_served_by_the_first_node_of_its_range() {
        let map = told(
            b"*3\r\n\
              *4\r\n:0\r\n:99\r\n*3\r\n$1\r\na\r\n:7000\r\n$2\r\nid\r\n*3\r\n$1\r\nz\r\n:7009\r\n$2\r\nid\r\n\
              *3\r\n:200\r\n:299\r\n*3\r\n$0\r\n\r\n:7001\r\n$2\r\nid\r\n\
              *3\r\n:300\r\n:300\r\n*3\r\n$-1\r\n:7002\r\n$2\r\nid\r\n",
        )
        .with_host("h");
        let server = |slot| {
            map.server_of(slot)
                .map(|(host, port)| (host.as_str(), *port))
        };
        assert_eq!(server(0), Some(("a", 7000)));
        assert_eq!(server(99), Some(("a", 7000)));
        assert_eq!(server(100), None);
        assert_eq!(server(250), Some(("h", 7001)));
        assert_eq!(server(300), Some(("h", 7002)));
        assert_eq!(server(301), None);
        assert_eq!(map.servers().len(), 3);
    }

    #[test]
    fn addresses_are_read_as_clusters_write_them() {
        let read = |text| address(text, "asked");
        assert_eq!(read("10.0.0.1:7000"), Some(("10.0.0.1".into(), 7000)));
        assert_eq!(read("::1:7000"), Some(("::1".into(), 7000)));
        assert_eq!(read("[::1]:7000"), Some(("::1".into(), 7000)));
        assert_eq!(read(":7000"), Some(("asked".into(), 7000)));
        assert_eq!(read("nonsense"), None);
    }
}
