//! Authentication and authorization: resolves a request to a principal with a role and permissions.

mod auth_metrics;
mod cookie;
pub mod forwarded;
mod host;
pub mod oidc;
mod oidc_subject;
pub mod password;
mod principal;
mod request_id;
mod revalidation;
mod secret;
mod sessions;
mod sign_in;
mod throttle;
pub mod tokens;
mod users;

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, header};
use parking_lot::RwLock;
use prometheus::core::Collector;
use tokio::sync::watch;

pub use forwarded::ClientAddress;
pub use principal::{AuthMethod, Identity, Principal};
pub use request_id::RequestId;
pub use sign_in::SignInCookies;

use self::auth_metrics::{AuthMetrics, SignInMethod};
use self::cookie::CookieKind;
use self::forwarded::TrustedProxies;
use self::oidc::OidcSignIn;
use self::password::PasswordVerifier;
pub use self::secret::SecretDigest;
use self::sessions::{SessionKey, Sessions};
use self::throttle::SignInThrottle;
use self::tokens::ApiTokens;
use self::users::UserDirectory;
use super::audit::AuditLog;
use super::clock::Clock;
use super::config::AccessConfig;
use super::storage::Storage;
use crate::domain::operation_error::{AuthenticationError, DenialReason};
use crate::domain::role::Role;
use crate::domain::{CurrentUser, OperationError, SessionKind};

/// Authenticates requests and manages sessions.
pub struct AccessControl {
    clock: Clock,
    audit: AuditLog,
    settings: ArcSwap<AccessSettings>,
    /// Incremented when the configuration is replaced, so that waiting requests revalidate.
    config_version: watch::Sender<u64>,
    /// `insecure_no_auth`: without authentication, also requests from other machines are accepted.
    insecure_no_auth: bool,
    secure_cookies: Option<bool>,
    /// The address that the console listens on.
    listen: IpAddr,
    /// Why the last configuration reload failed.
    config_error: RwLock<Option<String>>,
    sessions: Sessions,
    throttle: SignInThrottle,
    passwords: PasswordVerifier,
    metrics: AuthMetrics,
}

/// The `[sign_in]` part of the configuration, prepared for lookups.
struct AccessSettings {
    /// No user, token, auth proxy or provider is configured: requests are not authenticated.
    is_auth_disabled: bool,
    /// Credentials are sent over a network without TLS.
    exposes_credentials: bool,
    /// Without authentication: host names that are accepted besides IP addresses and `localhost`.
    allowed_hosts: Vec<String>,
    proxies: TrustedProxies,
    users: UserDirectory,
    tokens: ApiTokens,
    oidc: Option<OidcSignIn>,
}

impl AccessSettings {
    /// Prepares the settings. Reuses the discovered metadata of an unchanged provider in `previous`.
    fn from_config(config: &AccessConfig, listen: IpAddr, previous: Option<&Self>) -> Self {
        let provider = previous.and_then(|previous| previous.oidc.as_ref());
        Self {
            is_auth_disabled: config.is_auth_disabled(),
            exposes_credentials: config.exposes_credentials_on(listen),
            allowed_hosts: config.allowed_hosts.clone(),
            proxies: TrustedProxies::new(&config.trusted_proxies),
            users: UserDirectory::from_config(config),
            tokens: ApiTokens::from_config(&config.tokens),
            oidc: config
                .oidc
                .as_ref()
                .and_then(|config| OidcSignIn::from_config(config, provider)),
        }
    }

    /// The identity behind a session, if the credential that it was created with is still valid.
    fn session_identity(&self, session_user: &str, session: &SessionKey) -> Option<Arc<Identity>> {
        let with_password = self
            .users
            .session_identity(session_user, session.credential_version());
        let provider = self.oidc.as_ref();
        with_password
            .or_else(|| provider?.session_identity(session_user, session.credential_version()))
    }
}

