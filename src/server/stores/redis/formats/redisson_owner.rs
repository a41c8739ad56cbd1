//! The owner in a hash field of Redisson and node-redisson.

use super::shapes;

/// Whether a field is an owner.
pub fn is_owner(field: &[u8]) -> bool {
    label(field).is_some()
}

/// `6d1f0c3e thread 87` for Redisson, `6d1f0c3e client 9d0e0f5c` for node-redisson. The rest of the
/// UUID is not part of the label, because it makes the field unguessable.
pub fn label(field: &[u8]) -> Option<String> {
    let (instance, within) = field
        .split_at_checked(36)
        .filter(|(instance, _)| shapes::is_uuid(instance))?;
    let within = within.strip_prefix(b":")?;
    // In a transaction the id of the transaction follows the thread.
    let end = within.iter().position(|&byte| byte == b':');
    let (within, transaction) = within.split_at(end.unwrap_or(within.len()));
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
    let is_transaction = match transaction {
        [] => true,
        [_colon, id @ ..] => !id.is_empty() && id.iter().all(is_hex),
    };
    if !is_transaction {
        return None;
    }
    let instance = std::str::from_utf8(&instance[..8]).ok()?;
    let id = std::str::from_utf8(within).ok()?;
    if shapes::is_uuid(within) {
        Some(format!("{instance} client {}", &id[..8]))
    } else {
        // Thread ids are `long` in Java.
        (shapes::is_integer(within) && !id.starts_with('-') && id.len() <= 19)
            .then(|| format!("{instance} thread {id}"))
    }
}
