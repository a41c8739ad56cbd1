//! Who a page is shown to, as far as the page needs to know.

use serde::{Deserialize, Serialize};

use super::{Rights, Snapshot};

/// Who a page is shown to. What they may do is decided on the server again, by the same rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Me {
    /// What they are called.
    pub name: String,
    /// How they came to be here.
    pub came: Came,
    /// What they may do.
    pub rights: Rights,
    /// Why what the configuration says now does not hold, for those who can mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_trouble: Option<String>,
    /// Passwords and tokens cross the network unencrypted: for those who can change that.
    #[serde(default)]
    pub is_in_clear: bool,
    /// Addresses that call for others and are not listed as proxies, for those who can list them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted_proxies: Vec<String>,
}

/// How somebody came to see a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Came {
    /// They signed in, and can sign out.
    SignedIn,
    /// Something else vouches for them: a proxy, or a token.
    VouchedFor,
    /// Nobody needs to sign in, and only this machine reaches the console.
    Local,
    /// Nobody needs to sign in, whoever reaches the console.
    Anyone,
}

/// How people may sign in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaysIn {
    /// Nobody has to.
    pub is_open: bool,
    /// With a name and a password.
    pub with_password: bool,
    /// With a provider that is called so.
    pub provider: Option<String>,
}

impl Default for WaysIn {
    /// What there is where nothing else is known.
    fn default() -> Self {
        Self {
            is_open: false,
            with_password: true,
            provider: None,
        }
    }
}

/// What a page is painted from first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Painted {
    /// Who it is shown to.
    pub me: Me,
    /// What is on the board.
    pub board: Snapshot,
}
