//! The user of an OpenID Connect provider.

use serde_json::Value;

/// A user of an OpenID Connect provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcSubject {
    /// The `sub` claim, which never changes.
    pub id: String,
    /// The display name.
    pub name: String,
}

impl OidcSubject {
    /// The user name under which sessions are stored. It is a JSON array, which no configured user
    /// name should look like; if one does, the session's credential version still differs.
    pub fn session_user(&self) -> String {
        Self::format_session_user(&self.id, &self.name)
    }

    /// Formats a session user from its parts.
    pub fn format_session_user(id: &str, name: &str) -> String {
        Value::from([id, name].as_slice()).to_string()
    }

    /// Parses a session user.
    pub fn parse_session_user(session_user: &str) -> Option<Self> {
        let [id, name] = serde_json::from_str(session_user).ok()?;
        Some(Self { id, name })
    }
}
