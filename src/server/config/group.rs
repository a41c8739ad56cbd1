//! `[[group]]` as it stands in the file.

use std::time::Duration;

use serde::Deserialize;
use serde_with::serde_as;
use toml::Spanned;

use super::naming::{Pin, read_pins};
use super::node::{NodeTable, read_nodes};
use super::source::Source;
use super::values::{Between, Name, NonEmpty, Pattern, Period, Text};
use super::{
    ConfigError, DEFAULT_KEYS, DEFAULT_SCAN_SHARE, FeedChoice, GroupConfig, LockingConfig,
    NodeConfig, kinds,
};
use crate::domain::quorum::Drift;
use crate::domain::{Environment, GroupKind};

const DAY: u64 = 24 * 60 * 60;

#[serde_as]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupTable {
    #[serde_as(as = "Text<Name>")]
    name: String,
    kind: Option<Spanned<GroupKind>>,
    #[serde(default)]
    environment: Environment,
    #[serde_as(as = "Option<NonEmpty<Text<Pattern>>>")]
    keys: Option<Vec<String>>,
    #[serde(default)]
    feed: FeedChoice,
    #[serde(default)]
    format: Vec<Spanned<Pin>>,
    #[serde_as(as = "Vec<Text<Pattern>>")]
    #[serde(default)]
    ignore: Vec<String>,
    #[serde_as(as = "Option<Between<1, 100>>")]
    scan_share_percent: Option<u32>,
    #[serde(default)]
    read_only: bool,
    #[serde_as(as = "Option<Text<Period>>")]
    connect_timeout: Option<Duration>,
    #[serde_as(as = "Option<Text<Period>>")]
    command_timeout: Option<Duration>,
    #[serde_as(as = "Option<Text<Period>>")]
    longest_lease: Option<Duration>,
    #[serde_as(as = "Option<Between<0, 50>>")]
    drift_percent: Option<f64>,
    #[serde_as(as = "Option<Text<Period>>")]
    drift_plus: Option<Duration>,
    #[serde_as(as = "Option<Between<1, 50>>")]
    node_share_percent: Option<u32>,
    fencing: Option<bool>,
    #[serde_as(as = "Option<Text<Period<60, { 30 * DAY }>>>")]
    fence_counter_ttl: Option<Duration>,
    #[serde_as(as = "Option<Text<Period<10, 3600>>>")]
    release_marker_ttl: Option<Duration>,
    delayed_restart: Option<bool>,
    #[serde_as(as = "Option<Text<Period>>")]
    longest_hold: Option<Duration>,
    most_extensions: Option<u32>,
    #[serde_as(as = "Option<NonEmpty<_>>")]
    databases: Option<Vec<Spanned<u16>>>,
    #[serde(default)]
    sentinel: Vec<Spanned<NodeTable>>,
    node: Spanned<Vec<Spanned<NodeTable>>>,
}

/// Reads one `[[group]]`: one group, or one for each of its databases. Adds what is odd about it to `warnings`.
pub(super) fn read(
    source: &Source<'_>,
    table: GroupTable,
    warnings: &mut Vec<String>,
) -> Result<Vec<GroupConfig>, ConfigError> {
    let databases = table.databases.clone();
    let place = table.node.span();
    let group = read_one(source, table)?;
    warnings.extend(group.even_count().map(|why| source.at(place, &why)));
    match databases {
        Some(databases) => each_database(source, &databases, &group),
        None => Ok(vec![group]),
    }
}

fn read_one(source: &Source<'_>, table: GroupTable) -> Result<GroupConfig, ConfigError> {
    let place = match &table.kind {
        Some(kind) => kind.span(),
        None => table.node.span(),
    };
    let nodes = read_nodes(source, table.node.into_inner())?;
    let sentinels = read_nodes(source, table.sentinel)?;
    let named = table.kind.map(Spanned::into_inner);
    let kind = named.unwrap_or(kinds::usual(&nodes, &sentinels));
    kinds::check(kind, &nodes, &sentinels, table.databases.is_some())
        .map_err(|why| ConfigError(source.at(place, &why)))?;
    let pins = read_pins(source, table.format)?;
    let keys_are_explicit = table.keys.is_some();
    let mut keys = table
        .keys
        .unwrap_or_else(|| DEFAULT_KEYS.map(str::to_owned).to_vec());
    for pin in &pins {
        if !keys.contains(&pin.pattern) {
            keys.push(pin.pattern.clone());
        }
    }
    let usual = LockingConfig::new(kind);
    let drift_ratio = table.drift_percent.map(|percent| percent / 100.0);
    Ok(GroupConfig {
        name: table.name,
        kind,
        environment: table.environment,
        keys,
        keys_are_explicit,
        feed: table.feed,
        pins,
        ignore: table.ignore,
        scan_share_percent: table.scan_share_percent.unwrap_or(DEFAULT_SCAN_SHARE),
        read_only: table.read_only,
        connect_timeout: table.connect_timeout.unwrap_or(Duration::from_secs(1)),
        command_timeout: table.command_timeout.unwrap_or(Duration::from_millis(500)),
        locking: LockingConfig {
            fence_counter_ttl: table.fence_counter_ttl.unwrap_or(usual.fence_counter_ttl),
            release_marker_ttl: table.release_marker_ttl.unwrap_or(usual.release_marker_ttl),
            longest_lease: table.longest_lease.unwrap_or(usual.longest_lease),
            drift: Drift {
                ratio: drift_ratio.unwrap_or(usual.drift.ratio),
                plus: table.drift_plus.unwrap_or(usual.drift.plus),
            },
            node_share_percent: table.node_share_percent.unwrap_or(usual.node_share_percent),
            fencing: table.fencing.unwrap_or(usual.fencing),
            delayed_restart: table.delayed_restart.unwrap_or(usual.delayed_restart),
            longest_hold: table.longest_hold.unwrap_or(usual.longest_hold),
            most_extensions: table.most_extensions.unwrap_or(usual.most_extensions),
        },
        nodes,
        sentinels,
    })
}

/// One group per database, where several are named: a lock in one of them has nothing to do with its namesake in another.
fn each_database(
    source: &Source<'_>,
    databases: &[Spanned<u16>],
    group: &GroupConfig,
) -> Result<Vec<GroupConfig>, ConfigError> {
    let mut groups: Vec<GroupConfig> = Vec::new();
    for spanned in databases {
        let number = i64::from(*spanned.get_ref());
        let name = format!("{}.{number}", group.name);
        if groups.iter().any(|known| known.name == name) {
            return Err(source.error(spanned, "this database is named twice"));
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
