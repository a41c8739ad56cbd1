//! What each kind of group asks of its nodes, and groups that stand for several databases.

use super::file::{Group, Source};
use super::{ConfigError, GroupConfig, NodeConfig};
use crate::domain::GroupKind;

/// The kind of a group: as it is named, or as its nodes tell. Says what does not go together.
pub(super) fn read(
    source: &Source<'_>,
    group: &Group,
    nodes: &[NodeConfig],
    sentinels: &[NodeConfig],
) -> Result<GroupKind, ConfigError> {
    if nodes.is_empty() {
        return Err(source.error(&group.node, "the group has no node"));
    }
    let named = group.kind.as_ref().map(|kind| *kind.get_ref());
    let kind = named.unwrap_or(if !sentinels.is_empty() {
        GroupKind::Sentinel
    } else if nodes.len() == 1 {
        GroupKind::Standalone
    } else {
        GroupKind::Redlock
    });
    let objection = match kind {
        GroupKind::Standalone if nodes.len() > 1 => Some(format!(
            "a standalone group has one node, this one has {}",
            nodes.len()
        )),
        GroupKind::Sentinel if sentinels.is_empty() => Some(
            "a sentinel group needs its sentinels: sentinel = [{ url = \"redis://HOST:26379\" }, …]"
                .to_owned(),
        ),
        GroupKind::Sentinel if nodes.len() > 1 => Some(
            "a sentinel group has one node, whose host is the name by which the sentinels know the primary"
                .to_owned(),
        ),
        GroupKind::Sentinel if nodes.iter().any(|node| node.url.host().is_none()) => Some(
            "behind sentinels a node has no socket: write redis://NAME, the name by which they know the primary"
                .to_owned(),
        ),
        GroupKind::Cluster | GroupKind::Sentinel if nodes.iter().any(|node| node.read_from.is_some()) => {
            Some("`read_from` is for nodes that stay where they are".to_owned())
        }
        GroupKind::Sentinel => None,
        GroupKind::Standalone | GroupKind::Redlock | GroupKind::Cluster if !sentinels.is_empty() => {
            Some("only a group of the kind \"sentinel\" has sentinels".to_owned())
        }
        GroupKind::Cluster
            if nodes.iter().any(|node| node.url.database() != 0) || group.databases.is_some() =>
        {
            Some("a cluster has only the database 0".to_owned())
        }
        GroupKind::Standalone | GroupKind::Redlock | GroupKind::Cluster => None,
    };
    match (objection, &group.kind) {
        (None, _) => Ok(kind),
        (Some(why), Some(kind)) => Err(source.error(kind, &why)),
        (Some(why), None) => Err(source.error(&group.node, &why)),
    }
}

/// One group per database, where several are named: a lock in one of them has nothing to do with its namesake in another.
pub(super) fn each_database(
    source: &Source<'_>,
    table: &Group,
    group: GroupConfig,
) -> Result<Vec<GroupConfig>, ConfigError> {
    let Some(databases) = &table.databases else {
        return Ok(vec![group]);
    };
    if databases.get_ref().is_empty() {
        return Err(source.error(
            databases,
            "no database is named; leave it out for the URL's",
        ));
    }
    let mut groups = Vec::new();
    for number in databases.get_ref() {
        if !(0..=65_535).contains(number.get_ref()) {
            return Err(source.error(number, "the number of a database is 0 or more"));
        }
        let name = format!("{}.{}", group.name, number.get_ref());
        if groups.iter().any(|known: &GroupConfig| known.name == name) {
            return Err(source.error(number, "this database is named twice"));
        }
        let in_database = |node: &NodeConfig| NodeConfig {
            url: node.url.clone().with_database(*number.get_ref()),
            read_from: node
                .read_from
                .clone()
                .map(|url| url.with_database(*number.get_ref())),
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

#[cfg(test)]
mod tests {
    use super::super::{Config, parse};
    use crate::domain::GroupKind;

    fn read(lines: &str) -> Result<Config, String> {
        let text = format!("[[group]]\nname = \"a\"\n{lines}");
        parse("l.toml", &text, &|_| None).map_err(|why| why.to_string())
    }

    #[test]
    fn a_group_with_sentinels_follows_the_primary_of_that_name() {
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
    fn several_databases_are_several_groups() {
        let config = read("databases = [0, 7]\nnode = [{ url = \"redis://h:1\" }]").unwrap();
        let of = |n: usize| {
            (
                config.groups[n].name.as_str(),
                config.groups[n].nodes[0].url.address(),
            )
        };
        assert_eq!(of(0), ("a.0", "h:1".to_owned()));
        assert_eq!(of(1), ("a.7", "h:1/7".to_owned()));
    }

    #[test]
    fn what_does_not_go_together_is_told_with_its_place() {
        for (lines, says) in [
            (
                "kind = \"sentinel\"\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:8: a sentinel group needs its sentinels",
            ),
            (
                "kind = \"cluster\"\nnode = [{ url = \"redis://h:1/2\" }]",
                "l.toml:3:8: a cluster has only the database 0",
            ),
            (
                "kind = \"redlock\"\nsentinel = [{ url = \"redis://s:1\" }]\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:8: only a group of the kind",
            ),
            (
                "sentinel = [{ url = \"redis://s:1\" }]\nnode = [{ url = \"redis://h:1\" }, { url = \"redis://i:1\" }]",
                "l.toml:4:8: a sentinel group has one node",
            ),
            (
                "databases = []\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:13: no database is named",
            ),
            (
                "databases = [1, 1]\nnode = [{ url = \"redis://h:1\" }]",
                "l.toml:3:17: this database is named twice",
            ),
        ] {
            let error = read(lines).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
