//! The shapes that tokens are built from: hex, UUIDs, base64, plain numbers, host names.

/// Exactly `digits` lower-case hex digits, as every library that writes hex does.
pub fn is_hex(bytes: &[u8], digits: usize) -> bool {
    bytes.len() == digits
        && bytes
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A dashed UUID of any version, in lower case.
pub fn is_uuid(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|&byte| byte == b'-');
    [8, 4, 4, 4, 12]
        .into_iter()
        .all(|digits| parts.next().is_some_and(|part| is_hex(part, digits)))
        && parts.next().is_none()
}

/// A whole number from 1 up, written without sign and leading zeros.
pub fn positive(bytes: &[u8]) -> Option<u32> {
    let is_plain =
        !bytes.starts_with(b"0") && !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(bytes)
        .ok()
        .filter(|_| is_plain)?
        .parse()
        .ok()
}

/// An optionally signed whole number of any length, as counters and flags are.
pub fn is_integer(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Text that may stand in a label: something to read, and nothing that moves a cursor.
pub fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    (!text.is_empty() && text.chars().count() <= 80 && !text.chars().any(char::is_control))
        .then_some(text)
}

/// A host name that cannot be mistaken for random token material.
///
/// Host names are lower case, start with a word (`vm`, `web01`, `ip-10-0-0-1`, `worker-7d9f8b6c5-x2v4q`), and what is
/// random in them is short. Anything else may be a secret, and a secret must not become a label.
pub fn is_host(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|byte| matches!(byte, b'.' | b'-'));
    bytes.len() <= 63
        && parts
            .next()
            .is_some_and(|first| is_word(first) && first[0].is_ascii_lowercase())
        && parts.all(|part| is_word(part) || is_short(part))
        && !is_uuid(bytes)
}

/// Letters, then up to four digits: a name that somebody chose.
fn is_word(part: &[u8]) -> bool {
    let letters = part
        .iter()
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    let digits = &part[letters..];
    !part.is_empty()
        && part.len() <= 20
        && digits.len() <= 4
        && digits.iter().all(u8::is_ascii_digit)
        && !(part.len() >= 8 && part.iter().all(u8::is_ascii_hexdigit))
}

/// What Kubernetes appends to the names of pods.
fn is_short(part: &[u8]) -> bool {
    (1..=10).contains(&part.len())
        && part
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_dashed_and_lower_case() {
        assert!(is_uuid(b"6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05"));
        for other in [
            "",
            "6a379ae6",
            "6A379AE6-0F5C-4A3C-9D0E-3F0C51C0FE05",
            "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05-",
        ] {
            assert!(!is_uuid(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_count_starts_at_one() {
        assert_eq!(positive(b"1"), Some(1));
        assert_eq!(positive(b"4294967295"), Some(u32::MAX));
        for other in ["", "0", "01", "-1", "+1", "1.0", "4294967296", "x"] {
            assert_eq!(positive(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn hosts_are_told_from_secrets() {
        for host in [
            "vm",
            "web01",
            "ip-10-0-0-1",
            "worker-7d9f8b6c5-x2v4q",
            "db1.eu.example.com",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        let secrets = [
            "",
            "f3a9c2d17b60",
            "deadbeef",
            "k3j9x0q2m5z8",
            "Xk29fQ",
            "6a379ae6-0f5c-4a3c-9d0e-3f0c51c0fe05",
            "tok-9f8e7d6c5b4a3210ffee",
            "-a",
            "a..b",
            "10.0.0.1",
        ];
        for secret in secrets {
            assert!(!is_host(secret.as_bytes()), "{secret}");
        }
    }

    #[test]
    fn a_label_moves_no_cursor() {
        assert_eq!(readable(b" worker "), Some("worker"));
        assert_eq!(readable(b"a\x1b[2J"), None);
        assert_eq!(readable(b"\xff"), None);
        assert_eq!(readable(b"  "), None);
    }
}
