//! The authorization code flow: redirect to the provider, and callback with a code.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use super::pending::PendingSignIn;
use super::{CodeExchange, OidcSignIn, SignInError};
use crate::domain::operation_error::InternalError;
use crate::domain::{AuditDetail, OperationError, OperationKind, SignInOptions};
use crate::server::access::AccessControl;
use crate::server::access::cookie::{self, CookieKind};
use crate::server::access::secret::{SecretDigest, generate_secret};
use crate::server::access::sign_in::sign_in_audit_request;
use crate::server::access::throttle::AttemptSource;
use crate::server::audit::AuditOutcome;
use crate::server::config::oidc::{OidcConfig, RoleMapping};

/// The redirect to the provider.
pub struct ProviderRedirect {
    /// The authorization URL.
    pub url: String,
    /// Cookies that store the pending sign-in.
    pub cookies: Vec<HeaderValue>,
}

/// The query parameters of the callback.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct CallbackParams {
    state: String,
    code: String,
    error: String,
    error_description: String,
    iss: Option<String>,
}

/// The result of a callback.
pub struct CallbackOutcome {
    /// The session cookie, or the reason for the rejection.
    pub result: Result<HeaderValue, SignInError>,
    /// The path to continue at; empty if unknown.
    pub next: String,
    /// Deletes the cookie of the pending sign-in.
    pub clear_cookie: HeaderValue,
}

impl AccessControl {
    /// The available sign-in methods.
    pub fn sign_in_options(&self) -> SignInOptions {
        let settings = self.settings();
        let provider = settings.oidc.as_ref();
        SignInOptions {
            is_auth_disabled: settings.is_auth_disabled,
            has_password: settings.users.has_passwords(),
            provider: provider.map(|oidc| oidc.label().to_owned()),
        }
    }

    /// Whether a user with an expired session can be redirected to the provider immediately, which
    /// signs them in without interaction if they still have a session there. True if the browser
    /// had a session and passwords are not available.
    pub fn can_sign_in_silently(&self, headers: &HeaderMap) -> bool {
        let settings = self.settings();
        let had_session =
            cookie::read(CookieKind::Session, headers, self.is_https(headers)).is_some();
        had_session && settings.oidc.is_some() && !settings.users.has_passwords()
    }

    /// Fetches the provider's metadata at startup, if a provider is configured.
    pub async fn discover_provider(&self) {
        let settings = self.settings();
        if let Some(oidc) = &settings.oidc {
            oidc.discover().await;
        }
    }

    /// The URL at which the user signs out at the provider, if it supports that.
    pub async fn provider_sign_out_url(&self) -> Option<String> {
        let settings = self.settings();
        settings.oidc.as_ref()?.sign_out_url().await
    }

