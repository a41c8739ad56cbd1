//! The configuration file: TOML in, [`Config`] out, every mistake with its line and column.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::group::GroupTable;
use super::sign_in::{SignInTable, TokenTable, UserTable};
use super::source::{Environment, Source};
use super::values::{Rule, Text, Wrong};
use super::{
    Config, ConfigError, LimitsConfig, StorageConfig, WebhookConfig, access, group, log, sign_in,
    state_directory, telemetry, tls, webhook,
};

#[serde_as]
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    #[serde_as(as = "Option<Text<Listen>>")]
    listen: Option<SocketAddr>,
    tls_certificate_file: Option<Spanned<PathBuf>>,
    tls_key_file: Option<Spanned<PathBuf>>,
    #[serde_as(as = "Vec<Text<Host>>")]
    hosts: Vec<String>,
    limits: Option<Spanned<LimitsConfig>>,
    read_only: bool,
    sign_in: Option<Spanned<SignInTable>>,
    user: Vec<Spanned<UserTable>>,
    token: Vec<Spanned<TokenTable>>,
    log: log::Table,
    telemetry: telemetry::Table,
    webhook: Vec<Spanned<WebhookConfig>>,
    audit: super::AuditConfig,
    storage: StorageConfig,
    group: Vec<Spanned<GroupTable>>,
}

/// Reads the text of a configuration file called `name`; `environment` has the variables that `${NAME}` stands for.
pub fn parse(name: &str, text: &str, environment: Environment<'_>) -> Result<Config, ConfigError> {
    let source = Source { name, text };
    let file: File = source.read(environment)?;
    let mut config = Config {
        restarts: Some(state_directory::restarts()),
        ..Config::of(Vec::new())
    };
    config.listen = file.listen.unwrap_or(config.listen);
    config.log_format = file.log.format;
    config.tls = tls::read(
        &source,
        file.tls_certificate_file.as_ref(),
        file.tls_key_file.as_ref(),
    )?;
    if let Some(limits) = file.limits {
        let checked = limits.get_ref().check();
        checked.map_err(|why| source.error(&limits, &why))?;
        config.limits = limits.into_inner();
    }
    config.audit = file.audit;
    config.storage = file.storage;
    config.otlp = telemetry::read(&source, file.telemetry, environment, &mut config.warnings)?;
    read_groups(&source, file.group, &mut config)?;
    let names: Vec<String> = config
        .groups
        .iter()
        .map(|group| group.name.clone())
        .collect();
    config.webhooks = webhook::read(&source, &names, file.webhook, &mut config.warnings)?;
    if file.read_only {
        config.refuse_acts();
    }
    config.access = sign_in::read(&source, &names, file.sign_in, file.user, file.token)?;
    config.access.hosts = file.hosts;
    if let (Some(_), Some(place)) = (&config.tls, &file.tls_certificate_file) {
        if config.access.https == Some(false) {
            return Err(source.error(
                place,
                "the console serves https with this certificate, and [sign_in] says `https = false`; take one of them out",
            ));
        }
        config.access.https = Some(true);
    }
    if let Some(oidc) = &config.access.oidc {
        config.warnings.extend(oidc.warnings());
    }
    Ok(config)
}

/// Reads the groups, whose names are all different.
fn read_groups(
    source: &Source<'_>,
    tables: Vec<Spanned<GroupTable>>,
    config: &mut Config,
) -> Result<(), ConfigError> {
    if tables.is_empty() {
        let why = "there is no [[group]]; name at least one group with its nodes";
        return Err(ConfigError(source.at(0..0, why)));
    }
    for table in tables {
        let place = Spanned::new(table.span(), ());
        for group in group::read(source, table.into_inner(), &mut config.warnings)? {
            if config.groups.iter().any(|known| known.name == group.name) {
                let why = format!("the group \"{}\" is there twice", group.name);
                return Err(source.error(&place, &why));
            }
            config.groups.push(group);
        }
    }
    Ok(())
}

struct Listen;

impl Rule for Listen {
    type Value = SocketAddr;

    fn read(text: &str) -> Result<SocketAddr, Wrong> {
        text.parse().map_err(|_| {
            "`listen` must be an address and a port, like \"127.0.0.1:7878\" or \"[::1]:7878\""
                .into()
        })
    }
}

struct Host;

impl Rule for Host {
    type Value = String;

    fn read(text: &str) -> Result<String, Wrong> {
        Ok(access::read_host(text)?)
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
