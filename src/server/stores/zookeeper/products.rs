//! The trees of well-known products. Their locks belong to the product: they are shown under its name
//! and never released.
//!
//! ```text
//! /controller, /brokers/ids/1                        Kafka, also below a path of its own
//! /hbase/master                                      HBase
//! /overseer_elect/leader, /live_nodes/web-1:8983     Solr, also below a path of its own
//! /clickhouse/tables/…                               ClickHouse
//! /hadoop-ha/<cluster>/ActiveStandbyElectorLock      Hadoop
//! /service/<scope>/leader                            Patroni
//! /accumulo/…                                        Accumulo
//! ```

use strum::Display;

use super::contender::Contender;

/// A product that stores locks of its own in ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum Product {
    /// Apache Kafka.
    Kafka,
    /// Apache HBase.
    HBase,
    /// Apache Solr.
    Solr,
    /// `ClickHouse`.
    ClickHouse,
    /// Apache Hadoop.
    Hadoop,
    /// Patroni.
    Patroni,
    /// Apache Accumulo.
    Accumulo,
}

/// The directories and names of leaders. Each is a single ephemeral node, whose path is the same for
/// the next owner.
const LEADERS: [(&str, &str, Product); 5] = [
    ("", "controller", Product::Kafka),
    ("hbase", "master", Product::HBase),
    ("hadoop-ha", "ActiveStandbyElectorLock", Product::Hadoop),
    ("overseer_elect", "leader", Product::Solr),
    ("service", "leader", Product::Patroni),
];

impl Product {
    /// The product whose tree a path is in, by the names that only this product uses.
    pub fn of_tree(path: &str) -> Option<Self> {
        let parts: Vec<&str> = parts(path).collect();
        let by_pair = parts.windows(2).find_map(|pair| match pair {
            ["brokers", "ids" | "topics" | "seqid"] => Some(Self::Kafka),
            ["overseer" | "overseer_elect" | "live_nodes", _] => Some(Self::Solr),
            _ => None,
        });
        // These names alone are common words, so they count at the top only.
        let by_root = match parts[..] {
            ["hbase" | "hbase-secure" | "hbase-unsecure", _, ..] => Some(Self::HBase),
            ["clickhouse", _, ..] => Some(Self::ClickHouse),
            ["hadoop-ha" | "yarn-leader-election", _, ..] => Some(Self::Hadoop),
            ["accumulo", _, ..] => Some(Self::Accumulo),
            [
                "service",
                _,
                "leader" | "members" | "sync" | "failover" | "config" | "initialize" | "history"
                | "status" | "optime",
                ..,
            ] => Some(Self::Patroni),
            _ => None,
        };
        by_pair.or(by_root)
    }

    /// The product that a node without children belongs to.
    pub fn of_node(path: &str) -> Option<Self> {
        Self::of_tree(path).or_else(|| leader(path))
    }
}

/// Whether an ephemeral node is held exclusively. Other ephemeral nodes of a product register a
/// server.
pub fn is_leader(path: &str) -> bool {
    let name = parts(path).last().unwrap_or_default();
    leader(path).is_some() || Contender::parse(name).is_some()
}

fn leader(path: &str) -> Option<Product> {
    let (directories, name) = path.rsplit_once('/')?;
    let is_leader = |(directory, leader, _): &&(&str, &str, Product)| {
        name == *leader
            && (directory.is_empty() || parts(directories).any(|part| part == *directory))
    };
    LEADERS
        .iter()
        .find(is_leader)
        .map(|(_, _, product)| *product)
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_of_products_are_recognised_by_their_names() {
        for (path, product) in [
            ("/controller", Some(Product::Kafka)),
            ("/kafka/controller", Some(Product::Kafka)),
            ("/kafka/brokers/ids/1", Some(Product::Kafka)),
            ("/hbase/master", Some(Product::HBase)),
            ("/hbase/rs/web-1,16020,1700000000000", Some(Product::HBase)),
            ("/solr/live_nodes/web-1:8983_solr", Some(Product::Solr)),
            ("/overseer_elect/leader", Some(Product::Solr)),
            (
                "/clickhouse/tables/01/hits/leader_election",
                Some(Product::ClickHouse),
            ),
            (
                "/hadoop-ha/prod/ActiveStandbyElectorLock",
                Some(Product::Hadoop),
            ),
            (
                "/yarn-leader-election/rm/ActiveStandbyElectorLock",
                Some(Product::Hadoop),
            ),
            ("/service/orders/leader", Some(Product::Patroni)),
            ("/service/orders/members/a", Some(Product::Patroni)),
            ("/accumulo/1/managers/lock", Some(Product::Accumulo)),
            // Locks of applications.
            ("/locks/hbase", None),
            ("/locks/clickhouse/compaction", None),
            ("/service/locks/orders", None),
            ("/locks/brokers", None),
            ("/clickhouse", None),
            ("/locks/leader", None),
        ] {
            assert_eq!(Product::of_node(path), product, "{path}");
        }
        // A directory of contenders of this name is no leader of Kafka.
        assert_eq!(Product::of_tree("/locks/controller"), None);
    }

    #[test]
    fn leaders_are_told_from_registrations() {
        for (path, expected) in [
            ("/controller", true),
            ("/service/orders/leader", true),
            ("/brokers/ids/1", false),
            ("/live_nodes/web-1:8983_solr", false),
        ] {
            assert_eq!(is_leader(path), expected, "{path}");
        }
    }
}
