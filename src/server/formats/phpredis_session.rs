//! phpredis: the lock of a PHP session, for as long as a request has it open.
//!
//! ```text
//! SET PHPREDIS_SESSION:abc123_LOCK  vm|17171  NX PX 30000      host and process
//! ```
//!
//! The key's name contains the id of the session, which is a credential of the person who has it. The key is what it is:
//! whoever may see the names of keys here may see it. Ignore the pattern in the configuration where that is too many.
//! Source: `redis_session.c`.

use super::recognised::host;
use super::{Hint, Recognised, shapes, text};
use crate::domain::{Confidence, Format};
use crate::server::sighting::Sighting;

/// Recognises `host|process` under a name that ends with `_LOCK`.
pub fn recognise(sighting: &Sighting, _hint: Hint) -> Option<Recognised> {
    let key = sighting.key.as_bytes();
    key.strip_suffix(b"_LOCK")?;
    let value = text(sighting)?;
    let at = value.iter().position(|&byte| byte == b'|')?;
    let (machine, pid) = (&value[..at], shapes::pid(&value[at + 1..])?);
    let is_usual = key.starts_with(b"PHPREDIS_SESSION:");
    // Elsewhere only what surely is a host's name is one.
    if !is_usual && host(machine).is_none() {
        return None;
    }
    let label = host(machine).map(|host| format!("{host} pid {pid}"));
    let confidence = if is_usual {
        Confidence::Sure
    } else {
        Confidence::Likely
    };
    Some(Recognised::by_value(Format::PhpredisSession, sighting, value, label).with(confidence))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{string, told};
    use super::*;

    #[test]
    fn a_session_names_host_and_process() {
        let seen = |key: &str, value: &str| told(&string(key, value, 30_000));
        let label = Some("vm pid 17171".to_owned());
        assert_eq!(
            seen("PHPREDIS_SESSION:abc123_LOCK", "vm|17171"),
            Some((Format::PhpredisSession, Confidence::Sure, label.clone()))
        );
        assert_eq!(
            seen("shop:abc123_LOCK", "vm|17171"),
            Some((Format::PhpredisSession, Confidence::Likely, label))
        );
    }

    #[test]
    fn other_values_and_names_are_any_lock() {
        let format = |key: &str, value: &str| told(&string(key, value, 30_000)).map(|told| told.0);
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
