//! phpredis: the lock of a PHP session while a request uses it.
//!
//! ```text
//! SET PHPREDIS_SESSION:abc123_LOCK  vm|17171  NX PX 30000      host and process
//! ```
//!
//! The name of the key contains the session id, which is a credential of the session's user. Every
//! user of the console who can view the group can see it. Exclude the pattern in the configuration
//! if that is not acceptable. Source: `redis_session.c`.

use super::detected_lock::host;
use super::{DetectedLock, NameHint, shapes, string_value};
use crate::domain::{Confidence, Format};
use crate::server::stores::redis::key_state::KeyState;

/// Detects `host|pid` under a name that ends with `_LOCK`.
pub fn detect(state: &KeyState, _hint: NameHint) -> Option<DetectedLock> {
    let key = state.key.as_bytes();
    key.strip_suffix(b"_LOCK")?;
    let value = string_value(state)?;
    let at = value.iter().position(|&byte| byte == b'|')?;
    let (machine, pid) = (&value[..at], shapes::parse_pid(&value[at + 1..])?);
    let has_default_prefix = key.starts_with(b"PHPREDIS_SESSION:");
    // Without the default prefix the host must be a host name.
    if !has_default_prefix && host(machine).is_none() {
        return None;
    }
    let label = host(machine).map(|host| format!("{host} pid {pid}"));
    let confidence = if has_default_prefix {
        Confidence::Sure
    } else {
        Confidence::Likely
    };
    Some(
        DetectedLock::from_value(Format::PhpredisSession, state, value, label)
            .with_confidence(confidence),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{describe, string};
    use super::*;

    #[test]
    fn the_lock_of_a_session_has_a_label_with_host_and_process() {
        let detected = |key: &str, value: &str| describe(&string(key, value, 30_000));
        let label = Some("vm pid 17171".to_owned());
        assert_eq!(
            detected("PHPREDIS_SESSION:abc123_LOCK", "vm|17171"),
            Some((Format::PhpredisSession, Confidence::Sure, label.clone()))
        );
        assert_eq!(
            detected("shop:abc123_LOCK", "vm|17171"),
            Some((Format::PhpredisSession, Confidence::Likely, label))
        );
    }

    #[test]
    fn other_values_and_names_are_plain_locks() {
        let format =
            |key: &str, value: &str| describe(&string(key, value, 30_000)).map(|found| found.0);
        for (key, value) in [
            ("shop_LOCK", "vm|"),
            ("shop_LOCK", "Xk29fQ|17"),
            ("shop_LOCK", "vm|99999999"),
            ("shop:lock", "vm|17171"),
        ] {
            assert_eq!(format(key, value), Some(Format::Plain), "{key} = {value}");
        }
    }
}
