//! What a program calls on a node, and what it is answered: as told step by step.

use std::rc::Rc;

use lockkeeper::server::nodes::scripts::{Given, Told};
use lockkeeper::server::sighting::Value;

/// Bytes that many may have: a token, a value.
pub type Bytes = Rc<[u8]>;

/// What becomes of a lease whose owner asks for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It only ever becomes longer.
    Grows,
    /// It is set, as many libraries do.
    IsSet,
}

/// One call of a script.
#[derive(Clone, Debug)]
pub enum Call {
    /// `acquire.lua`; the fence proposed and for how long it is remembered.
    Take {
        lock: u8,
        token: Bytes,
        ttl_ms: i64,
        fence: Option<(u64, i64)>,
        lease: Lease,
    },
    /// `raise.lua`.
    Raise {
        lock: u8,
        token: Bytes,
        to: u64,
        remembered_ms: i64,
    },
    /// `extend.lua`.
    Extend {
        lock: u8,
        token: Bytes,
        ttl_ms: i64,
        lease: Lease,
    },
    /// `release.lua`; carelessly, it does not look whose lock it deletes.
    Release {
        lock: u8,
        token: Bytes,
        careless: bool,
    },
}

impl Call {
    /// Which lock, and whose.
    pub fn of(&self) -> (u8, &Bytes) {
        match self {
            Self::Take { lock, token, .. }
            | Self::Raise { lock, token, .. }
            | Self::Extend { lock, token, .. }
            | Self::Release { lock, token, .. } => (*lock, token),
        }
    }
}

/// What a script answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Given(Given),
    Told(Told),
    Raised(u64),
    /// It ended with an error, before it wrote anything.
    Error,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Take {
                lock,
                token,
                ttl_ms,
                fence,
                ..
            } => {
                let proposed = fence.map(|(proposed, _)| proposed);
                write!(
                    f,
                    "take {lock} as {} for {ttl_ms} ms, fence {proposed:?}",
                    text(token)
                )
            }
            Self::Raise {
                lock, token, to, ..
            } => {
                write!(f, "raise {lock} of {} to {to}", text(token))
            }
            Self::Extend {
                lock,
                token,
                ttl_ms,
                ..
            } => {
                write!(f, "extend {lock} of {} to {ttl_ms} ms", text(token))
            }
            Self::Release { lock, token, .. } => write!(f, "release {lock} of {}", text(token)),
        }
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given(Given::Ours {
                again: false,
                fence,
            }) => write!(f, "taken, fence {fence}"),
            Self::Given(Given::Ours { again: true, fence }) => write!(f, "again, fence {fence}"),
            Self::Given(Given::Refused(told)) | Self::Told(told) => match told {
                Told::OtherOwner {
                    value: Value::Text(value),
                    pttl,
                } => {
                    write!(f, "it is {}'s for {pttl} ms", text(value))
                }
                told => write!(f, "{told:?}"),
            },
            Self::Raised(fence) => write!(f, "{fence}"),
            Self::Error => f.write_str("error"),
        }
    }
}

/// Bytes that are readable here.
pub fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
