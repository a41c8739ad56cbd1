//! What was asked and seen: the nodes of a group, how much of the keyspace, and what each node shows.

words! {
    nodes: "Nodes", "节点";
    one_node: "one node", "单节点";
    by_sentinels: "one primary, chosen by sentinels", "由哨兵选定的一个主节点";
    in_a_cluster: "a cluster, each lock on one primary", "集群，每把锁在一个主节点上";
    quorum(quorum: u32, nodes: usize): "quorum {quorum} of {nodes}", "法定多数 {quorum} / {nodes}";
    first_pass(patterns: String): "the first pass over the keys has not ended yet, {patterns}", "对键的第一遍扫描尚未结束，{patterns}";
    one_key: "1 key", "1 个键";
    keys(count: String): "{count} keys", "{count} 个键";
    a_call(latency: String): ", {latency} a call", "，每次调用 {latency}";
    pass(nth: u64, keys: String, span: String, call: String, patterns: String, ago: String): "pass {nth}: {keys} in {span}{call}, {patterns}, {ago}", "第 {nth} 遍：{span}内 {keys}{call}，{patterns}，{ago}";
    patterns: "Patterns: ", "匹配模式：";
    groups_well(groups: usize): "{groups} other groups: all nodes answer.", "其他 {groups} 个组：全部节点有应答。";
    groups_troubled(groups: usize, troubled: usize): "{groups} other groups, {troubled} of them with a node that does not answer.", "其他 {groups} 个组，其中 {troubled} 个有节点没有应答。";
    other_groups(groups: usize): "and {groups} other groups", "以及其他 {groups} 个组";
    no_proof: "An observer cannot prove that nobody holds a lock: what matches no pattern is not seen.", "旁观者无法证明没有人持有某把锁：不符合任何模式的键是看不到的。";
    answering(group: &str, up: usize, nodes: String, seen: String): "{group}: {up} of {nodes} answer; {seen}.", "{group}：{nodes}中 {up} 个有应答；{seen}。";
    holds: "holds", "持有";
    other_owner: "other owner", "另一个持有者";
    unreachable: "unreachable", "无法访问";
    absent: "absent", "不在";
}
