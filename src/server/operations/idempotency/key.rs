//! What a client calls one acquire of its own, and what is remembered of it and of its request: digests.

use sha2::{Digest as _, Sha256};

use crate::domain::{Fault, LockId};
use crate::server::access::Actor;
use crate::server::operations::AcquireRequest;

/// What a client calls one acquire of its own, to be able to repeat it. As good as the token, so its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The header that carries it.
    pub const NAME: &'static str = "Idempotency-Key";
    /// The longest one, in characters.
    pub const LONGEST: usize = 255;

    /// The key with these bytes: 1 to 255 visible ASCII characters, quotes included if there are any.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let refused = |detail: String| Fault::Impossible {
            field: Self::NAME.to_owned(),
            detail,
            min_ttl_ms: None,
        };
        if bytes.is_empty() {
            return Err(refused("is empty".to_owned()));
        }
        if bytes.len() > Self::LONGEST {
            return Err(refused(format!(
                "is longer than {} characters",
                Self::LONGEST
            )));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Ok(Self(text.to_owned())),
            Ok(_) | Err(_) => Err(refused(
                "has something else in it than visible ASCII characters".to_owned(),
            )),
        }
    }
}

impl IdempotencyKey {
    /// What sealed answers are opened with.
    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdempotencyKey(…)")
    }
}

/// A digest.
pub type Print = [u8; 32];

/// What a key stands for is decided lock by lock, and for everybody alone: two locks may use the same, and who guesses that of
/// somebody else gets no token.
pub(super) fn scope(actor: &Actor, id: &LockId, key: &IdempotencyKey) -> Print {
    let (kind, name) = actor.identity();
    digest(&[
        kind.as_bytes(),
        name.as_bytes(),
        id.group.as_bytes(),
        id.key.as_bytes(),
        key.0.as_bytes(),
        actor.secret().map_or(&[][..], |secret| secret.bytes()),
    ])
}

pub(super) fn print(request: &AcquireRequest) -> Print {
    // Named one by one, so that a new field is not forgotten here.
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

/// Each part with its length before it, so that no two lists of parts look alike.
fn digest(parts: &[&[u8]]) -> Print {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
