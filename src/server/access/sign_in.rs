//! Sign-in with a password, and sign-out.

use std::net::IpAddr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};

use super::AccessControl;
use super::auth_metrics::SignInMethod;
use super::cookie::{self, CookieKind};
use super::oidc::claims::display_name;
use super::principal::AuthMethod;
use super::sessions::LoadedSession;
use super::throttle::AttemptSource;
use crate::domain::operation_error::{AuthenticationError, InternalError};
use crate::domain::{AuditDetail, OperationError, OperationKind};
use crate::server::audit::{AuditActor, AuditOutcome, AuditRequest};
use crate::server::config::access::UserConfig;

/// How long a browser is exempt from the account throttle after a sign-in.
const KNOWN_BROWSER_MAX_AGE: Duration = Duration::from_hours(180 * 24);

/// The cookies to set after a sign-in.
pub struct SignInCookies {
    /// The session.
    pub session: HeaderValue,
    /// Marks the browser as known for this account.
    pub known_browser: HeaderValue,
}

/// Longer passwords are rejected without hashing, in bytes.
const MAX_PASSWORD_BYTES: usize = 1024;

impl AccessControl {
    /// Signs a user in and returns the cookies to set. Ends an existing session of the browser.
    pub async fn sign_in(
        &self,
        name: &str,
        password: String,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<SignInCookies, OperationError> {
        let result =
            if password.len() > MAX_PASSWORD_BYTES || name.len() > UserConfig::MAX_NAME_BYTES {
                Err(OperationError::SignInRequired {
                    cause: AuthenticationError::WrongPassword,
                })
            } else {
                self.sign_in_with_password(name, password, headers, address)
                    .await
            };
        self.metrics.record(SignInMethod::Password, &result);
        result
    }

    async fn sign_in_with_password(
        &self,
        name: &str,
        password: String,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<SignInCookies, OperationError> {
        let (settings, is_https) = (self.settings(), self.is_https(headers));
        let browser_mark = cookie::read(CookieKind::KnownBrowser, headers, is_https);
        let source = AttemptSource {
            account: name,
            address,
            known_browser: browser_mark
                .and_then(|browser_mark| settings.users.verify_browser_mark(name, browser_mark)),
        };
        let (key, now) = (settings.users.throttle_key(), self.clock.now());
        // Before the password is verified, so that concurrent attempts cannot bypass the limit.
        let attempt = self.throttle.begin_attempt(source, key, now).await?;
        self.passwords.delay_attempt(attempt.delay).await?;
        let hash = settings.users.password_hash(name);
        // Looked up for existing users too, so that both cases take the same time.
        let dummy_hash = settings.users.dummy_hash_for(name);
        if !self.passwords.verify(hash, dummy_hash, password).await? {
            // An unknown name may be a password typed into the wrong field, so it is not logged.
            let user = hash.map(|_| name);
            tracing::info!(?user, ?address, "sign-in rejected: wrong name or password");
            let user = user.unwrap_or("(unknown user)");
            let error = OperationError::SignInRequired {
                cause: AuthenticationError::WrongPassword,
            };
            self.audit.record_rejection(
                &sign_in_audit_request(OperationKind::SignIn, user, address),
                &error,
            );
            return Err(error);
        }
        attempt.record_success(self.clock.now()).await?;
        // The new cookie overwrites the old one, so the user could not end the old session any
        // more.
        self.end_browser_session(headers).await;
        let credential_version =
            settings
                .users
                .credential_version(name)
                .ok_or(OperationError::Internal {
                    cause: InternalError::NoPasswordHash,
                })?;
        let secret = self
            .sessions
            .create(
                name,
                credential_version,
                self.sessions.max_age(),
                self.clock.now(),
            )
            .await?;
        tracing::info!(user = ?name, ?address, "signed in");
        self.audit.record(
            &sign_in_audit_request(OperationKind::SignIn, name, address),
            &AuditOutcome::done(&[]),
        );
        let browser_mark = settings.users.issue_browser_mark(name).unwrap_or_default();
        let max_age = self.sessions.max_age();
        Ok(SignInCookies {
            session: cookie::set(CookieKind::Session, &secret, max_age, is_https),
            known_browser: cookie::set(
                CookieKind::KnownBrowser,
                &browser_mark,
                KNOWN_BROWSER_MAX_AGE,
                is_https,
            ),
        })
    }

    /// Ends the session of this browser, or all sessions of its user. Returns the header that
    /// deletes the cookie, and whether the user had signed in with a provider.
    pub async fn sign_out(&self, headers: &HeaderMap, everywhere: bool) -> (HeaderValue, bool) {
        let is_https = self.is_https(headers);
        let mut is_from_provider = false;
        if let Some(LoadedSession { user, key, .. }) = self.end_browser_session(headers).await {
            if everywhere {
                self.sessions.end_all_of_user(&user).await;
            }
            let settings = self.settings();
            // Only users of the provider are offered to sign out there too.
            let with_password = settings
                .users
                .session_identity(&user, key.credential_version())
                .is_some();
            is_from_provider = !with_password && settings.oidc.is_some();
            let name = if with_password {
                (&*user).into()
            } else {
                display_name(&user)
            };
            tracing::info!(user = ?name, everywhere, "signed out");
            let subject = settings
                .oidc
                .as_ref()
                .and_then(|oidc| oidc.provider_subject(&user));
            let mut request = sign_in_audit_request(OperationKind::SignOut, &name, None);
            request.by.subject = subject.as_deref().filter(|_| is_from_provider);
            request.detail = everywhere.then_some(AuditDetail::AllSessions);
            self.audit.record(&request, &AuditOutcome::done(&[]));
        }
        let nothing = cookie::set(CookieKind::Session, "", Duration::ZERO, is_https);
        (nothing, is_from_provider)
    }

    /// Ends the session of a browser, if it has one.
    pub(super) async fn end_browser_session(&self, headers: &HeaderMap) -> Option<LoadedSession> {
        let secret = cookie::read(CookieKind::Session, headers, self.is_https(headers))?;
        let Ok(session) = self.sessions.load(secret, self.clock.now()).await else {
            // The user cannot be determined, but the browser must be signed out nevertheless.
            self.sessions.end_by_secret(secret).await;
            return None;
        };
        let session = session?;
        self.sessions.end(&session.key).await;
        Some(session)
    }
}

/// The audit record of a sign-in or sign-out.
pub(super) fn sign_in_audit_request(
    act: OperationKind,
    name: &str,
    address: Option<IpAddr>,
) -> AuditRequest<'_> {
    let by = AuditActor {
        actor: name,
        subject: None,
        auth_method: AuthMethod::Session.slug(),
        address,
        request_id: None,
    };
    AuditRequest::new(act, by)
}