    /// Starts a sign-in at the provider that continues at `next`.
    pub async fn start_provider_sign_in(
        &self,
        next: &str,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> Result<ProviderRedirect, SignInError> {
        let settings = self.settings();
        let oidc = settings.oidc.as_ref().ok_or(SignInError::NotConfigured)?;
        // Before the provider is contacted: the request is unauthenticated.
        self.throttle.check_provider_rate(address)?;
        // `state` protects the callback against forgery, `nonce` the ID token against replay.
        let (state, nonce) = (generate_secret(), generate_secret());
        let authorization = oidc.provider.start_authorization(&state, &nonce).await?;
        let pending = PendingSignIn {
            nonce,
            verifier: authorization.pkce_verifier,
            next: next.to_owned(),
            began: self.clock.now(),
        };
        let cookies = pending.to_cookies(&state, headers, self.is_https(headers));
        let cookies = cookies.ok_or(OperationError::Internal {
            cause: InternalError::SignInNotEncrypted,
        })?;
        Ok(ProviderRedirect {
            url: authorization.url,
            cookies,
        })
    }

    /// Completes a sign-in after the redirect from the provider. Ends an existing session of the
    /// browser.
    pub async fn handle_callback(
        &self,
        params: &CallbackParams,
        headers: &HeaderMap,
        address: Option<IpAddr>,
    ) -> CallbackOutcome {
        let mut next = String::new();
        let result = self
            .complete_provider_sign_in(params, headers, address, &mut next)
            .await;
        self.metrics.record_provider(&result);
        match &result {
            Ok(_) => {}
            // Rejected by the throttle before verification. An attacker can cause any number of
            // these, so they are not audited.
            Err(SignInError::Failed(OperationError::TooManyRequests { .. })) => {
                tracing::debug!(?address, "sign-in rejected by the throttle");
            }
            Err(error) => self.log_sign_in_error(error, address),
        }
        CallbackOutcome {
            result,
            next,
            clear_cookie: PendingSignIn::clear_cookie(&params.state, self.is_https(headers)),
        }
    }

    async fn complete_provider_sign_in(
        &self,
        params: &CallbackParams,
        headers: &HeaderMap,
        address: Option<IpAddr>,
        next: &mut String,
    ) -> Result<HeaderValue, SignInError> {
        let settings = self.settings();
        let oidc = settings.oidc.as_ref().ok_or(SignInError::NotConfigured)?;
        // The user is not known yet, so failures count against the network only.
        let account = format!(
            "provider {}",
            SecretDigest::of_secret(&params.state).to_hex()
        );
        let now = self.clock.now();
        let source = AttemptSource {
            account: &account,
            address,
            known_browser: None,
        };
        let key = settings.users.throttle_key();
        let attempt = self.throttle.begin_attempt(source, key, now).await?;
        let verified = self.verify_callback(oidc, params, headers, next).await;
        if verified
            .as_ref()
            .err()
            .is_none_or(|error| !error.counts_as_failed_attempt())
        {
            attempt.record_success(now).await?;
        }
        let (session_user, name, role_mapping) = verified?;
        // Otherwise pages and the audit log could not distinguish the two users.
        if settings.users.contains(&name) {
            return Err(SignInError::NameTaken { name });
        }
        self.end_browser_session(headers).await;
        let credential_version = oidc.config.credential_version(role_mapping);
        let max = oidc.config.max_session_age;
        let secret = self
            .sessions
            .create(&session_user, credential_version, max, now)
            .await?;
        let mapping = format!("{} has {:?}", role_mapping.claim, role_mapping.value);
        tracing::info!(user = ?name, ?address, provider = oidc.label(), mapping, "signed in");
        let subject = oidc.provider_subject(&session_user);
        let mut request = sign_in_audit_request(OperationKind::SignIn, &name, address);
        request.by.subject = subject.as_deref();
        request.detail = Some(AuditDetail::ProviderSignIn {
            provider: oidc.label().to_owned(),
            claim: role_mapping.claim.clone(),
            value: role_mapping.value.clone(),
            user: session_user.clone(),
        });
        self.audit.record(&request, &AuditOutcome::done(&[]));
        let (max_age, is_https) = (self.sessions.max_age(), self.is_https(headers));
        Ok(cookie::set(CookieKind::Session, &secret, max_age, is_https))
    }

    /// Verifies the callback. Returns the session user, the display name and the role mapping.
    async fn verify_callback<'a>(
        &self,
        oidc: &'a OidcSignIn,
        params: &CallbackParams,
        headers: &HeaderMap,
        next: &mut String,
    ) -> Result<(String, String, &'a RoleMapping), SignInError> {
        // Only the browser that started the sign-in has the cookie. Without this check, an attacker
        // could make a victim open a callback URL and sign in as the attacker (login CSRF).
        let is_https = self.is_https(headers);
        let pending =
            PendingSignIn::from_cookie(&params.state, headers, is_https, self.clock.now());
        let pending = pending.ok_or(SignInError::Expired)?;
        next.clone_from(&pending.next);
        params.check(&oidc.config)?;
        let exchange = CodeExchange {
            code: &params.code,
            pkce_verifier: &pending.verifier,
            nonce: &pending.nonce,
        };
        let required = oidc.config.required_claims();
        let now = self.clock.now();
        let claims = oidc
            .provider
            .exchange_code(exchange, &required, now)
            .await?;
        let subject = oidc.config.subject(&claims)?;
        let role_mapping = oidc.config.find_role_mapping(&claims);
        let role_mapping = role_mapping.ok_or_else(|| SignInError::NoRoleMapping {
            name: subject.name.clone(),
        })?;
        Ok((subject.session_user(), subject.name, role_mapping))
    }

    fn log_sign_in_error(&self, error: &SignInError, address: Option<IpAddr>) {
        let (user_name, message) = (error.user_name(), error.log_message());
        match error {
            SignInError::ProviderUnavailable(_)
            | SignInError::ClientRejected(_)
            | SignInError::ClockSkew { .. } => {
                tracing::warn!(user = ?user_name, ?address, "sign-in rejected: {message}");
            }
            _ => tracing::info!(user = ?user_name, ?address, "sign-in rejected: {message}"),
        }
        let request = sign_in_audit_request(
            OperationKind::SignIn,
            user_name.unwrap_or("(unknown)"),
            address,
        );
        self.audit
            .record_rejection(&request, &error.to_operation_error());
    }
}

impl CallbackParams {
    /// Checks the issuer and the error parameters of the callback.
    fn check(&self, config: &OidcConfig) -> Result<(), SignInError> {
        let issuer = &config.provider.issuer;
        // The response of another provider (mix-up attack, RFC 9207).
        if self.iss.as_ref().is_some_and(|iss| iss != issuer) {
            return Err(SignInError::Unverified(
                "the response was issued by another provider".to_owned(),
            ));
        }
        match self.error.as_str() {
            "" if self.code.is_empty() => Err(SignInError::RejectedByProvider(
                "the response contains no code".to_owned(),
            )),
            "" => Ok(()),
            "access_denied" => Err(SignInError::Cancelled),
            "temporarily_unavailable" | "server_error" => Err(SignInError::ProviderUnavailable(
                format!("the provider reported {}", self.error),
            )),
            error => Err(SignInError::RejectedByProvider(format!(
                "{error} {}",
                self.error_description
            ))),
        }
    }
}
