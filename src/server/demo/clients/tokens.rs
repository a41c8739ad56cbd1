//! Tokens in the formats of the real libraries.

use data_encoding::HEXLOWER;

use crate::domain::Timestamp;

/// node-redlock: 16 random bytes in hex.
pub fn node_redlock() -> String {
    HEXLOWER.encode(&rand::random::<[u8; 16]>())
}

/// redsync: 16 random bytes in padded base64.
pub fn redsync() -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let number = rand::random::<u128>();
    // 21 digits of six bits from the top, then the last two bits with four zero bits behind them.
    let digits = (0..21)
        .map(|at| number >> (122 - 6 * at))
        .chain([number << 4]);
    let digits = digits.map(|bits| char::from(DIGITS[usize::from(bits as u8 & 63)]));
    digits.chain("==".chars()).collect()
}

/// redis-py: a version 1 UUID in hex, made at `moment` on the host with this network card.
pub fn redis_py(moment: Timestamp, card: &str) -> String {
    const GREGORIAN_TO_UNIX: u64 = 0x01B2_1DD2_1381_4000;
    let ticks = GREGORIAN_TO_UNIX
        + u64::try_from(moment.millis()).unwrap_or(0) * 10_000
        + u64::from(rand::random_range(0..10_000u32));
    let (low, mid, high) = (
        ticks & 0xffff_ffff,
        ticks >> 32 & 0xffff,
        ticks >> 48 & 0x0fff,
    );
    let sequence = rand::random::<u16>() & 0x3fff | 0x8000;
    format!("{low:08x}{mid:04x}1{high:03x}{sequence:04x}{card}")
}

/// `DistributedLock` for .NET: machine, process and 16 random bytes.
pub fn madelson(name: &str, pid: u32) -> String {
    format!("{name}_{pid}_{}", node_redlock())
}

/// `ShedLock`: time, host and a UUID.
pub fn shedlock(moment: Timestamp, host: &str) -> String {
    format!("ADDED:{moment}@{host}:{}", uuid())
}

/// Laravel: random letters and digits.
pub fn laravel(length: usize) -> String {
    const ALL: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let one = || char::from(ALL[rand::random_range(0..ALL.len())]);
    std::iter::repeat_with(one).take(length).collect()
}

/// A random UUID (version 4).
pub fn uuid() -> String {
    let mut bytes = rand::random::<[u8; 16]>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = HEXLOWER.encode(&bytes);
    [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Format, LockKey};
    use crate::server::stores::redis::formats::{DetectedLock, detect};
    use crate::server::stores::redis::key_state::{KeyState, RedisValue, Ttl};

    const NOW: Timestamp = Timestamp::from_millis(1_795_200_485_556);

    fn read(value: RedisValue) -> DetectedLock {
        let sighting =
            KeyState::without_companions(LockKey::from("lock:a"), value, Ttl::Ms(30_000), NOW);
        detect(&sighting, false).unwrap()
    }

    fn of_text(token: String) -> (Format, Option<String>) {
        let lock = read(RedisValue::Text(token.into_bytes()));
        (lock.format, lock.owners[0].owner.label.clone())
    }

    #[test]
    fn tokens_are_recognised_as_those_of_the_real_libraries() {
        for _ in 0..100 {
            assert_eq!(of_text(node_redlock()), (Format::NodeRedlock, None));
            assert_eq!(of_text(redsync()), (Format::Redsync, None));
            assert_eq!(
                of_text(redis_py(NOW, "0242ac110007")),
                (Format::RedisPy, Some("02:42:ac:11:00:07".into()))
            );
            assert_eq!(
                of_text(madelson("BILLING-1", 4711)),
                (Format::Madelson, Some("BILLING-1 pid 4711".into()))
            );
            assert_eq!(
                of_text(shedlock(NOW, "worker-7d9f")),
                (Format::ShedLock, Some("worker-7d9f".into()))
            );
            let field = format!("{}:87", uuid());
            let lock = read(RedisValue::Hash(vec![(
                field.clone().into_bytes(),
                b"1".to_vec(),
            )]));
            assert_eq!(
                (lock.format, lock.owners[0].bytes.expose()),
                (Format::Redisson, field.as_bytes())
            );
        }
    }

    #[test]
    fn a_redis_py_token_contains_the_given_time() {
        let lock = read(RedisValue::Text(redis_py(NOW, "0242ac110007").into_bytes()));
        assert_eq!(lock.claimed_at, Some(NOW));
    }
}
