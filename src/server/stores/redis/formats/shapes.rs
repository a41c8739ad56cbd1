//! The shapes of tokens and labels: hex, UUIDs, base64, numbers and host names.

/// Exactly `digits` lower-case hex digits. No known library writes upper-case hex.
pub fn is_hex(bytes: &[u8], digits: usize) -> bool {
    bytes.len() == digits
        && bytes
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A version 4 UUID in hex without dashes.
pub fn is_uuid4_hex(bytes: &[u8]) -> bool {
    is_hex(bytes, 32) && bytes[12] == b'4' && matches!(bytes[16], b'8' | b'9' | b'a' | b'b')
}

/// Letters of both cases. Random strings of letters have both; words and hex do not.
pub fn is_mixed(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_lowercase)
}

/// Exactly `length` letters and digits.
pub fn is_alphanumeric(bytes: &[u8], length: usize) -> bool {
    bytes.len() == length && bytes.iter().all(u8::is_ascii_alphanumeric)
}

/// Base64 characters without padding.
pub fn is_base64(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Base64url characters without padding.
pub fn is_base64url(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Whether this can be the 22nd character of 16 bytes in base64. It encodes two bits only, so 15 of
/// 16 characters cannot.
pub fn is_final_char_of_16_bytes(character: u8) -> bool {
    matches!(character, b'A' | b'Q' | b'g' | b'w')
}

/// 32 bytes in padded base64. The 43rd character encodes four bits only.
pub fn is_base64_of_32_bytes(bytes: &[u8]) -> bool {
    let Some((body, b"=")) = bytes.split_at_checked(43) else {
        return false;
    };
    is_base64(body) && b"AEIMQUYcgkosw048".contains(&body[42])
}

/// A version 4 UUID with dashes.
pub fn is_uuid4(bytes: &[u8]) -> bool {
    is_uuid(bytes) && bytes[14] == b'4' && matches!(bytes[19], b'8' | b'9' | b'a' | b'b')
}

/// A UUID of any version with dashes, in lower case.
pub fn is_uuid(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|&byte| byte == b'-');
    [8, 4, 4, 4, 12]
        .into_iter()
        .all(|digits| parts.next().is_some_and(|part| is_hex(part, digits)))
        && parts.next().is_none()
}

/// A positive integer without sign and leading zeros.
pub fn parse_count(bytes: &[u8]) -> Option<u32> {
    let is_plain =
        !bytes.starts_with(b"0") && !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(bytes)
        .ok()
        .filter(|_| is_plain)?
        .parse()
        .ok()
}

/// The maximum process id on Linux (`PID_MAX_LIMIT`).
const MAX_PID: u32 = 4_194_304;

/// A process id.
pub fn parse_pid(bytes: &[u8]) -> Option<u32> {
    parse_count(bytes).filter(|&pid| pid <= MAX_PID)
}

/// A decimal number with an optional fraction, as in timestamps.
pub fn is_decimal(bytes: &[u8]) -> bool {
    let mut parts = bytes.splitn(2, |&byte| byte == b'.');
    let is_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.next().is_some_and(is_digits) && parts.next().is_none_or(is_digits)
}

/// An integer of any length with an optional minus sign, as in counters and flags.
pub fn is_integer(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Text that can be part of a label: at most 80 characters and no control characters.
pub fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim();
    (!text.is_empty() && text.chars().count() <= 80 && !text.chars().any(char::is_control))
        .then_some(text)
}

/// A host name that cannot be mistaken for random token material.
///
/// A host name is in lower case, starts with a word (`vm`, `web01`, `ip-10-0-0-1`,
/// `worker-7d9f8b6c5-x2v4q`), and its random parts are short. Anything else may be a secret, which
/// must not become a label.
pub fn is_host(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|byte| matches!(byte, b'.' | b'-'));
    bytes.len() <= 63
        && parts
            .next()
            .is_some_and(|first| is_word(first) && first[0].is_ascii_lowercase())
        && parts.all(|part| is_word(part) || is_short_suffix(part))
        && !is_uuid(bytes)
}

/// Letters followed by up to four digits, as in host names that are not generated.
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

/// A suffix like those that Kubernetes appends to pod names.
fn is_short_suffix(part: &[u8]) -> bool {
    (1..=10).contains(&part.len())
        && part
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_character_of_base64_depends_on_the_number_of_bytes() {
        // Written by Symfony 5.4.53.
        assert!(is_base64_of_32_bytes(
            b"+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w="
        ));
        assert!(!is_base64_of_32_bytes(
            b"+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4x="
        ));
        assert!(!is_base64_of_32_bytes(
            b"+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4ww"
        ));
    }

    #[test]
    fn a_uuid_has_dashes_and_is_in_lower_case() {
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
        assert_eq!(parse_count(b"1"), Some(1));
        assert_eq!(parse_count(b"4294967295"), Some(u32::MAX));
        for other in ["", "0", "01", "-1", "+1", "1.0", "4294967296", "x"] {
            assert_eq!(parse_count(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn host_names_are_distinguished_from_secrets() {
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
    fn control_characters_are_not_readable() {
        assert_eq!(readable(b" worker "), Some("worker"));
        assert_eq!(readable(b"a\x1b[2J"), None);
        assert_eq!(readable(b"\xff"), None);
        assert_eq!(readable(b"  "), None);
    }
}
