//! The id and the password of a session. A client that has both can use the session, so neither is
//! printed.

use zeroize::Zeroizing;

/// The length of a session's password.
const PASSWORD_BYTES: usize = 16;

/// The id of a session. `Debug` does not print it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(i64);

impl SessionId {
    /// Wraps an id of a server.
    pub fn new(id: i64) -> Self {
        Self(id)
    }

    /// The number, to be compared with what a server reports, or to be hashed.
    pub fn expose(self) -> i64 {
        self.0
    }
}

impl std::fmt::Debug for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionId(…)")
    }
}

/// What a client needs to continue a session on another connection: a credential.
#[derive(Clone)]
pub struct SessionCredentials {
    /// 0 for a new session.
    pub(super) id: i64,
    pub(super) password: Zeroizing<Vec<u8>>,
}

impl Default for SessionCredentials {
    fn default() -> Self {
        Self {
            id: 0,
            password: Zeroizing::new(vec![0; PASSWORD_BYTES]),
        }
    }
}

impl SessionCredentials {
    /// The length of [`Self::to_bytes`].
    pub const BYTES: usize = 8 + PASSWORD_BYTES;

    /// The id and the password; `None` if the server's password has an unexpected length.
    pub fn to_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        let bytes = [&self.id.to_be_bytes()[..], &self.password].concat();
        (bytes.len() == Self::BYTES).then(|| Zeroizing::new(bytes))
    }

    /// The reverse of [`Self::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (id, password) = bytes.split_first_chunk::<8>()?;
        (password.len() == PASSWORD_BYTES).then(|| Self {
            id: i64::from_be_bytes(*id),
            password: Zeroizing::new(password.to_vec()),
        })
    }
}
