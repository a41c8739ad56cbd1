//! How many came, on which way, and what came of it, for Prometheus. No name: whoever guesses names would make up labels.

use prometheus::core::Collector;
use prometheus::{IntCounterVec, Opts};

use super::oidc::Refusal;
use crate::domain::Fault;

/// How somebody comes who has to say who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// With a name and a password, once a session.
    Password,
    /// Through a provider, once a session.
    Provider,
    /// With an API token, once a request.
    Token,
    /// A reverse proxy says who they are, once a request.
    Proxy,
}

impl Way {
    const ALL: [Self; 4] = [Self::Password, Self::Provider, Self::Token, Self::Proxy];

    fn slug(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Provider => "provider",
            Self::Token => "token",
            Self::Proxy => "proxy",
        }
    }
}

/// They are in.
const DONE: &str = "done";
/// They did not prove it, or may not come in.
const REFUSED: &str = "refused";
/// It was tried too often, and is not looked at for a while.
const TOO_OFTEN: &str = "too-often";
/// What has to be asked could not be: the provider, or storage.
const NOT_ASKED: &str = "not-asked";
/// They changed their mind at the provider.
const CANCELLED: &str = "cancelled";

const OUTCOMES: [&str; 5] = [DONE, REFUSED, TOO_OFTEN, NOT_ASKED, CANCELLED];

/// Those who came.
pub struct Comers(IntCounterVec);

impl Default for Comers {
    fn default() -> Self {
        let counts = Opts::new(
            "lockkeeper_sign_ins_total",
            "Who came, by way and by what came of it: password and provider once a session, token and proxy once a request; done, refused, too-often, not-asked because nobody could be, cancelled at the provider.",
        );
        let counts = IntCounterVec::new(counts, &["way", "outcome"]);
        let counts = counts.expect("name and labels are constants");
        // What is there from the beginning is seen to rise from the first time on.
        for way in Way::ALL {
            for outcome in OUTCOMES {
                counts.with_label_values(&[way.slug(), outcome]);
            }
        }
        Self(counts)
    }
}

impl Comers {
    fn count(&self, way: Way, outcome: &str) {
        self.0.with_label_values(&[way.slug(), outcome]).inc();
    }

    /// For Prometheus.
    pub fn collector(&self) -> Box<dyn Collector> {
        Box::new(self.0.clone())
    }

    /// Somebody came, and this came of it.
    pub fn came<T>(&self, way: Way, end: &Result<T, Fault>) {
        self.count(way, end.as_ref().map_or_else(of_fault, |_| DONE));
    }

    /// Somebody came back from a provider, and this came of it.
    pub fn came_back<T>(&self, end: &Result<T, Refusal>) {
        let outcome = match end {
            Ok(_) => DONE,
            Err(Refusal::NotNow(fault)) => of_fault(fault),
            Err(Refusal::Away(_) | Refusal::Unknown(_) | Refusal::Clock { .. }) => NOT_ASKED,
            Err(Refusal::Cancelled) => CANCELLED,
            Err(
                Refusal::NotOffered
                | Refusal::Refused(_)
                | Refusal::Expired
                | Refusal::NotProven(_)
                | Refusal::NoGrant { .. }
                | Refusal::NameTaken { .. },
            ) => REFUSED,
        };
        self.count(Way::Provider, outcome);
    }
}

fn of_fault(fault: &Fault) -> &'static str {
    match fault {
        Fault::TooMany { .. } => TOO_OFTEN,
        Fault::StorageUnavailable { .. } | Fault::Internal { .. } => NOT_ASKED,
        _ => REFUSED,
    }
}
