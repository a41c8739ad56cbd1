//! Back-off after failed sign-ins, counted by one console or by all that share a Redis.

use std::net::IpAddr;
use std::time::Duration;

use super::throttle::{
    Attempt, FORGOTTEN, FREE_FOR_ACCOUNT, FREE_FOR_ADDRESS, LONGEST_WAIT, Throttle, network,
    too_many,
};
use crate::domain::{Fault, Timestamp};
use crate::server::shared::Shared;
use crate::server::shared::attempts::Rules;

const RULES: Rules = Rules {
    free_for_account: FREE_FOR_ACCOUNT,
    free_for_address: FREE_FOR_ADDRESS,
    longest_wait: LONGEST_WAIT,
    forgotten: FORGOTTEN,
};

/// Who tried in vain.
pub enum Attempts {
    /// Counted by this console alone.
    Here(Throttle),
    /// Counted for all.
    There(Shared),
}

/// An attempt that may be made.
pub enum Tried<'a> {
    /// Counted here.
    Here(Attempt<'a>),
    /// Counted for all.
    There {
        /// Where.
        shared: &'a Shared,
        /// Whose account.
        account: String,
        /// From where.
        address: String,
    },
}

impl Attempts {
    /// Nobody has tried in vain, as far as this console knows.
    pub fn new(shared: Option<&Shared>) -> Self {
        match shared {
            None => Self::Here(Throttle::default()),
            Some(shared) => Self::There(shared.clone()),
        }
    }

    /// One more attempt, or how long to wait. It counts as failed until it is told to have succeeded.
    pub async fn begin(
        &self,
        name: &str,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<Tried<'_>, Fault> {
        let shared = match self {
            Self::Here(throttle) => return throttle.begin(name, address, now).map(Tried::Here),
            Self::There(shared) => shared,
        };
        let address = address.map_or_else(String::new, |address| format!("{:x}", network(address)));
        match shared.attempt(name, &address, RULES).await? {
            Duration::ZERO => Ok(Tried::There {
                shared,
                account: name.to_owned(),
                address,
            }),
            wait => Err(too_many(wait)),
        }
    }
}

impl Tried<'_> {
    /// It was the right password.
    pub async fn succeeded(self) -> Result<(), Fault> {
        match self {
            Self::Here(attempt) => attempt.succeeded(),
            Self::There {
                shared,
                account,
                address,
            } => {
                shared.attempt_succeeded(&account, &address, RULES).await?;
            }
        }
        Ok(())
    }
}
