//! Authentication metrics. User names are not labels: guessed names would create unbounded label
//! values.

use prometheus::core::Collector;
use prometheus::{IntCounterVec, Opts};

use super::oidc::SignInError;
use crate::domain::OperationError;

/// The method of an authentication, as a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInMethod {
    /// Name and password, counted once per session.
    Password,
    /// An OpenID Connect provider, counted once per session.
    Provider,
    /// An API token, counted once per request.
    Token,
    /// An auth proxy, counted once per request.
    Proxy,
}

impl SignInMethod {
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

/// Authenticated.
const SUCCEEDED: &str = "done";
/// Wrong credentials, or no role.
const REFUSED: &str = "refused";
/// Rejected by the throttle after failed attempts.
const RATE_LIMITED: &str = "rate-limited";
/// The provider or the storage is unavailable.
const UNAVAILABLE: &str = "unavailable";
/// Cancelled by the user at the provider.
const CANCELLED: &str = "cancelled";

const RESULTS: [&str; 5] = [SUCCEEDED, REFUSED, RATE_LIMITED, UNAVAILABLE, CANCELLED];

/// Counts authentications by method and result.
pub struct AuthMetrics(IntCounterVec);

impl Default for AuthMetrics {
    fn default() -> Self {
        let counts = Opts::new(
            "lockkeeper_authentications_total",
            "Authentications by method and result. password and provider count once per session, token and proxy once per request. Results: done, refused, rate-limited, unavailable (the provider or the storage cannot be reached), cancelled (by the user at the provider).",
        );
        let counts = IntCounterVec::new(counts, &["method", "result"]);
        let counts = counts.expect("name and labels are constants");
        // All label combinations start at 0, so that `rate()` includes the first increment.
        for method in SignInMethod::ALL {
            for result in RESULTS {
                counts.with_label_values(&[method.slug(), result]);
            }
        }
        Self(counts)
    }
}

impl AuthMetrics {
    fn increment(&self, method: SignInMethod, result: &str) {
        self.0.with_label_values(&[method.slug(), result]).inc();
    }

    pub fn collector(&self) -> Box<dyn Collector> {
        Box::new(self.0.clone())
    }

    /// Records the result of an authentication.
    pub fn record<T>(&self, method: SignInMethod, result_value: &Result<T, OperationError>) {
        self.increment(
            method,
            result_value
                .as_ref()
                .map_or_else(result_of_error, |_| SUCCEEDED),
        );
    }

    /// Records the result of a sign-in with an OpenID Connect provider.
    pub fn record_provider<T>(&self, result_value: &Result<T, SignInError>) {
        let result = match result_value {
            Ok(_) => SUCCEEDED,
            Err(SignInError::Failed(error)) => result_of_error(error),
            Err(
                SignInError::ProviderUnavailable(_)
                | SignInError::ClientRejected(_)
                | SignInError::ClockSkew { .. },
            ) => UNAVAILABLE,
            Err(SignInError::Cancelled) => CANCELLED,
            Err(
                SignInError::NotConfigured
                | SignInError::RejectedByProvider(_)
                | SignInError::Expired
                | SignInError::Unverified(_)
                | SignInError::NoRoleMapping { .. }
                | SignInError::NameTaken { .. },
            ) => REFUSED,
        };
        self.increment(SignInMethod::Provider, result);
    }
}

fn result_of_error(error: &OperationError) -> &'static str {
    match error {
        OperationError::TooManyRequests { .. } => RATE_LIMITED,
        // Not the client's fault, so these are not rejections.
        OperationError::StorageUnavailable { .. } | OperationError::Internal { .. } => UNAVAILABLE,
        _ => REFUSED,
    }
}
