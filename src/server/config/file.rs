//! The configuration file: TOML in, [`Config`] out, every mistake with its line and column.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::access::read_host;
use super::{
    Config, ConfigError, DEFAULT_KEYS, FeedChoice, GroupConfig, LockingConfig, audit,
    default_listen, even_count, kinds, limits, log, naming, node, sign_in, state, storage,
    telemetry, tls, webhook,
};
use crate::domain::quorum::Drift;
use crate::domain::{Environment, GroupKind};
use crate::server::https::Roots;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<Spanned<String>>,
    tls_certificate_file: Option<Spanned<PathBuf>>,
    tls_key_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    hosts: Vec<Spanned<String>>,
    #[serde(default)]
    limits: limits::Table,
    #[serde(default)]
    read_only: bool,
    sign_in: Option<Spanned<sign_in::SignInTable>>,
    #[serde(default)]
    user: Vec<Spanned<sign_in::UserTable>>,
    #[serde(default)]
    token: Vec<Spanned<sign_in::TokenTable>>,
    #[serde(default)]
    log: log::Table,
    #[serde(default)]
    telemetry: telemetry::Table,
    #[serde(default)]
    webhook: Vec<webhook::Table>,
    #[serde(default)]
    audit: audit::Table,
    #[serde(default)]
    storage: storage::StorageConfig,
    state: Option<state::Table>,
    #[serde(default)]
    group: Vec<Spanned<Group>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) name: Spanned<String>,
    pub(super) kind: Option<Spanned<GroupKind>>,
    #[serde(default)]
    environment: Environment,
    keys: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    feed: FeedChoice,
    #[serde(default)]
    format: Vec<Spanned<naming::PinTable>>,
    #[serde(default)]
    ignore: Vec<Spanned<String>>,
    scan_share_percent: Option<Spanned<u32>>,
    #[serde(default)]
    read_only: bool,
    connect_timeout: Option<Spanned<String>>,
    command_timeout: Option<Spanned<String>>,
    longest_lease: Option<Spanned<String>>,
    drift_percent: Option<Spanned<f64>>,
    drift_plus: Option<Spanned<String>>,
    node_share_percent: Option<Spanned<u32>>,
    fencing: Option<bool>,
    fence_counter_ttl: Option<Spanned<String>>,
    release_marker_ttl: Option<Spanned<String>>,
    delayed_restart: Option<bool>,
    longest_hold: Option<Spanned<String>>,
    most_extensions: Option<u32>,
    pub(super) databases: Option<Spanned<Vec<Spanned<i64>>>>,
    #[serde(default)]
    pub(super) sentinel: Vec<Spanned<node::NodeTable>>,
    pub(super) node: Spanned<Vec<Spanned<node::NodeTable>>>,
}

/// The text of a file with its name: turns a byte range into `file:line:column: message`.
pub(super) struct Source<'a> {
    name: &'a str,
    text: &'a str,
}

impl Source<'_> {
    pub(super) fn at(&self, range: std::ops::Range<usize>, message: &str) -> String {
        let before = self.text.get(..range.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{line}:{column}: {message}", self.name)
    }

    pub(super) fn error<T>(&self, spanned: &Spanned<T>, message: &str) -> ConfigError {
        ConfigError(self.at(spanned.span(), message))
    }
}

