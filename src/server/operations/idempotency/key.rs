//! Idempotency keys, and the digests that are stored of them and of requests.

use sha2::{Digest as _, Sha256};

use crate::domain::operation_error::InvalidValue;
use crate::domain::{LockId, OperationError};
use crate::server::access::Principal;
use crate::server::operations::AcquireRequest;

/// The key with which a client can safely retry an acquire. It is as sensitive as the token, so its
/// `Debug` output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The name of the request header.
    pub const NAME: &'static str = "Idempotency-Key";
    /// The maximum length in characters.
    pub const MAX_CHARS: usize = 255;

    /// Parses 1 to 255 visible ASCII characters. Quotes, if there are any, are part of the key.
    pub fn parse(bytes: &[u8]) -> Result<Self, OperationError> {
        let refused = |cause| OperationError::invalid_field(Self::NAME, cause);
        if bytes.is_empty() {
            return Err(refused(InvalidValue::Empty));
        }
        if bytes.len() > Self::MAX_CHARS {
            return Err(refused(InvalidValue::TooManyCharacters {
                max: Self::MAX_CHARS,
            }));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Ok(Self(text.to_owned())),
            Ok(_) | Err(_) => Err(refused(InvalidValue::NotVisibleAscii)),
        }
    }
}

impl IdempotencyKey {
    /// The bytes that are part of the seal of stored responses.
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdempotencyKey(…)")
    }
}

/// A SHA-256 digest.
pub type RequestDigest = [u8; 32];

/// The scope of a key: one principal and one lock. The same key can be used for several locks, and
/// guessing another client's key reveals no token.
pub(super) fn scope_digest(
    principal: &Principal,
    id: &LockId,
    key: &IdempotencyKey,
) -> RequestDigest {
    let (kind, name) = principal.account_key();
    digest(&[
        kind.as_bytes(),
        name.as_bytes(),
        id.group.as_bytes(),
        id.key.as_bytes(),
        key.0.as_bytes(),
        principal
            .secret()
            .map_or(&[][..], |secret| secret.as_bytes()),
    ])
}

pub(super) fn request_digest(request: &AcquireRequest) -> RequestDigest {
    // Destructured, so that the compiler requires a new field to be added here.
    let AcquireRequest {
        ttl_ms,
        wait_ms,
        label,
        format,
        token,
        auto_renew,
    } = request;
    let optional = |text: &Option<String>| match text {
        Some(text) => format!("+{text}"),
        None => String::new(),
    };
    digest(&[
        &ttl_ms.to_be_bytes(),
        &wait_ms.to_be_bytes(),
        optional(label).as_bytes(),
        format.slug().as_bytes(),
        optional(token).as_bytes(),
        &[u8::from(*auto_renew)],
    ])
}

/// Hashes each part with its length, so that different lists of parts cannot collide.
fn digest(parts: &[&[u8]]) -> RequestDigest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
