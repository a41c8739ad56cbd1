//! Cheap checks that rule out most keys that are not locks, before their whole value is read.

use super::{madelson, shapes};

/// Whether a long value that starts with these bytes can be a token: one with metadata, or one with
/// a readable part.
pub fn can_start_token(start: &[u8]) -> bool {
    let is_redislock = start.get(..22).is_some_and(|token| {
        shapes::is_base64url(token) && shapes::is_final_char_of_16_bytes(token[21])
    });
    // ShedLock, this console, suo, madelson.
    start.starts_with(b"ADDED:")
        || start.starts_with(b"lockkeeper:")
        || start.get(1..3) == Some(b"\x92\xcb")
        || is_redislock
        || start
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}

/// Whether a collection with this field or member can be a lock: every known format stores ids of
/// owners, or fields with these names.
pub fn can_be_owner_element(element: &[u8]) -> bool {
    let starts_with_uuid = element.get(..36).is_some_and(shapes::is_uuid);
    starts_with_uuid
        // Redisson's read-write lock and multi-lock, Symfony's writers.
        || matches!(element, b"mode" | b"__write__")
        || element.ends_with(b":expire_time")
        || element.ends_with(b":lock_count")
        || shapes::is_base64_of_32_bytes(element)
        // sidekiq-unique-jobs.
        || shapes::is_hex(element, 24)
        // Redisson's permits.
        || (element.len() == 16 && std::str::from_utf8(element).is_err())
        || madelson::is_owner(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_markup_cannot_start_a_token() {
        for start in [
            &b"{\"user\":7,\"name\":\"Ada\"}"[..],
            b"<!DOCTYPE html><html>",
            b"a:2:{s:4:\"user\";i:7;}",
            b"Dear customer, thank you for your order.",
            b"\x80\x04\x95\x0a",
        ] {
            assert!(!can_start_token(start), "{}", start.escape_ascii());
        }
    }

    #[test]
    fn long_tokens_can_start_so() {
        for start in [
            &b"ADDED:2026-11-20T18:30:59.990Z@worker-3:6a379ae6"[..],
            b"lockkeeper:a label with spaces:9f86",
            b"Zb1kM5c0P7mJr8xw3uVYHQ{\"host\":\"a\"}",
            b"a-very-long-machine-name.example.com_812_9f86d081",
        ] {
            assert!(can_start_token(start), "{}", start.escape_ascii());
        }
    }

    #[test]
    fn ids_of_owners_are_distinguished_from_other_members() {
        for element in [
            &b"6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87"[..],
            b"6d1f0c3e-6a37-4ae6-9d0e-0f5c4a3cfe05:87:write",
            b"mode",
            b"__write__",
            b"+0pPqo4fvBN2gxKEEwYq9xB6mZyD5bO2dJtB1nKzq4w=",
            b"BILLING-1_812_9f86d081884c7d659a2feaa0c55ad015",
            b"\xf3\x01}\x9a{\"\xc0\x00\x80\x7f\xfe\x10\x22\xa1\xb2\xc3",
        ] {
            assert!(can_be_owner_element(element), "{}", element.escape_ascii());
        }
        for element in [
            &b"name"[..],
            b"user:7",
            b"1795200485556",
            b"sixteen letters!",
        ] {
            assert!(!can_be_owner_element(element), "{}", element.escape_ascii());
        }
    }
}
