//! Revalidates principals: a session, token or role can end while an event stream is open, a
//! request waits, or a lock is renewed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::{AccessControl, AccessSettings, AuthMethod, Identity, Principal};
use crate::domain::operation_error::AuthenticationError;
use crate::domain::{LockId, OperationError, Permission, Scope, Timestamp};

/// How often waiting requests are revalidated. A configuration change triggers revalidation
/// immediately.
const REVALIDATION_INTERVAL: Duration = Duration::from_secs(2);

impl AccessSettings {
    /// The identity that the current configuration yields for the same authentication method: same
    /// token, still trusted proxy, same password or role mapping, or authentication still disabled.
    fn current_identity(&self, principal: &Principal, now: Timestamp) -> Option<Arc<Identity>> {
        match principal.auth_method() {
            AuthMethod::Session => {
                let session = principal.session()?;
                self.session_identity(&principal.session_user(), session)
            }
            AuthMethod::Token { id } => {
                let identity = self.tokens.identity_by_id(id, now)?;
                (identity.token_digest.as_ref() == principal.token_digest()).then_some(identity)
            }
            AuthMethod::Proxy => self
                .users
                .revalidate_proxy_identity(principal.name(), principal.peer()),
            AuthMethod::NoAuth => self
                .is_auth_disabled
                .then(|| Arc::clone(principal.identity())),
            AuthMethod::CommandLine => Some(Arc::clone(principal.identity())),
        }
    }
}

impl AccessControl {
    /// Whether the principal is still authenticated with the same role: its session is valid and
    /// its credential and permissions have not changed.
    pub async fn revalidate(&self, principal: &Principal) -> bool {
        let now = self.clock.now();
        if let Some(session) = principal.session()
            && !self.sessions.check_valid(session, now).await
        {
            return false;
        }
        let identity = self.settings().current_identity(principal, now);
        identity.is_some_and(|identity| identity.grant == *principal.grant())
    }

    /// Whether the principal may still extend a lock that is renewed for it. The end of its session
    /// does not matter: auto-renewal continues after the user has signed out.
    pub fn can_still_renew(&self, principal: &Principal, id: &LockId) -> bool {
        let identity = self
            .settings()
            .current_identity(principal, self.clock.now());
        identity.is_some_and(|identity| {
            let allowed = identity
                .grant
                .authorize(Permission::Extend, Scope::lock(id));
            allowed.is_ok()
        })
    }

    /// Runs `work` until it completes or the principal loses access. `work` must be cancel-safe.
    pub async fn run_while_authorized<T>(
        &self,
        principal: &Principal,
        work: impl Future<Output = Result<T, OperationError>>,
    ) -> Result<T, OperationError> {
        tokio::select! {
            biased;
            result = work => result,
            () = self.wait_until_revoked(principal) => Err(OperationError::SignInRequired {
                cause: AuthenticationError::AccessRevoked,
            }),
        }
    }

    async fn wait_until_revoked(&self, principal: &Principal) {
        let mut config_version = self.config_version.subscribe();
        let mut tick = interval(REVALIDATION_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick fires immediately, but the principal was authenticated just now.
        tick.tick().await;
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                // Never fails: the sender is a field of `self`.
                _ = config_version.changed() => {}
            }
            if !self.revalidate(principal).await {
                return;
            }
        }
    }
}