/// Reads the text of a configuration file called `name`; `${NAME}` in URLs is looked up with `environment`.
pub fn parse(
    name: &str,
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, ConfigError> {
    let source = Source { name, text };
    let mut file: File = toml::from_str(text)
        .map_err(|why| ConfigError(source.at(why.span().unwrap_or(0..0), why.message())))?;

    let listen = match &file.listen {
        Some(text) => text.get_ref().parse().map_err(|_| {
            source.error(
                text,
                "`listen` must be an address and a port, like \"127.0.0.1:7878\" or \"[::1]:7878\"",
            )
        })?,
        None => default_listen(),
    };
    let tls = tls::read(
        &source,
        file.tls_certificate_file.as_ref(),
        file.tls_key_file.as_ref(),
    )?;
    let limits = limits::read(&source, &file.limits)?;
    file.storage
        .expand(environment)
        .map_err(|why| ConfigError(format!("{name}: `url` of [storage]: {why}")))?;
    if file.group.is_empty() {
        return Err(ConfigError(format!(
            "{name}:1:1: there is no [[group]]; name at least one group with its nodes"
        )));
    }
    let mut config = Config {
        listen,
        tls,
        limits,
        log_format: file.log.format,
        audit: audit::read(&source, &file.audit, file.state.is_some())?,
        storage: file.storage,
        restarts: Some(super::audit::restarts()),
        state: state::read(&source, file.state.as_ref(), environment)?,
        ..Config::of(Vec::new())
    };
    config.otlp = telemetry::read(&source, &file.telemetry, environment, &mut config.warnings)?;
    let mut names = BTreeSet::new();
    for entry in &file.group {
        let group = read_group(&source, entry.get_ref(), environment)?;
        config
            .warnings
            .extend(even_count(&group).map(|why| source.at(entry.get_ref().node.span(), &why)));
        for group in kinds::each_database(&source, entry.get_ref(), group)? {
            if !names.insert(group.name.clone()) {
                return Err(source.error(
                    &entry.get_ref().name,
                    &format!("the group \"{}\" is there twice", group.name),
                ));
            }
            config.groups.push(group);
        }
    }
    if let Some(state) = &config.state {
        let pattern = state.pattern();
        for group in &mut config.groups {
            group.ignore.push(pattern.clone());
            group.reserved.push(pattern.clone());
        }
    }
    config.webhooks = webhook::read(
        &source,
        &file.webhook,
        &names,
        environment,
        &mut config.warnings,
    )?;
    if file.read_only {
        config.refuse_acts();
    }
    let around = sign_in::Around::new(&source, environment, &names);
    config.access = sign_in::read(&around, file.sign_in.as_ref(), &file.user, &file.token)?;
    if let (Some(_), Some(place)) = (&config.tls, &file.tls_certificate_file) {
        if config.access.https == Some(false) {
            return Err(source.error(
                place,
                "the console serves https with this certificate, and [sign_in] says `https = false`; take one of them out",
            ));
        }
        config.access.https = Some(true);
    }
    let hosts = file.hosts.iter().map(|host| {
        let read = read_host(host.get_ref());
        read.map_err(|why| source.error(host, &why))
    });
    if let Some(oidc) = &config.access.oidc {
        config.warnings.extend(oidc.warnings());
    }
    config.access.hosts = hosts.collect::<Result<_, _>>()?;
    Ok(config)
}

fn read_group(
    source: &Source<'_>,
    group: &Group,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<GroupConfig, ConfigError> {
    check_name(source, &group.name)?;
    let nodes = node::read_nodes(source, group.node.get_ref(), environment)?;
    let sentinels = node::read_nodes(source, &group.sentinel, environment)?;
    let kind = kinds::read(source, group, &nodes, &sentinels)?;
    let pins = naming::read_pins(source, &group.format)?;
    let mut keys: Vec<String> = match &group.keys {
        Some(keys) if keys.get_ref().is_empty() => {
            return Err(source.error(
                keys,
                "`keys` is empty: nothing would be scanned; leave it out for the default patterns",
            ));
        }
        Some(keys) => naming::read_patterns(source, keys.get_ref())?,
        None => DEFAULT_KEYS.map(str::to_owned).to_vec(),
    };
    for pin in &pins {
        if !keys.contains(&pin.pattern) {
            keys.push(pin.pattern.clone());
        }
    }
    let scan_share_percent = match &group.scan_share_percent {
        Some(percent) if !(1..=100).contains(percent.get_ref()) => {
            return Err(source.error(percent, "`scan_share_percent` must be from 1 to 100"));
        }
        Some(percent) => *percent.get_ref(),
        None => super::DEFAULT_SCAN_SHARE,
    };
    Ok(GroupConfig {
        name: group.name.get_ref().clone(),
        kind,
        environment: group.environment,
        keys,
        keys_are_explicit: group.keys.is_some(),
        feed: group.feed,
        pins,
        ignore: naming::read_patterns(source, &group.ignore)?,
        reserved: Vec::new(),
        scan_share_percent,
        read_only: group.read_only,
        connect_timeout: duration(
            source,
            group.connect_timeout.as_ref(),
            Duration::from_secs(1),
        )?,
        command_timeout: duration(
            source,
            group.command_timeout.as_ref(),
            Duration::from_millis(500),
        )?,
        locking: read_locking(source, group, kind)?,
        nodes,
        sentinels,
    })
}

fn read_locking(
    source: &Source<'_>,
    group: &Group,
    kind: GroupKind,
) -> Result<LockingConfig, ConfigError> {
    let defaults = LockingConfig::new(kind);
    let drift_ratio = match &group.drift_percent {
        Some(percent) if !(0.0..=50.0).contains(percent.get_ref()) => {
            return Err(source.error(percent, "`drift_percent` must be from 0 to 50"));
        }
        Some(percent) => percent.get_ref() / 100.0,
        None => defaults.drift.ratio,
    };
    let node_share_percent = match &group.node_share_percent {
        Some(percent) if !(1..=50).contains(percent.get_ref()) => {
            return Err(source.error(percent, "`node_share_percent` must be from 1 to 50"));
        }
        Some(percent) => *percent.get_ref(),
        None => defaults.node_share_percent,
    };
    let span = |text: &Option<Spanned<String>>, default| duration(source, text.as_ref(), default);
    let within = |name: &str, text: &Option<Spanned<String>>, default, shortest, longest| {
        let chosen = span(text, default)?;
        match text {
            Some(text) if !(shortest..=longest).contains(&chosen) => {
                let limits = [shortest, longest].map(humantime::format_duration);
                let [shortest, longest] = limits.map(|limit| limit.to_string());
                Err(source.error(
                    text,
                    &format!("`{name}` must be from {shortest} to {longest}"),
                ))
            }
            Some(_) | None => Ok(chosen),
        }
    };
    let fence_counter_ttl = within(
        "fence_counter_ttl",
        &group.fence_counter_ttl,
        defaults.fence_counter_ttl,
        Duration::from_mins(1),
        Duration::from_hours(24 * 30),
    )?;
    let release_marker_ttl = within(
        "release_marker_ttl",
        &group.release_marker_ttl,
        defaults.release_marker_ttl,
        Duration::from_secs(10),
        Duration::from_hours(1),
    )?;
    Ok(LockingConfig {
        fence_counter_ttl,
        release_marker_ttl,
        longest_lease: span(&group.longest_lease, defaults.longest_lease)?,
        drift: Drift {
            ratio: drift_ratio,
            plus: span(&group.drift_plus, defaults.drift.plus)?,
        },
        node_share_percent,
        fencing: group.fencing.unwrap_or(defaults.fencing),
        delayed_restart: group.delayed_restart.unwrap_or(defaults.delayed_restart),
        longest_hold: span(&group.longest_hold, defaults.longest_hold)?,
        most_extensions: group.most_extensions.unwrap_or(defaults.most_extensions),
    })
}

/// Names stand in URLs and metrics, so they are kept plain.
pub(super) fn check_name(source: &Source<'_>, name: &Spanned<String>) -> Result<(), ConfigError> {
    let text = name.get_ref();
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if text.is_empty() || text.len() > 64 || !plain || text.starts_with('.') {
        return Err(source.error(
            name,
            "a name has 1 to 64 letters, digits, `-`, `_` or `.`, and does not begin with a dot",
        ));
    }
    Ok(())
}

/// Replaces `${NAME}` by the environment variable of that name.
pub(super) fn expand(
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or("`${` is not closed by `}`")?;
        let value = environment(name)
            .ok_or_else(|| format!("the environment variable {name} is not set"))?;
        done.push_str(before);
        done.push_str(&value);
        rest = tail;
    }
    done.push_str(rest);
    Ok(done)
}

/// A span of time above nothing, written like `500ms`, `30s` or `1h 30m`.
pub(super) fn duration(
    source: &Source<'_>,
    text: Option<&Spanned<String>>,
    default: Duration,
) -> Result<Duration, ConfigError> {
    let Some(text) = text else { return Ok(default) };
    match humantime::parse_duration(text.get_ref()) {
        Ok(span) if span.is_zero() => {
            Err(source.error(text, "this span of time must be longer than nothing"))
        }
        Ok(span) => Ok(span),
        Err(_) => Err(source.error(
            text,
            "this is not a span of time; write \"500ms\", \"30s\" or \"1h 30m\"",
        )),
    }
}

/// What is odd about an address outside of this machine that is spoken to over plain `http`.
pub(super) fn unencrypted(address: &http::Uri) -> Option<&'static str> {
    let host = address.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_this_machine = bare == "localhost"
        || bare.ends_with(".localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback());
    (address.scheme_str() == Some("http") && !is_this_machine)
        .then_some("what is sent there crosses the network unencrypted; use https://")
}

/// The certificates of a `ca_file`, where there is one.
pub(super) fn roots(
    source: &Source<'_>,
    file: Option<&Spanned<PathBuf>>,
) -> Result<Option<Roots>, ConfigError> {
    let read = |file: &Spanned<PathBuf>| {
        Roots::read(file.get_ref()).map_err(|why| source.error(file, &why))
    };
    file.map(read).transpose()
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
