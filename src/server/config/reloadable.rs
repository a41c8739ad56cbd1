//! The part of the configuration that a reload applies.

use super::{AccessConfig, Config, GroupConfig};

/// The settings in effect, and the error of the last reload.
#[derive(Clone, Debug)]
pub struct ReloadableConfig {
    /// Users, tokens and other ways to sign in.
    pub access: AccessConfig,
    /// The groups.
    pub groups: Vec<GroupConfig>,
    /// Why the last reload was rejected, with the position in the file; `None` if it succeeded.
    pub error: Option<String>,
}

impl ReloadableConfig {
    /// The settings at startup.
    pub fn from_config(config: &Config) -> Self {
        Self {
            access: config.access.clone(),
            groups: config.groups.clone(),
            error: None,
        }
    }
}

impl Config {
    /// The changed fields and tables that take effect only after a restart.
    pub fn changed_fields_needing_restart(&self, reloaded: &Self) -> Vec<&'static str> {
        let fields = [
            ("listen", self.listen != reloaded.listen),
            (
                "tls_certificate_file, tls_key_file",
                self.tls != reloaded.tls,
            ),
            ("[limits]", self.limits != reloaded.limits),
            ("[log]", self.log_format != reloaded.log_format),
            ("[telemetry]", self.otlp != reloaded.otlp),
            ("[audit]", self.audit != reloaded.audit),
            ("[storage]", self.storage != reloaded.storage),
            (
                "[sign_in] idle_timeout, max_session_age",
                self.access.sessions != reloaded.access.sessions,
            ),
            (
                "[sign_in] secure_cookies",
                self.access.secure_cookies != reloaded.access.secure_cookies,
            ),
            (
                "[[webhook]]",
                format!("{:?}", self.webhooks) != format!("{:?}", reloaded.webhooks),
            ),
        ];
        let changed = fields.into_iter().filter(|(_, is_changed)| *is_changed);
        changed.map(|(field, _)| field).collect()
    }
}
