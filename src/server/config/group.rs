//! The `[[group]]` tables.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::key_patterns::{FormatOverride, read_format_overrides};
use super::node::{NodeTable, read_nodes};
use super::service::{Endpoint, NodePath, ServerAddress, ServiceFields};
use super::source::SourceFile;
use super::values::{
    Between, BoundedDuration, NoWhitespace, NonEmpty, Parsed, Pattern, ResourceName,
};
use super::{
    AdvisoryName, ChangeDetection, ConfigError, DEFAULT_COMMAND_TIMEOUT, DEFAULT_CONNECT_TIMEOUT,
    DEFAULT_KEYS, DEFAULT_SCAN_BUDGET_PERCENT, Discovery, GroupConfig, LockTable, LockingConfig,
    NodeConfig, PostgresUrl, group_kind,
};
use crate::domain::quorum::ClockDrift;
use crate::domain::{Environment, GroupKind};

const DAY: u64 = 24 * 60 * 60;

#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupTable {
    #[serde_as(as = "Parsed<ResourceName>")]
    name: String,
    kind: Option<Spanned<GroupKind>>,
    #[serde(default)]
    environment: Environment,
    #[serde_as(as = "Option<NonEmpty<Parsed<Pattern>>>")]
    keys: Option<Vec<String>>,
    #[serde(default)]
    discovery: Discovery,
    #[serde(default)]
    change_detection: ChangeDetection,
    #[serde(default)]
    format_override: Vec<Spanned<FormatOverride>>,
    #[serde_as(as = "Vec<Parsed<Pattern>>")]
    #[serde(default)]
    exclude: Vec<String>,
    #[serde_as(as = "Option<Between<1, 100>>")]
    scan_budget_percent: Option<u32>,
    #[serde(default)]
    read_only: bool,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    connect_timeout: Option<Duration>,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    command_timeout: Option<Duration>,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    max_lease: Option<Duration>,
    #[serde_as(as = "Option<Between<0, 50>>")]
    clock_drift_percent: Option<f64>,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    clock_drift_constant: Option<Duration>,
    #[serde_as(as = "Option<Between<1, 50>>")]
    node_timeout_percent: Option<u32>,
    fencing: Option<bool>,
    #[serde_as(as = "Option<Parsed<BoundedDuration<60, { 30 * DAY }>>>")]
    fence_counter_ttl: Option<Duration>,
    #[serde_as(as = "Option<Parsed<BoundedDuration<10, 3600>>>")]
    release_marker_ttl: Option<Duration>,
    delayed_restart: Option<bool>,
    #[serde_as(as = "Option<Parsed<BoundedDuration>>")]
    max_hold: Option<Duration>,
    max_renewals: Option<u32>,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    databases: Option<Vec<Spanned<u16>>>,
    #[serde(default)]
    sentinel: Vec<Spanned<NodeTable>>,
    node: Option<Spanned<Vec<Spanned<NodeTable>>>>,
    #[serde_as(as = "Option<NonEmpty<Parsed<ServerAddress>>>")]
    servers: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<Parsed<NodePath>>>")]
    roots: Option<Vec<String>>,
    admin_port: Option<u16>,
    tls: Option<bool>,
    #[serde_as(as = "Option<NonEmpty<Parsed<Endpoint>>>")]
    endpoints: Option<Vec<String>>,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    prefixes: Option<Vec<String>>,
    url: Option<PostgresUrl>,
    tables: Option<Vec<LockTable>>,
    advisory_names: Option<Vec<AdvisoryName>>,
    #[serde_as(as = "Option<Parsed<NoWhitespace>>")]
    username: Option<String>,
    password: Option<String>,
    password_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    certificate_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
}

/// Reads one `[[group]]` table. With `databases` it becomes one group per database.
pub(super) fn read(
    source: &SourceFile<'_>,
    table: Spanned<GroupTable>,
    warnings: &mut Vec<String>,
) -> Result<Vec<GroupConfig>, ConfigError> {
    let table_span = table.span();
    let table = table.into_inner();
    let databases = table.databases.clone();
    // Errors about the whole group are reported at its nodes.
    let span = table.node.as_ref().map_or(table_span, Spanned::span);
    let group = read_one(source, table, span.clone())?;
    warnings.extend(
        group
            .even_node_count_warning()
            .map(|why| source.message_at(span, &why)),
    );
    match databases {
        Some(databases) => group_per_database(source, &databases, &group),
        None => Ok(vec![group]),
    }
}

