//! The nodes of a group, the scan coverage, and the state of a lock on each node.

messages! {
    nodes: "Nodes", "节点";
    single_node: "one node", "单节点";
    zookeeper(n: usize): one "ZooKeeper, one server", other "ZooKeeper, {n} servers", "ZooKeeper，{n} 台服务器";
    etcd(n: usize): one "etcd, one member", other "etcd, {n} members", "etcd，{n} 个成员";
    postgres: "PostgreSQL", "PostgreSQL";
    sentinel_primary: "one primary, elected by Sentinel", "由 Sentinel 选举的主节点";
    cluster: "cluster, each lock on one primary", "集群，每把锁位于一个主节点上";
    quorum(quorum: u32, nodes: usize): "quorum {quorum} of {nodes}", "多数派 {quorum}/{nodes}";
    first_scan_pass(patterns: String): "first scan not completed yet, {patterns}", "首轮扫描尚未完成，{patterns}";
    first_scan_progress(considered: String, total: String, patterns: String): "first scan: {considered} of {total} keys, {patterns}", "首轮扫描：已考察 {considered}/{total} 个键，{patterns}";
    one_key: "1 key", "1 个键";
    keys(count: String): "{count} keys", "{count} 个键";
    per_call(latency: String): ", {latency} per call", "，每次调用 {latency}";
    scan_pass(nth: u64, keys: String, span: String, call: String, patterns: String, ago: String): "scan pass {nth}: {keys} in {span}{call}, {patterns}, {ago}", "第 {nth} 轮扫描：{keys}，耗时 {span}{call}，{patterns}，{ago}";
    every_name: "all names", "所有名称";
    patterns: "Patterns: ", "匹配模式：";
    other_groups_reachable(groups: usize): one "1 other group: all nodes reachable.", other "{groups} other groups: all nodes reachable.", "其他 {groups} 个组：所有节点均可访问。";
    other_groups_unreachable(groups: usize, troubled: usize): one "1 other group, with unreachable nodes.", other "{groups} other groups, {troubled} of them with unreachable nodes.", "其他 {groups} 个组，其中 {troubled} 个组有节点无法访问。";
    other_groups(groups: usize): one "and 1 other group", other "and {groups} other groups", "以及其他 {groups} 个组";
    not_observed_hint: "A lock that is not observed may still be held, on a node that was not reached or under a name that matches no pattern.", "未观测到的锁仍可能被持有：可能位于无法访问的节点上，或名称不匹配任何模式。";
    group_summary(group: &str, up: usize, nodes: String, seen: String): "{group}: {up} of {nodes} reachable; {seen}.", "{group}：{nodes}中 {up} 个可访问；{seen}。";
    holds: "holds", "持有";
    other_owner: "other owner", "其他持有者";
    unreachable: "unreachable", "无法访问";
    absent: "absent", "无此键";
}
