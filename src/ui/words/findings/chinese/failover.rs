//! What is said of nodes that are not independent, and of those that take another's place.

use super::{Facts, Sentences};

/// The sentences for a code of this topic.
pub(super) fn sentences(facts: &Facts<'_>) -> Option<Sentences> {
    let nodes = facts.nodes();
    let figure = |name| facts.figure(name);
    let votes = || figure("votes") != "no";
    Some(match facts.code() {
        "same-server" => (
            format!("{nodes} 其实是同一台服务器。"),
            "一台服务器投了好几票：它一走，多数也就没了，而别的节点都不知道那些锁。",
            "每台服务器只写一次；找出通向同一处的地址：负载均衡、别名、端口转发。".to_owned(),
        ),
        "same-data" => (
            format!("{nodes} 是一个主节点和它的副本，不是独立的服务器。"),
            "它们共享同一份写入历史：主节点给出的，其余的稍后照抄。故障转移后，没来得及复制的锁会被给别人。",
            "让每个节点有自己的数据集：互不复制的独立主节点。".to_owned(),
        ),
        "failover-forgets" => (
            format!("{nodes} 有副本。"),
            "复制是异步的：被提升的副本没听说过最新的锁，会再给出去一次。",
            match votes() {
                true => "不要提升 Redlock 节点的副本：重启节点本身，等过最长租约，或保证每次写入都已落盘。",
                false => "如果同时有两个持有者会造成损害，请使用 fencing 令牌，或由独立节点组成的 Redlock 组。",
            }
            .to_owned(),
        ),
        "few-sentinels" => (
            format!("配置里只写了 {} 个哨兵；少了一个还能达成一致，至少要三个。", figure("count")),
            "没有多数哨兵，谁也不会被提升，主节点回来之前既拿不到也还不了锁；只认识一个哨兵的控制台会随它一起找不到主节点。",
            "运行三个或五个哨兵，各在各的机器上，并在这里全部写明。".to_owned(),
        ),
        "sentinels-beside-primary" => (
            format!("{nodes} 与一半或更多的哨兵在同一台机器上。"),
            "那台机器一倒，剩下的哨兵不成多数：谁也不会被提升，也就拿不到锁。",
            "把哨兵分散到不会同时倒下的机器上。".to_owned(),
        ),
        "one-sentinel-decides" => (
            format!("{} 个哨兵中，一个就足以让主节点被替换。", figure("all")),
            "与主节点断开、或自己停顿了片刻的哨兵会在主节点完好时提升另一台服务器：主节点得知之前，两边会给出同一把锁。",
            format!("要求多数哨兵同意，即 {} 个中的 {} 个：把下面这行交给每个哨兵。", figure("all"), figure("majority")),
        ),
        "hasty-failover" => (
            format!("哨兵等 {} 没有应答就认为主节点不在了。", figure("after")),
            "哨兵每秒询问一次：一次 fork、磁盘繁忙或丢一个包耽误了一个应答，就足以提升另一台服务器。还没复制的锁于是白白给了第二个持有者。",
            format!("多等几次应答，至少 {}，并使用比这更长的租约：把下面这行交给每个哨兵。", figure("enough")),
        ),
        "failover-outlasts-leases" => (
            format!("主节点不在后，哨兵要等 {} 才替换它，而有的租约更早结束。", figure("after")),
            "这期间谁也无法续租：每次故障转移都会丢掉这样的锁，持有者必须在别人从新主节点拿到锁之前发觉。",
            format!("使用比故障转移更长的租约，或让哨兵少等一些，但至少 {}。", figure("least")),
        ),
        "no-successor" => (
            format!("{nodes} 没有副本。"),
            "没有谁能接手：这样的主节点不在时，它的锁既拿不到也还不了。",
            "给每个主节点在另一台机器上配一个副本。".to_owned(),
        ),
        "replica-lags" => (
            format!("{nodes} 有落后的副本。"),
            "如果就这样被提升，它对此后取得的锁一无所知：每一把都会再给第二个持有者。",
            "查看两者之间的网络和负载；正在填充的副本填完就好。".to_owned(),
        ),
        "gives-locks-alone" => (
            format!("{nodes} 与所有副本断开后仍继续给出锁。"),
            "被隔开的主节点不知道已提升了别的：在它得知之前，两边会把同一把锁给各自的请求者，而旧主节点给出的会被丢弃。",
            "让它在没有紧跟的副本时拒绝写入；这样副本全部下线时它也会拒绝。".to_owned(),
        ),
        "cluster-stops-whole" => (
            format!("集群缺了一部分时，{nodes} 会拒绝所有的锁。"),
            "一个没有后继的主节点会让其余节点的锁也停下来。",
            "如果其他部分的锁应当继续，就让集群只提供它还有的部分。".to_owned(),
        ),
        "one-host" => (
            format!("{nodes} 与本组的另一个节点在同一台机器上。"),
            "它们会一起倒下。多数只防得住不同时发生的故障，而机器重启会带走它们全部的内存。",
            "每个节点放在各自的机器上；有条件就放在不同的机架或可用区。".to_owned(),
        ),
        "few-nodes" => (
            format!("只有 {} 个节点的 Redlock 组经不起任何故障。", figure("all")),
            "一两个节点的多数就是全部：少一个就再也拿不到锁。",
            "用三个或五个节点；如果只有一个，就叫它 standalone。".to_owned(),
        ),
        "even-nodes" => (
            format!("{} 个节点能承受的故障并不比 {} 个多。", figure("all"), figure("fewer")),
            "最后一个节点抬高了法定多数，却没有提高能承受的故障数；一分为二时两边都没有多数。",
            "加一个节点，或去掉一个。".to_owned(),
        ),
        "single-server" => (
            format!("{nodes} 是生产组里唯一的服务器。"),
            "它不在时谁也拿不到锁，它忘了的也没有别人记得。",
            "如果锁只是为了避免重复劳动，这样就行。否则用三个或五个节点的 Redlock 组，并使用 fencing 令牌。".to_owned(),
        ),
        _ => return None,
    })
}