impl AccessControl {
    /// Creates the access control for a console that listens on this address. Sessions and failed
    /// attempts are shared between all instances on the same database.
    pub fn new(
        config: &AccessConfig,
        listen: IpAddr,
        storage: &Storage,
        clock: Clock,
        audit: AuditLog,
    ) -> Self {
        Self {
            clock,
            audit,
            settings: ArcSwap::from_pointee(AccessSettings::from_config(config, listen, None)),
            config_version: watch::Sender::new(0),
            insecure_no_auth: config.insecure_no_auth,
            secure_cookies: config.secure_cookies,
            listen,
            config_error: RwLock::default(),
            passwords: PasswordVerifier::default(),
            sessions: Sessions::new(config.sessions, storage.clone()),
            throttle: SignInThrottle::new(storage),
            metrics: AuthMetrics::default(),
        }
    }

    /// Whether requests are accepted without authentication.
    pub fn is_auth_disabled(&self) -> bool {
        self.settings().is_auth_disabled
    }

    /// Applies a reloaded configuration. Sessions, tokens and identities that it no longer contains
    /// are rejected from now on.
    pub fn replace_config(&self, config: &AccessConfig) {
        let settings = Arc::new(AccessSettings::from_config(
            config,
            self.listen,
            Some(&self.settings()),
        ));
        self.settings.store(settings);
        // After the store, so that revalidation sees the new settings.
        self.config_version.send_modify(|version| *version += 1);
    }

    /// Records whether the last configuration reload failed, and why.
    pub fn set_config_error(&self, error: Option<String>) {
        *self.config_error.write() = error;
    }

    /// Whether the last configuration reload failed.
    pub fn has_config_error(&self) -> bool {
        self.config_error().is_some()
    }

    fn config_error(&self) -> Option<String> {
        self.config_error.read().clone()
    }

    /// The reload error, if this principal may see it.
    fn config_error_for(&self, principal: &Principal) -> Option<String> {
        self.config_error()
            .filter(|_| self.is_administered_by(principal))
    }

    fn unlisted_proxies_for(&self, principal: &Principal) -> Vec<String> {
        let unlisted = self.settings().proxies.unlisted().into_iter();
        // Addresses of proxies are for administrators.
        let visible = unlisted.filter(|_| self.is_administered_by(principal));
        visible.map(|address| address.to_string()).collect()
    }

    fn is_administered_by(&self, principal: &Principal) -> bool {
        principal.grant().role == Role::Admin
            && (*principal.auth_method() != AuthMethod::NoAuth || !self.insecure_no_auth)
    }

    /// Resolves the client's address, and removes forwarding headers that do not come from a
    /// trusted proxy. Must run before all other layers.
    pub fn resolve_client_address(&self, request: &mut Request) {
        self.settings().proxies.resolve(request);
    }

