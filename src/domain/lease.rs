//! Leases: when a lock expires.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;

/// When a lock expires unless it is renewed.
///
/// In JSON a lease has two fields: `lease_ms`, the time left when it was observed, and `expires_at`.
/// Both are null for a lock that never expires and for one that ends with its session; the latter
/// also has `ends_with_session`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LeaseJson", into = "LeaseJson")]
pub enum Lease {
    /// The lock expires.
    Expires {
        /// The expiry, by the console's clock.
        at: Timestamp,
        /// Milliseconds left when the lock was observed; 0 for an overdue legacy lock.
        left_ms: u64,
    },
    /// The lock ends with the owner's session (ZooKeeper) or connection (PostgreSQL). When that is,
    /// the service does not report.
    Session,
    /// The key has no TTL. The lock is held until it is released.
    Never,
}

/// The JSON representation of a lease.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct LeaseJson {
    /// Milliseconds left when the lock was observed; null for a lock without expiry.
    #[serde(default)]
    lease_ms: Option<u64>,
    /// When the lock expires unless it is renewed; null for a lock without expiry.
    #[serde(default)]
    expires_at: Option<Timestamp>,
    /// The lock ends with the owner's session or connection, at a time that the service does not
    /// report. Absent for other locks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ends_with_session: bool,
}

impl utoipa::PartialSchema for Lease {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        LeaseJson::schema()
    }
}

impl ToSchema for Lease {}

impl From<LeaseJson> for Lease {
    fn from(json: LeaseJson) -> Self {
        match (json.expires_at, json.lease_ms) {
            (Some(at), left_ms) => Self::Expires {
                at,
                left_ms: left_ms.unwrap_or(0),
            },
            (None, _) if json.ends_with_session => Self::Session,
            (None, _) => Self::Never,
        }
    }
}

impl From<Lease> for LeaseJson {
    fn from(lease: Lease) -> Self {
        match lease {
            Lease::Expires { at, left_ms } => Self {
                lease_ms: Some(left_ms),
                expires_at: Some(at),
                ends_with_session: false,
            },
            Lease::Session => Self {
                lease_ms: None,
                expires_at: None,
                ends_with_session: true,
            },
            Lease::Never => Self {
                lease_ms: None,
                expires_at: None,
                ends_with_session: false,
            },
        }
    }
}

impl Lease {
    /// A lease that ends at `at` and was observed at `observed_at`.
    pub fn until(at: Timestamp, observed_at: Timestamp) -> Self {
        Self::Expires {
            at,
            left_ms: u64::try_from(at.millis_since(observed_at)).unwrap_or(0),
        }
    }

    /// Milliseconds left at `now`; 0 after the expiry, `None` for a lock without a known expiry.
    pub fn remaining_ms(self, now: Timestamp) -> Option<u64> {
        match self {
            Self::Expires { at, .. } => Some(u64::try_from(at.millis_since(now)).unwrap_or(0)),
            Self::Session | Self::Never => None,
        }
    }

    /// Corrects the lease for a clock that was adjusted by `ms` milliseconds.
    pub fn shifted(self, ms: i64) -> Self {
        match self {
            Self::Expires { at, left_ms } => Self::Expires {
                at: at.plus_millis(ms),
                left_ms,
            },
            Self::Session => Self::Session,
            Self::Never => Self::Never,
        }
    }

    /// The expiry; `None` for a lock without a known expiry.
    pub fn expires_at(self) -> Option<Timestamp> {
        match self {
            Self::Expires { at, .. } => Some(at),
            Self::Session | Self::Never => None,
        }
    }

    /// Orders leases by their expiry. Leases without a known expiry are the greatest.
    pub fn cmp_expiry(&self, other: &Self) -> Ordering {
        match (self.expires_at(), other.expires_at()) {
            (Some(a), Some(b)) => a.cmp(&b),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (None, None) => Ordering::Equal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_without_expiry_is_null_in_json() {
        assert_eq!(
            serde_json::to_string(&Lease::Never).unwrap(),
            r#"{"lease_ms":null,"expires_at":null}"#
        );
        assert_eq!(serde_json::from_str::<Lease>("{}").unwrap(), Lease::Never);
    }

    #[test]
    fn a_lease_that_ends_with_its_session_differs_from_one_without_expiry_in_json() {
        let json = serde_json::to_string(&Lease::Session).unwrap();
        assert_eq!(
            json,
            r#"{"lease_ms":null,"expires_at":null,"ends_with_session":true}"#
        );
        assert_eq!(
            serde_json::from_str::<Lease>(&json).unwrap(),
            Lease::Session
        );
    }
}
