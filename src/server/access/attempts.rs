//! Back-off after failed sign-ins, counted by one console or by all that share a Redis.

use std::net::IpAddr;
use std::time::Duration;

use super::throttle::{
    Attempt, FORGOTTEN, FREE_BEGINNINGS, FREE_FOR_ACCOUNT, FREE_FOR_NETWORK, FREE_FROM_EVERYWHERE,
    LONGEST_DELAY, LONGEST_WAIT, Throttle, Trier, network, too_many,
};
use crate::domain::{Fault, Timestamp};
use crate::server::shared::Shared;
use crate::server::shared::attempts::{Rules, Tries};

const RULES: Rules = Rules {
    free_for_account: FREE_FOR_ACCOUNT,
    free_for_network: FREE_FOR_NETWORK,
    free_from_everywhere: FREE_FROM_EVERYWHERE,
    longest_wait: LONGEST_WAIT,
    longest_delay: LONGEST_DELAY,
    forgotten: FORGOTTEN,
};

/// Of sign-ins that begin at a provider the network alone counts.
const BEGINNINGS: Rules = Rules {
    free_for_account: u32::MAX,
    free_for_network: FREE_BEGINNINGS,
    free_from_everywhere: u32::MAX,
    ..RULES
};

/// What such sign-ins are counted under, apart from those with a password.
const ELSEWHERE: &str = "(at the provider)";

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
        /// What is counted.
        tries: Tries,
        /// For so long it is held up.
        delay: Duration,
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
    pub async fn begin(&self, trier: Trier<'_>, now: Timestamp) -> Result<Tried<'_>, Fault> {
        let shared = match self {
            Self::Here(throttle) => return throttle.begin(trier, now).map(Tried::Here),
            Self::There(shared) => shared,
        };
        let tries = Tries {
            account: trier.account.to_owned(),
            network: name_of(trier.address),
            known_browser: trier.known_browser.map(str::to_owned),
        };
        let (wait, delay) = shared.attempt(&tries, RULES).await?;
        if !wait.is_zero() {
            return Err(too_many(wait));
        }
        Ok(Tried::There {
            shared,
            tries,
            delay,
        })
    }

    /// One more sign-in that begins at a provider, or how long to wait.
    pub async fn begin_elsewhere(
        &self,
        address: Option<IpAddr>,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let shared = match self {
            Self::Here(throttle) => return throttle.begin_elsewhere(address, now),
            Self::There(shared) => shared,
        };
        match shared.attempt(&elsewhere(address), BEGINNINGS).await? {
            (Duration::ZERO, _) => Ok(()),
            (wait, _) => Err(too_many(wait)),
        }
    }

    /// A sign-in that began at a provider has ended well.
    pub async fn ended_elsewhere(&self, address: Option<IpAddr>) -> Result<(), Fault> {
        match self {
            Self::Here(throttle) => throttle.ended_elsewhere(address),
            Self::There(shared) => {
                let tries = elsewhere(address);
                shared.attempt_succeeded(&tries, BEGINNINGS).await?;
            }
        }
        Ok(())
    }
}

fn elsewhere(address: Option<IpAddr>) -> Tries {
    Tries {
        account: ELSEWHERE.to_owned(),
        network: format!("{ELSEWHERE} {}", name_of(address)),
        known_browser: None,
    }
}

fn name_of(address: Option<IpAddr>) -> String {
    address.map_or_else(String::new, |address| format!("{:x}", network(address)))
}

impl Tried<'_> {
    /// For how long it is held up before it is looked at.
    pub fn delay(&self) -> Duration {
        match self {
            Self::Here(attempt) => attempt.delay,
            Self::There { delay, .. } => *delay,
        }
    }

    /// It was the right password.
    pub async fn succeeded(self) -> Result<(), Fault> {
        match self {
            Self::Here(attempt) => attempt.succeeded(),
            Self::There { shared, tries, .. } => shared.attempt_succeeded(&tries, RULES).await?,
        }
        Ok(())
    }
}
