//! What each kind of group asks of its nodes.

use super::NodeConfig;
use crate::domain::GroupKind;

/// The kind of a group that names none, by its nodes.
pub(super) fn usual(nodes: &[NodeConfig], sentinels: &[NodeConfig]) -> GroupKind {
    if !sentinels.is_empty() {
        GroupKind::Sentinel
    } else if nodes.len() == 1 {
        GroupKind::Standalone
    } else {
        GroupKind::Redlock
    }
}

/// What does not go together in a group of this kind.
pub(super) fn check(
    kind: GroupKind,
    nodes: &[NodeConfig],
    sentinels: &[NodeConfig],
    has_databases: bool,
) -> Result<(), String> {
    let why = match kind {
        _ if nodes.is_empty() => "the group has no node",
        GroupKind::Standalone if nodes.len() > 1 => {
            return Err(format!(
                "a standalone group has one node, this one has {}",
                nodes.len()
            ));
        }
        GroupKind::Sentinel if sentinels.is_empty() => {
            "a sentinel group needs its sentinels: sentinel = [{ url = \"redis://HOST:26379\" }, …]"
        }
        GroupKind::Sentinel if nodes.len() > 1 => {
            "a sentinel group has one node, whose host is the name by which the sentinels know the primary"
        }
        GroupKind::Sentinel if nodes.iter().any(|node| node.url.host().is_none()) => {
            "behind sentinels a node has no socket: write redis://NAME, the name by which they know the primary"
        }
        GroupKind::Cluster | GroupKind::Sentinel
            if nodes.iter().any(|node| node.read_from.is_some()) =>
        {
            "`read_from` is for nodes that stay where they are"
        }
        GroupKind::Standalone | GroupKind::Redlock | GroupKind::Cluster
            if !sentinels.is_empty() =>
        {
            "only a group of the kind \"sentinel\" has sentinels"
        }
        GroupKind::Cluster
            if has_databases || nodes.iter().any(|node| node.url.database() != 0) =>
        {
            "a cluster has only the database 0"
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
                "l.toml:3:13: this list is empty",
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
