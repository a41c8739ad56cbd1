//! The principal of a request: identity, authentication method and permissions.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use super::forwarded::ClientAddress;
use super::oidc_subject::OidcSubject;
use super::request_id::RequestId;
use super::secret::SecretDigest;
use super::sessions::SessionKey;
use crate::domain::operation_error::StorageFailure;
use crate::domain::role::Role;
use crate::domain::{OperationError, Permission, RoleGrant, Scope};

/// The authenticated sender of a request. Cheap to clone: the identity is shared between requests.
#[derive(Clone, Debug)]
pub struct Principal {
    identity: Arc<Identity>,
    session: Option<SessionKey>,
    address: Option<IpAddr>,
    peer: Option<IpAddr>,
    request_id: Option<RequestId>,
    is_session_verified: bool,
    secret: Option<SecretDigest>,
}

/// The part of a principal that is the same for all of its requests.
#[derive(Debug)]
pub struct Identity {
    /// The name in the configuration, or from the auth proxy or provider. For display.
    pub name: String,
    /// The issuer and `sub` claim of an OpenID Connect user. Distinguishes users of the same name.
    pub subject: Option<String>,
    /// How the principal was authenticated.
    pub auth_method: AuthMethod,
    /// The digest of the API token. A replaced token of the same name is a different credential.
    pub token_digest: Option<SecretDigest>,
    /// The role, and the groups and lock names that it is limited to.
    pub grant: RoleGrant,
}

/// How a principal was authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// A browser session, after a sign-in.
    Session,
    /// An API token.
    Token {
        /// The token's id in the configuration; not a secret.
        id: String,
    },
    /// A user name in a header from a trusted auth proxy.
    Proxy,
    /// The command line, which accesses the nodes without a console.
    CommandLine,
    /// No authentication is configured.
    NoAuth,
}

impl AuthMethod {
    /// The name in the audit log.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Session => "browser",
            Self::Token { .. } => "token",
            Self::Proxy => "proxy",
            Self::CommandLine => "command-line",
            Self::NoAuth => "local",
        }
    }
}

impl Principal {
    /// A principal with this identity, without session, address and request id.
    pub fn new(identity: Arc<Identity>) -> Self {
        Self {
            identity,
            session: None,
            address: None,
            peer: None,
            request_id: None,
            is_session_verified: true,
            secret: None,
        }
    }

    /// The principal of requests when authentication is disabled.
    pub fn local() -> Self {
        static LOCAL: LazyLock<Arc<Identity>> = LazyLock::new(|| {
            Arc::new(Identity {
                name: "local operator".to_owned(),
                subject: None,
                token_digest: None,
                auth_method: AuthMethod::NoAuth,
                grant: RoleGrant::unrestricted(Role::Admin),
            })
        });
        Self::new(Arc::clone(&LOCAL))
    }

    /// The principal of the command line. It has all permissions: its user can access the nodes
    /// directly anyway.
    pub fn command_line(name: String) -> Self {
        Self::new(Arc::new(Identity {
            name,
            subject: None,
            token_digest: None,
            auth_method: AuthMethod::CommandLine,
            grant: RoleGrant::unrestricted(Role::Admin),
        }))
    }

    /// Adds a secret that only this principal has. Stored responses are encrypted with it.
    pub fn with_secret(self, secret: SecretDigest) -> Self {
        Self {
            secret: Some(secret),
            ..self
        }
    }

    /// Adds the browser session. `is_verified` is false if the session came from the cache because
    /// the storage is unavailable; the principal is then read-only.
    pub fn with_session(self, session: SessionKey, is_confirmed: bool) -> Self {
        Self {
            is_session_verified: is_confirmed,
            session: Some(session),
            ..self
        }
    }

    /// Adds the client's address.
    pub fn with_client_address(self, origin: ClientAddress) -> Self {
        Self {
            address: origin.client,
            peer: origin.peer,
            ..self
        }
    }

    /// Adds the request id.
    pub fn with_request_id(self, request: RequestId) -> Self {
        Self {
            request_id: Some(request),
            ..self
        }
    }

    pub(super) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// The name, for display.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// The issuer and `sub` claim, if the user signed in with OpenID Connect.
    pub fn subject(&self) -> Option<&str> {
        self.identity.subject.as_deref()
    }

    /// The key under which data of this principal is stored. It is the same for a session and for
    /// the auth proxy, and different for an API token of the same name.
    pub fn account_key(&self) -> (&'static str, &str) {
        if let Some(subject) = &self.identity.subject {
            // Names of OpenID Connect users are not unique and can change.
            return ("subject", subject);
        }
        let kind = match self.identity.auth_method {
            AuthMethod::Session | AuthMethod::Proxy => "person",
            AuthMethod::Token { .. } => "token",
            AuthMethod::CommandLine => "command-line",
            AuthMethod::NoAuth => "local",
        };
        (kind, &self.identity.name)
    }

    /// The user name under which sessions are stored.
    pub fn session_user(&self) -> Cow<'_, str> {
        let subject = self
            .identity
            .subject
            .as_deref()
            .and_then(|known| known.split_once(' '));
        match subject {
            // The issuer is not part of the session user: the credential version covers it.
            Some((_issuer, id)) => Cow::Owned(OidcSubject::format_session_user(id, self.name())),
            None => Cow::Borrowed(self.name()),
        }
    }

    /// How the principal was authenticated.
    pub fn auth_method(&self) -> &AuthMethod {
        &self.identity.auth_method
    }

    /// The role, and the groups and lock names that it is limited to.
    pub fn grant(&self) -> &RoleGrant {
        &self.identity.grant
    }

    /// The browser session, if there is one.
    pub fn session(&self) -> Option<&SessionKey> {
        self.session.as_ref()
    }

    /// The client's IP address, if known.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// The IP address of the connection: the client's or a proxy's.
    pub fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    /// The digest of the API token, if the principal used one.
    pub fn token_digest(&self) -> Option<&SecretDigest> {
        self.identity.token_digest.as_ref()
    }

    /// The id of the request, for the audit log.
    pub fn request_id(&self) -> Option<&RequestId> {
        self.request_id.as_ref()
    }

    /// A secret that only this principal has, if there is one.
    pub fn secret(&self) -> Option<&SecretDigest> {
        self.secret.as_ref()
    }

    /// Checks that the principal has the permission in this scope.
    pub fn authorize(
        &self,
        permission: Permission,
        scope: Scope<'_>,
    ) -> Result<(), OperationError> {
        // The session may have been ended on another instance. Reading with it is acceptable,
        // changing locks is not.
        if !self.is_session_verified
            && !matches!(
                permission,
                Permission::View | Permission::ReadRaw | Permission::ReadAudit
            )
        {
            return Err(OperationError::StorageUnavailable {
                cause: StorageFailure::UnverifiedSession,
            });
        }
        Ok(self.grant().authorize(permission, scope)?)
    }
}
