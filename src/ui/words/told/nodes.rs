//! Why nodes cannot be used or asked, and why they tell less than they could.

use super::Sentences;

/// The one that says most comes first: the first that fits is taken.
pub(super) const SENTENCES: Sentences = &[
    // Connections.
    ("connection refused", "连接被拒绝"),
    ("the connection was closed", "连接已关闭"),
    ("there is no such socket", "没有这个套接字"),
    ("there is no way to its network", "到它所在的网络没有通路"),
    ("no answer", "没有应答"),
    ("no answer in time", "没有及时应答"),
    ("not asked yet", "还没有询问过"),
    ("it was closed", "连接已关闭"),
    ("the console is shutting down", "控制台正在关闭"),
    ("the group is let go", "不再观察该组"),
    ("another server is read now", "现在读取另一台服务器"),
    (
        "the primary is another server now",
        "主节点现在是另一台服务器",
    ),
    (
        "answered with something that is not Redis",
        "应答的不是 Redis",
    ),
    ("speaks too old a protocol", "使用的协议太旧"),
    ("the server does not speak RESP3", "服务器不支持 RESP3"),
    // What the server is.
    ("is loading its data set", "正在加载数据"),
    (
        "is a replica that has lost its primary",
        "是副本，而且失去了主节点",
    ),
    ("is a replica: it takes no writes", "是副本：不接受写入"),
    ("it is no replica of this node", "它不是此节点的副本"),
    ("it has lost its primary", "它失去了主节点"),
    ("the node is a replica", "节点是副本"),
    ("the node cannot be asked", "无法询问节点"),
    ("knows no such primary", "不认识这个主节点"),
    (
        "no sentinel has told yet where the primary is",
        "还没有哨兵说出主节点在哪里",
    ),
    (
        "the sentinels name it as the primary, and it is a replica: the failover has not ended",
        "哨兵说它是主节点，而它还是副本：故障转移尚未结束",
    ),
    (
        "fewer than {} of the {} sentinels agree where the primary \"{}\" is: {}",
        "意见一致的哨兵不足 {} 个（共 {} 个），无法确定主节点“{}”在哪里：{}",
    ),
    (
        "no sentinel tells where the primary \"{}\" is: {}",
        "没有哨兵说得出主节点“{}”在哪里：{}",
    ),
    // Clusters.
    (
        "is a cluster node: give its group kind = \"cluster\", so that each lock is looked for on the node that has it",
        "是集群的节点：请给它的组设 kind = \"cluster\"，这样每把锁都会到存放它的节点上去找",
    ),
    (
        "is no node of a cluster, though its group has kind = \"cluster\"",
        "不是集群的节点，而它的组设了 kind = \"cluster\"",
    ),
    (
        "its slot is on its way from one node to another",
        "它的槽正在从一个节点迁移到另一个",
    ),
    (
        "the slot of this key is on its way from one node of the cluster to another",
        "此键的槽正在从集群的一个节点迁移到另一个",
    ),
    (
        "it serves no slots of the cluster any more",
        "它不再负责集群的任何槽",
    ),
    (
        "its keys lie in different slots of the cluster",
        "它的键分布在集群的不同槽里",
    ),
    (
        "the cluster does not serve its slot: {}",
        "集群不提供它的槽：{}",
    ),
    // Credentials and permissions.
    (
        "asks for a password: put user and password into the node's URL",
        "要求密码：请把用户和密码写进该节点的 URL",
    ),
    (
        "refused user and password: correct them in the node's URL",
        "拒绝了用户和密码：请在该节点的 URL 里改正",
    ),
    ("user name or password are refused", "用户名或密码被拒绝"),
    (
        "{}; permit it with ACL SETUSER … +{}",
        "{}；用 ACL SETUSER … +{} 授权",
    ),
    ("{}; its user needs {}", "{}；它的用户需要 {}"),
    ("the name of the lock", "这把锁的名称"),
    (
        "the name of the lock, and beside it {}",
        "这把锁的名称，以及 {}",
    ),
    ("its files could not be read: {}", "它的文件无法读取：{}"),
    ("TLS: {}", "TLS：{}"),
    // How changes are learnt.
    ("names that begin with {}", "以 {} 开头的名称"),
    ("by the notifications that are on", "依靠已打开的通知"),
    (
        "every write of the server, sorted here: the patterns begin with anything",
        "服务器的每次写入，在这里筛选：模式的开头不固定",
    ),
    (
        "the server writes more than {} keys a second, so only names that begin like known locks are told ({}); others are looked at every second",
        "服务器每秒写入超过 {} 个键，所以只告知以常见锁前缀开头的名称（{}）；其余每秒查看一次",
    ),
    ("the configuration asks for it", "配置要求如此"),
    ("the feed's connection: {}", "推送连接：{}"),
    (
        "whether keyspace notifications are on may not be asked (CONFIG GET)",
        "不允许询问键空间通知是否打开（CONFIG GET）",
    ),
    (
        "keyspace notifications are off (notify-keyspace-events needs K and A)",
        "键空间通知没有打开（notify-keyspace-events 需要 K 和 A）",
    ),
    ("SUBSCRIBE was refused: {}", "SUBSCRIBE 被拒绝：{}"),
    (
        "CLIENT TRACKING was refused: {}",
        "CLIENT TRACKING 被拒绝：{}",
    ),
    ("PSUBSCRIBE was refused: {}", "PSUBSCRIBE 被拒绝：{}"),
    (
        "{} cannot be read ({}): the node itself is",
        "{} 无法读取（{}）：改读节点本身",
    ),
    // Why touches cannot be measured.
    ("no permission for {}", "没有 {} 的权限"),
    (
        "the server saves or sends its data and keeps no idle times meanwhile",
        "服务器正在保存或发送数据，期间不记空闲时间",
    ),
    (
        "the server's maxmemory-policy (LRM) counts writes only",
        "服务器的 maxmemory-policy（LRM）只计写入",
    ),
    (
        "the server does not tell its clock for idle times",
        "服务器没有给出计算空闲时间的时钟",
    ),
    (
        "the value is a small number, which the server keeps once for all keys, or how it is kept may not be asked",
        "值是小整数，服务器让所有键共用一份；或者不允许询问它如何保存",
    ),
    (
        "the key has no expiry, and the node does not tell of writes",
        "键没有过期时间，而节点不告知写入",
    ),
    // What became of an act there.
    ("no answer within {} ms", "{} 毫秒内没有应答"),
    ("it may have been acquired", "它可能已被获取"),
    ("it may have been extended", "它可能已被续租"),
    ("it may have been released", "它可能已被释放"),
    ("what happened is not known", "发生了什么不得而知"),
    ("{}; nothing was done there", "{}；那里什么都没有做"),
    ("nothing was done there", "那里什么都没有做"),
    (
        "acquired, and not known to be released: it ends with its lease",
        "已获取，不知是否已释放：它随租约结束",
    ),
];
