//! Parses the configuration file. Every error has its line and column.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::group::GroupTable;
use super::sign_in::{SignInTable, TokenTable, UserTable};
use super::source::{EnvLookup, SourceFile};
use super::values::{InvalidValue, Parsed, TextRule};
use super::{
    Config, ConfigError, LimitsConfig, StorageConfig, WebhookConfig, access, group, log, sign_in,
    state_directory, telemetry, tls, webhook,
};

#[serde_as]
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConfigFile {
    #[serde_as(as = "Option<Parsed<Listen>>")]
    listen: Option<SocketAddr>,
    tls_certificate_file: Option<Spanned<PathBuf>>,
    tls_key_file: Option<Spanned<PathBuf>>,
    #[serde_as(as = "Vec<Parsed<Host>>")]
    allowed_hosts: Vec<String>,
    limits: Option<Spanned<LimitsConfig>>,
    read_only: bool,
    sign_in: Option<Spanned<SignInTable>>,
    user: Vec<Spanned<UserTable>>,
    token: Vec<Spanned<TokenTable>>,
    log: log::LogTable,
    telemetry: telemetry::TelemetryTable,
    webhook: Vec<Spanned<WebhookConfig>>,
    audit: super::AuditConfig,
    storage: StorageConfig,
    group: Vec<Spanned<GroupTable>>,
}

/// Parses the text of the configuration file `name`; `environment` resolves `${NAME}`.
pub fn parse(name: &str, text: &str, environment: EnvLookup<'_>) -> Result<Config, ConfigError> {
    let source = SourceFile { name, text };
    let file: ConfigFile = source.deserialize(environment)?;
    let mut config = Config {
        restarts_file: Some(state_directory::restarts_file()),
        ..Config::with_groups(Vec::new())
    };
    config.listen = file.listen.unwrap_or(config.listen);
    config.log_format = file.log.format;
    config.tls = tls::read(
        &source,
        file.tls_certificate_file.as_ref(),
        file.tls_key_file.as_ref(),
    )?;
    if let Some(limits) = file.limits {
        let checked = limits.get_ref().validate();
        checked.map_err(|why| source.error(&limits, &why))?;
        config.limits = limits.into_inner();
    }
    config.audit = file.audit;
    config.storage = file.storage;
    config.otlp = telemetry::read(&source, file.telemetry, environment, &mut config.warnings)?;
    read_groups(&source, file.group, &mut config)?;
    let group_names: Vec<String> = config
        .groups
        .iter()
        .map(|group| group.name.clone())
        .collect();
    config.webhooks = webhook::read(&source, &group_names, file.webhook, &mut config.warnings)?;
    if file.read_only {
        config.set_read_only();
    }
    config.access = sign_in::read(&source, &group_names, file.sign_in, file.user, file.token)?;
    config.access.allowed_hosts = file.allowed_hosts;
    if let (Some(_), Some(certificate)) = (&config.tls, &file.tls_certificate_file) {
        if config.access.secure_cookies == Some(false) {
            return Err(source.error(
                certificate,
                "the console serves https with this certificate, but [sign_in] has `secure_cookies = false`; remove one of them",
            ));
        }
        config.access.secure_cookies = Some(true);
    }
    if let Some(oidc) = &config.access.oidc {
        config.warnings.extend(oidc.warnings());
    }
    Ok(config)
}

/// Reads the groups and checks that their names are unique.
fn read_groups(
    source: &SourceFile<'_>,
    tables: Vec<Spanned<GroupTable>>,
    config: &mut Config,
) -> Result<(), ConfigError> {
    if tables.is_empty() {
        let why = "there is no [[group]]; add at least one group with its nodes";
        return Err(ConfigError(source.message_at(0..0, why)));
    }
    for table in tables {
        let position = Spanned::new(table.span(), ());
        for group in group::read(source, table, &mut config.warnings)? {
            if config.groups.iter().any(|known| known.name == group.name) {
                let why = format!("duplicate group \"{}\"; rename or remove one", group.name);
                return Err(source.error(&position, &why));
            }
            config.groups.push(group);
        }
    }
    Ok(())
}

struct Listen;

impl TextRule for Listen {
    type Value = SocketAddr;

    fn parse(text: &str) -> Result<SocketAddr, InvalidValue> {
        text.parse().map_err(|_| {
            "`listen` must be an address and a port, like \"127.0.0.1:7878\" or \"[::1]:7878\""
                .into()
        })
    }
}

struct Host;

impl TextRule for Host {
    type Value = String;

    fn parse(text: &str) -> Result<String, InvalidValue> {
        Ok(access::parse_host(text)?)
    }
}

#[cfg(test)]
mod tests;
