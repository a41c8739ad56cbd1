//! The user of a page and the data of its first render.

use serde::{Deserialize, Serialize};

use super::{RoleGrant, Snapshot};

/// The user of a page. The UI evaluates the permissions with the same rule as the server, which
/// checks every request again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurrentUser {
    /// The name of the user, token or proxy user.
    pub name: String,
    /// How the user was authenticated.
    pub session: SessionKind,
    /// The role and its limits.
    pub grant: RoleGrant,
    /// Why the changed configuration was rejected. Only set for admins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_error: Option<String>,
    /// Whether passwords and tokens are sent unencrypted. Only set for admins.
    #[serde(default)]
    pub is_unencrypted: bool,
    /// Addresses that send forwarding headers and are not configured as proxies. Only set for
    /// admins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted_proxies: Vec<String>,
}

/// How the user of a page was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionKind {
    /// By signing in. The user can sign out.
    SignedIn,
    /// By a proxy or a token.
    External,
    /// Authentication is disabled, and the console only listens on localhost.
    Local,
    /// Authentication is disabled, and the console is reachable from the network.
    Open,
}

/// The ways to sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInOptions {
    /// Whether the console needs no sign-in.
    pub is_auth_disabled: bool,
    /// Whether users can sign in with a name and a password.
    pub has_password: bool,
    /// The name of the OpenID Connect provider, if one is configured.
    pub provider: Option<String>,
}

impl Default for SignInOptions {
    /// The password form, which is shown if the options could not be loaded.
    fn default() -> Self {
        Self {
            is_auth_disabled: false,
            has_password: true,
            provider: None,
        }
    }
}

/// The data of the first render of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InitialState {
    /// The user of the page.
    pub user: CurrentUser,
    /// The groups and the first window of locks.
    pub snapshot: Snapshot,
}
