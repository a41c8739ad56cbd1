//! What a configuration says that was read again while the console runs.

use super::{AccessConfig, Config, GroupConfig};

/// What holds by now, and what was wrong when it was read last.
#[derive(Clone, Debug)]
pub struct Later {
    /// Who may come in.
    pub access: AccessConfig,
    /// The groups.
    pub groups: Vec<GroupConfig>,
    /// Why what the file says now does not hold, with its place in the file; nothing where it does.
    pub trouble: Option<String>,
}

impl Later {
    /// What a console starts with.
    pub fn of(config: &Config) -> Self {
        Self {
            access: config.access.clone(),
            groups: config.groups.clone(),
            trouble: None,
        }
    }
}

impl Config {
    /// What is said anew and holds only when the console is started again.
    pub fn waits_for_a_restart(&self, later: &Self) -> Vec<&'static str> {
        let parts = [
            ("listen", self.listen != later.listen),
            ("tls_certificate_file, tls_key_file", self.tls != later.tls),
            ("[limits]", self.limits != later.limits),
            ("[log]", self.log_format != later.log_format),
            ("[telemetry]", self.otlp != later.otlp),
            ("[audit]", self.audit != later.audit),
            ("[storage]", self.storage != later.storage),
            (
                "[sign_in] idle, longest",
                self.access.sessions != later.access.sessions,
            ),
            ("[sign_in] https", self.access.https != later.access.https),
            (
                "[[webhook]]",
                format!("{:?}", self.webhooks) != format!("{:?}", later.webhooks),
            ),
        ];
        let changed = parts.into_iter().filter(|(_, is_another)| *is_another);
        changed.map(|(part, _)| part).collect()
    }
}
