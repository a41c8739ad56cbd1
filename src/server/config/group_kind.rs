//! The default kind of a group, and the requirements of each kind.

use super::NodeConfig;
use crate::domain::GroupKind;

/// The kind of a group without `kind`, derived from its nodes.
pub(super) fn default_kind(nodes: &[NodeConfig], sentinels: &[NodeConfig]) -> GroupKind {
    if !sentinels.is_empty() {
        GroupKind::Sentinel
    } else if nodes.len() == 1 {
        GroupKind::Standalone
    } else {
        GroupKind::Redlock
    }
}

/// Checks that the nodes match the kind.
pub(super) fn validate(
    kind: GroupKind,
    nodes: &[NodeConfig],
    sentinels: &[NodeConfig],
    has_databases: bool,
) -> Result<(), String> {
    let why = match kind {
        GroupKind::Zookeeper | GroupKind::Etcd | GroupKind::Postgres
            if !nodes.is_empty() || !sentinels.is_empty() || has_databases =>
        {
            "`node` is a list of Redis servers; this kind of group has `servers`, `endpoints` or `url` instead"
        }
        GroupKind::Zookeeper | GroupKind::Etcd | GroupKind::Postgres => return Ok(()),
        _ if nodes.is_empty() => "the group has no node; add at least one to `node`",
        GroupKind::Standalone if nodes.len() > 1 => {
            return Err(format!(
                "a standalone group has exactly one node, this one has {}; remove nodes or set kind = \"redlock\"",
                nodes.len()
            ));
        }
        GroupKind::Sentinel if sentinels.is_empty() => {
            "a sentinel group requires sentinels; add sentinel = [{ url = \"redis://HOST:26379\" }, …]"
        }
        GroupKind::Sentinel if nodes.len() > 1 => {
            "a sentinel group has exactly one node, whose host is the primary's name in the sentinels"
        }
        GroupKind::Sentinel if nodes.iter().any(|node| node.url.host().is_none()) => {
            "a sentinel group cannot use a socket; write redis://NAME, the primary's name in the sentinels"
        }
        GroupKind::Cluster | GroupKind::Sentinel
            if nodes.iter().any(|node| node.read_from.is_some()) =>
        {
            "`read_from` is only supported for standalone and redlock groups, whose addresses do not change"
        }
        GroupKind::Standalone | GroupKind::Redlock | GroupKind::Cluster
            if !sentinels.is_empty() =>
        {
            "`sentinel` requires kind = \"sentinel\""
        }
        GroupKind::Cluster
            if has_databases || nodes.iter().any(|node| node.url.database() != 0) =>
        {
            "a cluster has only database 0; remove the database number"
        }
        GroupKind::Standalone | GroupKind::Sentinel | GroupKind::Redlock | GroupKind::Cluster => {
            return Ok(());
        }
    };
    Err(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{Config, parse};
    use crate::domain::GroupKind;

    fn read(lines: &str) -> Result<Config, String> {
        let text = format!("[[group]]\nname = \"a\"\n{lines}");
        parse("l.toml", &text, &|_| None).map_err(|why| why.to_string())
    }

    #[test]
    fn a_group_with_sentinels_has_the_name_of_its_primary_as_host() {
        let config = read(
            "sentinel = [{ url = \"redis://h:26379\" }, { url = \"redis://i:26379\" }]\n\
              node = [{ name = \"primary\", url = \"redis://:pw@mymaster\" }]",
        )
        .unwrap();
        let group = &config.groups[0];
        assert_eq!(group.kind, GroupKind::Sentinel);
        assert_eq!(group.nodes[0].url.host(), Some("mymaster"));
        assert_eq!(group.sentinels.len(), 2);
        assert!(!group.locking.delayed_restart);
    }

    #[test]
    fn each_database_becomes_a_group() {
        let config = read("databases = [0, 7]\nnode = [{ url = \"redis://h:1\" }]").unwrap();
        let name_and_address = |n: usize| {
            (
                config.groups[n].name.as_str(),
                config.groups[n].nodes[0].url.address(),
            )
        };
        assert_eq!(name_and_address(0), ("a.0", "h:1".to_owned()));
        assert_eq!(name_and_address(1), ("a.7", "h:1/7".to_owned()));
    }

    #[test]
    fn inconsistent_settings_are_rejected_with_their_position() {
        for (lines, expected) in [
            (
                "kind = \"sentinel\"\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:8: a sentinel group requires sentinels",
            ),
            (
                "kind = \"cluster\"\nnode = [{ url = \"redis://h:1/2\" }]",
                "l.toml:3:8: a cluster has only database 0",
            ),
            (
                "kind = \"redlock\"\nsentinel = [{ url = \"redis://s:1\" }]\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:8: `sentinel` requires kind",
            ),
            (
                "sentinel = [{ url = \"redis://s:1\" }]\nnode = [{ url = \"redis://h:1\" }, { url = \"redis://i:1\" }]",
                "l.toml:4:8: a sentinel group has exactly one node",
            ),
            (
                "databases = []\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:13: the list is empty",
            ),
            (
                "databases = [1, 1]\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:17: duplicate database 1",
            ),
        ] {
            let error = read(lines).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
