//! Nodes that are not up: what this means for the locks of their group, and what a node lacks after
//! it came back.

use crate::domain::{GroupKind, GroupView, NodeState, QuorumMargin};

use super::{punctuation, reasons};
use crate::domain::NodeView;

messages! {
    down_for(node: &str, group: &str, span: String, why: String): "Node {node} of {group} has been down for {span}{why}.", "{group} 的节点 {node} 已宕机 {span}{why}。";
    loading_for(node: &str, group: &str, span: String, why: String): "Node {node} of {group} has been loading its data for {span}{why}.", "{group} 的节点 {node} 正在加载数据，已持续 {span}{why}。";
    refused_for(node: &str, group: &str, span: String, why: String): "Node {node} of {group} has refused the console for {span}{why}.", "{group} 的节点 {node} 已拒绝控制台访问 {span}{why}。";
    announcement(node: &str, group: &str): "Node {node} of {group} is not up.", "{group} 的节点 {node} 异常。";
    more_nodes(n: usize): one "1 more node of the group is not up.", other "{n} more nodes of the group are not up.", "该组还有 {n} 个节点异常。";
    more_groups(n: usize): one "1 more group has nodes that are not up. ", other "{n} more groups have nodes that are not up. ", "还有 {n} 个组存在异常节点。";

    up_with_quorum(up: usize, total: usize, quorum: u32): "{up} of {total} up, quorum {quorum}: ", "{total} 个节点中 {up} 个正常，多数派为 {quorum}：";
    up_of_total(up: usize, total: usize): "{up} of {total} up: ", "{total} 个节点中 {up} 个正常：";
    works_without_spare: "locks work; no further failure is tolerated.", "锁可正常使用，但不能再有节点故障。";
    works_with_spare(n: usize): one "locks work; one more failure is tolerated.", other "locks work; {n} more failures are tolerated.", "锁可正常使用，还可容忍 {n} 个节点故障。";
    short_of(n: usize): one "no lock can be acquired or extended until one more node is up.", other "no lock can be acquired or extended until {n} more nodes are up.", "在再有 {n} 个节点恢复之前，无法获取或续租任何锁。";
    part_of_cluster(n: usize): one "locks on the slots of this node cannot be acquired or extended; the other locks work.", other "locks on the slots of these {n} nodes cannot be acquired or extended; the other locks work.", "这 {n} 个节点的槽上的锁无法获取或续租，其他锁可正常使用。";

    locks_unknown(n: usize): one "1 lock is unknown because of it", other "{n} locks are unknown because of it", "因此有 {n} 把锁状态未知";
    at_least_unknown(n: usize): one "At least 1 lock is unknown because of it", other "At least {n} locks are unknown because of it", "因此至少有 {n} 把锁状态未知";

    back_after(node: &str, group: &str, span: String): "Node {node} of {group} is back after {span}", "{group} 的节点 {node} 在 {span}后恢复";
    lacks_no_lock: "; it has every lock of the group.", "，该组的锁均在该节点上。";
    lacks(n: usize): one "; 1 lock is not on it.", other "; {n} locks are not on it.", "，有 {n} 把锁不在该节点上。";
    lacks_at_least(n: usize): one "; at least 1 lock is not on it.", other "; at least {n} locks are not on it.", "，至少有 {n} 把锁不在该节点上。";
    lacks_advice: " They count one node less until they are acquired again.", "在重新获取之前，这些锁少计一个节点。";

    // The margin on the card of a group.
    can_lose(n: usize): one "can lose 1 more", other "can lose {n} more", "还可失去 {n} 个节点";
    can_lose_none: "can lose no more", "不能再失去节点";
    lacks_nodes(n: usize): one "locks fail: 1 node short", other "locks fail: {n} nodes short", "锁不可用：缺 {n} 个节点";
    part_down(n: usize): one "1 primary is not up", other "{n} primaries are not up", "{n} 个主节点异常";
    unavailable: "locks fail: not up", "锁不可用：节点异常";
}

/// Since when a node is not up, and why.
pub fn outage(group: &str, node: &NodeView, span: String) -> String {
    let why = node.reason.as_ref().map(reasons::clause);
    let why = why
        .map(|why| punctuation::in_parentheses(&why))
        .unwrap_or_default();
    match node.state {
        NodeState::Up | NodeState::Down => down_for(&node.name, group, span, why),
        NodeState::Loading => loading_for(&node.name, group, span, why),
        NodeState::Refused => refused_for(&node.name, group, span, why),
    }
}

/// What the nodes that are not up mean for the locks of their group.
pub fn effect(group: &GroupView) -> String {
    let (up, total) = (group.nodes_up(), group.nodes.len());
    let nodes = match group.kind {
        GroupKind::Redlock => up_with_quorum(up, total, group.quorum),
        _ => up_of_total(up, total),
    };
    let meaning = match QuorumMargin::of(group) {
        QuorumMargin::Spare(0) => works_without_spare().to_owned(),
        QuorumMargin::Spare(failures) => works_with_spare(failures),
        QuorumMargin::Short(missing) => short_of(missing),
        QuorumMargin::PartOfCluster { unavailable } => part_of_cluster(unavailable),
    };
    nodes + &meaning
}

/// The margin in a few words. `None` for a group of one server that is up: it has no margin to
/// watch.
pub fn margin(group: &GroupView) -> Option<String> {
    let is_single = match group.kind {
        GroupKind::Standalone | GroupKind::Sentinel | GroupKind::Postgres => true,
        GroupKind::Redlock | GroupKind::Cluster | GroupKind::Zookeeper | GroupKind::Etcd => {
            group.nodes.len() == 1
        }
    };
    match QuorumMargin::of(group) {
        QuorumMargin::Spare(_) if is_single || group.kind == GroupKind::Cluster => None,
        QuorumMargin::Spare(0) => Some(can_lose_none().to_owned()),
        QuorumMargin::Spare(failures) => Some(can_lose(failures)),
        QuorumMargin::Short(_) if is_single => Some(unavailable().to_owned()),
        QuorumMargin::Short(missing) => Some(lacks_nodes(missing)),
        QuorumMargin::PartOfCluster { unavailable } => Some(part_down(unavailable)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing;

    #[test]
    fn an_outage_is_described_by_what_still_works() {
        let mut group = testing::group("orders", 5);
        group.nodes[2].state = NodeState::Down;
        assert_eq!(
            effect(&group),
            "4 of 5 up, quorum 3: locks work; one more failure is tolerated."
        );
        assert_eq!(margin(&group).as_deref(), Some("can lose 1 more"));
        assert_eq!(
            outage("orders", &group.nodes[2], "12 s".to_owned()),
            "Node c of orders has been down for 12 s."
        );
        group.nodes[0].state = NodeState::Down;
        group.nodes[1].state = NodeState::Refused;
        assert_eq!(
            effect(&group),
            "2 of 5 up, quorum 3: no lock can be acquired or extended until one more node is up."
        );
        let mut cluster = testing::group("cache", 3);
        cluster.kind = GroupKind::Cluster;
        assert_eq!(margin(&cluster), None);
        cluster.nodes[0].state = NodeState::Down;
        assert_eq!(
            effect(&cluster),
            "2 of 3 up: locks on the slots of this node cannot be acquired or extended; the other locks work."
        );
    }
}