fn read_one(
    source: &SourceFile<'_>,
    table: GroupTable,
    group_span: Range<usize>,
) -> Result<GroupConfig, ConfigError> {
    let span = table.kind.as_ref().map_or(group_span, Spanned::span);
    let error = |why: String| ConfigError(source.message_at(span.clone(), &why));
    let nodes = table.node.map(Spanned::into_inner).unwrap_or_default();
    let nodes = read_nodes(source, nodes)?;
    let sentinels = read_nodes(source, table.sentinel)?;
    let explicit = table.kind.map(Spanned::into_inner);
    let kind = explicit.unwrap_or(group_kind::default_kind(&nodes, &sentinels));
    group_kind::validate(kind, &nodes, &sentinels, table.databases.is_some()).map_err(error)?;
    let fields = ServiceFields {
        servers: table.servers,
        roots: table.roots,
        admin_port: table.admin_port,
        tls: table.tls,
        endpoints: table.endpoints,
        prefixes: table.prefixes,
        url: table.url,
        tables: table.tables,
        advisory_names: table.advisory_names,
        username: table.username,
        password: table.password,
        password_file: table.password_file,
        ca_file: table.ca_file,
        certificate_file: table.certificate_file,
        key_file: table.key_file,
    };
    let service = fields.into_service(kind).map_err(error)?;
    let format_overrides = read_format_overrides(source, table.format_override)?;
    let keys_are_explicit = table.keys.is_some();
    let mut keys = table
        .keys
        .unwrap_or_else(|| DEFAULT_KEYS.map(str::to_owned).to_vec());
    for format_override in &format_overrides {
        if !keys.contains(&format_override.pattern) {
            keys.push(format_override.pattern.clone());
        }
    }
    let defaults = LockingConfig::new(kind);
    let drift_ratio = table.clock_drift_percent.map(|percent| percent / 100.0);
    Ok(GroupConfig {
        name: table.name,
        kind,
        environment: table.environment,
        keys,
        keys_are_explicit,
        discovery: table.discovery,
        change_detection: table.change_detection,
        format_overrides,
        exclude: table.exclude,
        scan_budget_percent: table
            .scan_budget_percent
            .unwrap_or(DEFAULT_SCAN_BUDGET_PERCENT),
        read_only: table.read_only,
        connect_timeout: table.connect_timeout.unwrap_or(DEFAULT_CONNECT_TIMEOUT),
        command_timeout: table.command_timeout.unwrap_or(DEFAULT_COMMAND_TIMEOUT),
        locking: LockingConfig {
            fence_counter_ttl: table
                .fence_counter_ttl
                .unwrap_or(defaults.fence_counter_ttl),
            release_marker_ttl: table
                .release_marker_ttl
                .unwrap_or(defaults.release_marker_ttl),
            max_lease: table.max_lease.unwrap_or(defaults.max_lease),
            drift: ClockDrift {
                factor: drift_ratio.unwrap_or(defaults.drift.factor),
                constant: table
                    .clock_drift_constant
                    .unwrap_or(defaults.drift.constant),
            },
            node_timeout_percent: table
                .node_timeout_percent
                .unwrap_or(defaults.node_timeout_percent),
            fencing: table.fencing.unwrap_or(defaults.fencing),
            delayed_restart: table.delayed_restart.unwrap_or(defaults.delayed_restart),
            max_hold: table.max_hold.unwrap_or(defaults.max_hold),
            max_renewals: table.max_renewals.unwrap_or(defaults.max_renewals),
        },
        service,
        nodes,
        sentinels,
    })
}

/// Makes one group per database, because keys of the same name in different databases are different
/// locks.
fn group_per_database(
    source: &SourceFile<'_>,
    databases: &[Spanned<u16>],
    group: &GroupConfig,
) -> Result<Vec<GroupConfig>, ConfigError> {
    let mut groups: Vec<GroupConfig> = Vec::new();
    for spanned in databases {
        let number = i64::from(*spanned.get_ref());
        let name = format!("{}.{number}", group.name);
        if groups.iter().any(|known| known.name == name) {
            let why = format!("duplicate database {number}; remove one");
            return Err(source.error(spanned, &why));
        }
        let in_database = |node: &NodeConfig| NodeConfig {
            url: node.url.clone().with_database(number),
            read_from: node.read_from.clone().map(|url| url.with_database(number)),
            ..node.clone()
        };
        groups.push(GroupConfig {
            name,
            nodes: group.nodes.iter().map(in_database).collect(),
            ..group.clone()
        });
    }
    Ok(groups)
}
