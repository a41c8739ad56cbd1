//! What each finding says in Chinese: what is so, why that matters, and what helps.

use crate::domain::Finding;

const FORGOTTEN: &str = "持有者还在依赖一把锁，节点却忘了它，这把锁就会再给别人。只有在同一租约内没有别的节点也忘记时，法定多数才挡得住。";
const AGREE: &str = "让所有机器使用同一组时间服务器（chrony、systemd-timesyncd，或带 -x 的 ntpd：它不会跳变），有锁被持有时不要手动改时钟。";
const GRANT: &str = "给配置里的那个用户补上缺少的权限。";
const READERS: &str = "恢复 Redis 的默认上限。";

/// What is so, why that matters, and what helps; nothing for a code that is not known here.
#[expect(
    clippy::too_many_lines,
    reason = "one row for each finding, as in a table"
)]
pub(super) fn sentences(finding: &Finding) -> Option<[String; 3]> {
    let nodes = format!("节点 {}", finding.nodes.join("、"));
    let figure = |name| finding.figure(name).unwrap_or("?");
    let votes = || figure("votes") != "no";
    let keep = || {
        let longest = figure("longest");
        let seconds = figure("seconds");
        match figure("votes") {
            "alone" => format!(
                "让每次写入先落盘再应答；或在重启后的最长租约（{longest}）内不让任何程序访问它。"
            ),
            mode => {
                let ours = match mode {
                    "waits" => "本控制台在这段时间内不向重启过的节点要新锁；其他程序仍会。",
                    _ => "打开 delayed_restart，至少让本控制台等这么久。",
                };
                format!(
                    "让每次写入先落盘再应答；或让重启过的节点在最长租约（{longest}）内不对任何程序服务，例如在它的 unit 里写 `ExecStartPre=/bin/sleep {seconds}`。{ours}"
                )
            }
        }
    };
    let (what, why, fix): (String, &str, String) = match finding.code.as_str() {
        "no-quorum" => (
            format!("{} 个节点中只有 {} 个可以询问；法定多数需要 {} 个。", figure("all"), figure("up"), figure("quorum")),
            "拿不到任何锁，也没人说得清谁持有锁。",
            "让下面列出的节点恢复，或改正它们的地址。".to_owned(),
        ),
        "node-unreachable" => (
            format!("{nodes} 无法使用。"),
            "无法询问的节点要当作可能持有任何锁：它帮不上法定多数，还能再坏的节点就更少。",
            "检查服务器是否在运行、从这里能否连上，以及配置里的地址、用户和密码。".to_owned(),
        ),
        "slow-node" => (
            format!("{nodes} 很慢：一次往返超过 command_timeout（{}）的四分之一。", figure("limit")),
            "往返所用的时间要从每个租约里扣掉；超时的节点等于不在，于是锁明明没人持有也会获取失败。",
            "让控制台、客户端和节点离得更近；查清服务器在忙什么（SLOWLOG GET、LATENCY LATEST）；或调大 command_timeout，并相应加长租约。".to_owned(),
        ),
        "changes-not-told" => (
            format!("{nodes} 只能反复查看：它不主动告知变化。"),
            "存活不到一秒的锁会被漏掉，两次查看之间的多次续租只算一次，新锁要等下一次扫描才出现。",
            "授予客户端跟踪（client tracking，见缺少的权限），或打开键空间通知。两者都会让每次写入慢一点点。".to_owned(),
        ),
        "notifications-unused" => (
            "键空间通知开着，而本控制台并不需要。".to_owned(),
            "每次写入都要为它多花时间，每次获取、续租和释放都算在内。客户端跟踪以更小的代价告知同样的事。",
            "如果没有别的程序在听，就关掉它。".to_owned(),
        ),
        "old-version" => (
            format!("{nodes} 低于 Redis 6.2。"),
            "它不再得到修复。Redis 6 之前的服务器不告知变化，也没有带各自权限的用户。",
            "升级到仍有维护的版本，逐个节点进行，中间至少隔一个最长租约。".to_owned(),
        ),
        "replica" => (
            format!("{nodes} 是副本：在那里拿不到锁。"),
            "副本不接受写入，只是稍后重复主节点的话：作为一票毫无价值。",
            "换成一个独立的主节点。".to_owned(),
        ),
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
        "forgets-locks" => (
            format!("{nodes} 重启后会忘记锁：锁没有逐个写入磁盘。"),
            FORGOTTEN,
            keep(),
        ),
        "loses-last-locks" => (
            format!("{nodes} 在机器掉电时可能丢失最后一刻的锁：日志只是隔一会儿才落盘。"),
            FORGOTTEN,
            keep(),
        ),
        "persistence-fails" => (
            format!("{nodes} 无法写盘。"),
            "在能写之前服务器拒绝写入（MISCONF）：在那里既拿不到锁，也还不了锁。没写下的，重启后就忘了。",
            "查看它的日志和磁盘：满了、只读，或对目录没有权限（CONFIG GET dir）。".to_owned(),
        ),
        "fsync-paused" => (
            format!("{nodes} 保存每次写入，但重写日志期间除外。"),
            "这期间（最长半分钟）没有强制落盘：机器此时倒下就会忘记别人还在依赖的锁，而且谁也想不到。",
            "让它始终同步落盘。".to_owned(),
        ),
        "restart-hazard" => (
            format!("{nodes} 最近重启过，可能忘记了一些锁。"),
            FORGOTTEN,
            match votes() {
                true => "打开 delayed_restart；在所示时刻之前，依赖在这里拿到的锁之前先与持有者核实。",
                false => "本控制台无需处理：在那之前它不向那里要新锁。让其他程序也避开同样久，并确保没有别的节点重启。",
            }
            .to_owned(),
        ),
        "slow-fork" => (
            format!("{nodes} 为保存或重写会停顿超过 {}。", figure("limit")),
            "这期间谁也得不到应答：续租迟到，短租约到期，获取时少一个节点。",
            "把锁放在单独的小服务器上；关闭透明大页；减少保存次数。".to_owned(),
        ),
        "evicts-locks" => (
            format!("{nodes} 内存满时会丢弃键，锁也在其中。"),
            "被丢弃的锁会给下一个人，而原持有者还在工作。volatile 策略专挑有过期时间的键，锁正是；volatile-ttl 先丢最早到期的。",
            "把锁与缓存分开，放在满了就拒绝写入的服务器上。".to_owned(),
        ),
        "memory-nearly-full" => (
            format!("{nodes} 已用超过可用内存的 {} %。", figure("share")),
            "满了以后服务器拒绝写入（OOM）：在那里拿不到锁，也无法用会写入的脚本归还锁。",
            "找出什么在增长（MEMORY STATS、--bigkeys）；机器还有内存就调大 maxmemory。".to_owned(),
        ),
        "machine-nearly-full" => (
            format!("{nodes} 几乎用光了机器的内存，而且没有上限。"),
            "内存用尽时系统会杀掉服务器，没写下的都会忘记，包括锁。",
            "设一个远低于机器内存的上限，并用 noeviction。".to_owned(),
        ),
        "readers-without-limit" => (
            format!("{nodes} 会无限保留慢订阅者没读走的内容。"),
            "等锁的人会订阅，本控制台也会。其中一个卡住就可能占满服务器的内存。",
            READERS.to_owned(),
        ),
        "readers-cut-off" => (
            format!("{nodes} 会断开稍慢的订阅者。"),
            "这时等锁的人得不到释放的通知，本控制台每次被断开后都要重新查看一切。",
            READERS.to_owned(),
        ),
        "clients-nearly-all" => (
            format!("{nodes} 的连接几乎用完。"),
            "连不上就无法续租，也无法还锁：锁会一直留到租约结束。",
            "找出是谁开了这么多连接（CLIENT LIST），或调大 maxclients。".to_owned(),
        ),
        "clock-differs" => (
            format!("{nodes} 的时间与其他节点不同。"),
            "服务器自己计时的租约不受影响；客户端写下的期限会：Redisson 公平锁的队列、旧式时间戳、ShedLock 的值。而且走错的时钟迟早会被拨动。",
            AGREE.to_owned(),
        ),
        "console-clock-differs" => (
            "发起询问的这台机器的时钟与各节点不同。".to_owned(),
            "fencing 令牌不会小于它的时钟（微秒）：走快了会让其他控制台的令牌显得旧。这里显示的时长和期限不受影响。",
            AGREE.to_owned(),
        ),
        "clock-stepped" => (
            format!("{nodes} 的时钟被拨动过，或者是本机的。"),
            "Redis 按墙上时钟让键过期。拨快会让租约提前结束：持有者还在依赖，锁就给了下一个人。拨慢会让锁留得更久。",
            AGREE.to_owned(),
        ),
        "console-clock-stepped" => (
            "发起询问的这台机器的时钟被拨动过：所有节点同时相对它跳变。".to_owned(),
            "节点上的租约不受影响。这里发出的 fencing 令牌会跟着跳，前后显示的时间对不上。",
            AGREE.to_owned(),
        ),
        "may-not-watch" => (
            format!("{nodes} 不让这个用户看到锁上发生的一切。"),
            "看不到的就不会显示：这里会缺锁，或晚出现，也说不出是谁的。",
            GRANT.to_owned(),
        ),
        "may-not-measure" => (
            format!("{nodes} 不让这个用户更多地了解锁。"),
            "锁都在；只是下面列出的事无从得知。",
            "给配置里的那个用户授权，或者就这样。".to_owned(),
        ),
        "may-not-act" => (
            format!("{nodes} 不让这个用户获取和归还锁。"),
            "在这样的节点上操作会失败，帮不上法定多数；还不了的锁会留到租约结束。",
            "补上缺少的权限；如果本控制台只用来观察，就给该组设 read_only = true。".to_owned(),
        ),
        "locks-without-end" => (
            format!("有永不过期的锁：观察到的 {} 把中有 {} 把。", figure("all"), figure("count")),
            "持有者死了，没有什么会放开这样的锁：想要它的人只能等到有人发现。",
            "让客户端在加锁的同一条命令里设过期时间（SET key token NX PX ttl），工作多久就续租多久。".to_owned(),
        ),
        "locks-endless" => (
            format!("{} 把锁已续租超过 {}。", figure("count"), figure("longest")),
            "在后台续租的程序，即使本来的工作卡住了也会一直占着锁。",
            "看看这些持有者。让续租与进度挂钩，或限制续租次数；领导者可以一直持有：那就调大 longest_hold。".to_owned(),
        ),
        "names-passed-over" => (
            format!("上一轮扫描中有 {} 个键名过长，未予查看。", figure("count")),
            "使用这些键名的锁不会显示。键名保存在内存中，因此字节数有上限：单个 16384，所有超过 256 字节的合计 2 MiB，全部合计 32 MiB。",
            "使用较短的键名，把长的部分换成摘要；不是锁的键名用 ignore 排除。".to_owned(),
        ),
        "leases-too-short" => (
            format!("有短于 {} 的租约在用。", figure("limit")),
            "垃圾回收停顿、磁盘繁忙或丢一个包都比它长：持有者还在工作，锁就给了下一个人。",
            "租约用几秒，在三分之一处续租。".to_owned(),
        ),
        "latency-eats-lease" => (
            format!("有的租约短于 {} 次往返：法定多数应答一次要 {}。", figure("trips"), figure("trip")),
            "询问所花的时间在两头都要从租约里扣：剩下能工作的时间很少，续租迟一次就来不及。",
            "用更长的租约，或让客户端和节点离得更近。".to_owned(),
        ),
        "lease-beyond-longest" => (
            format!("有至少 {} 的租约在用；longest_lease 是 {}。", figure("lease"), figure("longest")),
            "重启过的节点在最长租约过后会重新被信任，而有人可能还在更久地依赖它忘掉的锁。",
            format!("用更短的租约并续租，或给该组设 longest_lease = \"{}\"。", figure("enough")),
        ),
        "renewed-late" => (
            format!("{} 把锁在最后一刻才续租。", figure("count")),
            "再晚一点续租，锁就没了，或已是别人的。",
            "在租约的三分之一处续租，并查清是什么耽误了持有者。".to_owned(),
        ),
        _ => return None,
    };
    Some([what, why.to_owned(), fix])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Severity;

    /// Every code that the doctor's rules name.
    fn codes() -> Vec<&'static str> {
        let rules = [
            include_str!("../../../server/doctor/clocks.rs"),
            include_str!("../../../server/doctor/failover.rs"),
            include_str!("../../../server/doctor/independence.rs"),
            include_str!("../../../server/doctor/leases.rs"),
            include_str!("../../../server/doctor/memory.rs"),
            include_str!("../../../server/doctor/permissions.rs"),
            include_str!("../../../server/doctor/persistence.rs"),
            include_str!("../../../server/doctor/reach.rs"),
            include_str!("../../../server/doctor/sentinels.rs"),
        ];
        let named = rules.iter().flat_map(|text| text.split("code: \"").skip(1));
        named.filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn every_finding_of_the_doctor_has_chinese_words() {
        assert!(codes().len() >= 48);
        for code in codes() {
            let finding = Finding {
                code: code.to_owned(),
                severity: Severity::Note,
                nodes: vec!["a".to_owned(), "b".to_owned()],
                what: String::new(),
                evidence: Vec::new(),
                why: String::new(),
                fix: String::new(),
                commands: Vec::new(),
                figures: Vec::new(),
            };
            let worded =
                sentences(&finding).unwrap_or_else(|| panic!("{code} has no Chinese words"));
            for sentence in worded {
                assert!(
                    sentence.ends_with('。') || sentence.contains('。'),
                    "{code}: {sentence}"
                );
            }
        }
    }
}