    /// Whether this address is a trusted proxy.
    pub fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.settings().proxies.contains(address.to_canonical())
    }

    fn settings(&self) -> Arc<AccessSettings> {
        self.settings.load_full()
    }

    /// Whether the browser uses HTTPS.
    pub fn is_https(&self, headers: &HeaderMap) -> bool {
        self.secure_cookies
            .unwrap_or_else(|| host::is_https(headers))
    }

    /// Authenticates a request by its headers and address.
    ///
    /// An API token takes precedence over a session: browsers never send one on their own, so the
    /// client chose to use it.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        address: ClientAddress,
    ) -> Result<Principal, OperationError> {
        let settings = self.settings();
        if settings.is_auth_disabled {
            self.check_unauthenticated_request(headers, &settings.allowed_hosts)?;
            return Ok(Principal::local().with_client_address(address));
        }
        if let Some(header_value) = headers.get(header::AUTHORIZATION) {
            let token = bearer_token(header_value).ok_or(OperationError::SignInRequired {
                cause: AuthenticationError::MalformedHeader,
            });
            let admitted = token.and_then(|token| {
                let identity = settings.tokens.authenticate(token, self.clock.now())?;
                Ok((identity, token))
            });
            self.metrics.record(SignInMethod::Token, &admitted);
            let (identity, token) = admitted?;
            // Not the digest of the token itself, which is in the configuration: stored responses
            // must not be readable with it.
            let secret = SecretDigest::of_secret(&format!("seal {token}"));
            return Ok(Principal::new(identity)
                .with_secret(secret)
                .with_client_address(address));
        }
        if let Some(identity) = settings.users.authenticate_by_proxy(headers, address.peer) {
            // Counted also if it is rejected: a request with the proxy's header never falls back to
            // a session.
            self.metrics.record(SignInMethod::Proxy, &identity);
            return Ok(Principal::new(identity?).with_client_address(address));
        }
        let Some(secret) = cookie::read(CookieKind::Session, headers, self.is_https(headers))
        else {
            return Err(OperationError::SignInRequired {
                cause: AuthenticationError::NoCredentials,
            });
        };
        let session_ended = || OperationError::SignInRequired {
            cause: AuthenticationError::SessionEnded,
        };
        let session = self.sessions.load(secret, self.clock.now()).await?;
        let session = session.ok_or_else(session_ended)?;
        let signed_in = settings.session_identity(&session.user, &session.key);
        let principal = Principal::new(signed_in.ok_or_else(session_ended)?);
        Ok(principal
            .with_session(session.key, session.is_verified)
            .with_client_address(address))
    }

    /// Without authentication: rejects requests that could come from a foreign page (DNS rebinding)
    /// or through an unconfigured proxy.
    fn check_unauthenticated_request(
        &self,
        headers: &HeaderMap,
        hosts: &[String],
    ) -> Result<(), OperationError> {
        if !host::is_allowed(headers, hosts) {
            return Err(OperationError::Forbidden {
                cause: DenialReason::UnknownHost,
            });
        }
        // Every client of the proxy would have full access, although the console listens on the
        // loopback interface only.
        match host::proxy_header(headers) {
            Some(name) if !self.insecure_no_auth => Err(OperationError::Forbidden {
                cause: DenialReason::UnauthenticatedProxy {
                    header: name.to_string(),
                },
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Authenticates a request, or returns the principal that a middleware stored in its
    /// extensions.
    pub async fn authenticate_request(&self, request: &Parts) -> Result<Principal, OperationError> {
        // Middleware authenticated the request already; doing it again would count it twice.
        match request.extensions.get::<Principal>() {
            Some(settings) => Ok(settings.clone()),
            None => {
                let address = ClientAddress::from_extensions(&request.extensions);
                let principal = self.authenticate(&request.headers, address).await?;
                Ok(match request.extensions.get::<RequestId>() {
                    Some(id) => principal.with_request_id(id.clone()),
                    None => principal,
                })
            }
        }
    }

    /// Authentication metrics, for Prometheus.
    pub fn collector(&self) -> Box<dyn Collector> {
        self.metrics.collector()
    }

    /// The data about the current user that pages need.
    pub fn current_user(&self, principal: &Principal) -> CurrentUser {
        let method = match principal.auth_method() {
            AuthMethod::Session => SessionKind::SignedIn,
            AuthMethod::Proxy | AuthMethod::Token { .. } | AuthMethod::CommandLine => {
                SessionKind::External
            }
            AuthMethod::NoAuth if self.insecure_no_auth => SessionKind::Open,
            AuthMethod::NoAuth => SessionKind::Local,
        };
        CurrentUser {
            name: principal.name().to_owned(),
            session: method,
            grant: principal.grant().clone(),
            config_error: self.config_error_for(principal),
            is_unencrypted: self.settings().exposes_credentials
                && principal.grant().role == Role::Admin,
            unlisted_proxies: self.unlisted_proxies_for(principal),
        }
    }
}

fn bearer_token(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The client's IP address. `None` for a router that is called in memory.
pub fn client_address(extensions: &Extensions) -> Option<IpAddr> {
    ClientAddress::from_extensions(extensions).client
}
