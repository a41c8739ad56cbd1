//! Somebody whom an OpenID Connect provider named.

use serde_json::Value;

/// Somebody whom a provider named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The provider's own name for them, for ever the same.
    pub id: String,
    /// What they are called, for people to read.
    pub name: String,
}

impl Subject {
    /// How their sessions are called. No name of the configuration looks like it by accident, and none counts as it: the stamp
    /// of the session decides.
    pub fn person(&self) -> String {
        Self::person_of(&self.id, &self.name)
    }

    /// The same, of somebody known so and called so.
    pub fn person_of(id: &str, name: &str) -> String {
        Value::from([id, name].as_slice()).to_string()
    }

    /// Whose session is called so.
    pub fn of_person(person: &str) -> Option<Self> {
        let [id, name] = serde_json::from_str(person).ok()?;
        Some(Self { id, name })
    }
}
