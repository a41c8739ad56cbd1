//! The Chinese texts of findings. The English ones are in `domain::finding`.

mod evidence;

use std::time::Duration;

use crate::domain::LockKey;
use crate::domain::finding::{
    DelayedRestart, Finding, FindingKind, FindingText, FindingView, SkippedCheck, SkippedCheckView,
    UnavailableData, format_span,
};
use crate::ui::i18n::{format, reasons};

const LOST_LOCK_IMPACT: &str = "如果持有者仍依赖某把锁，而节点丢失了它，该锁就可能被第二个持有者获取。只有在同一租约期内没有其他节点也丢失锁时，多数派才能避免这种情况。";
const TIME_SYNC_FIX: &str = "让所有机器与相同的时间服务器同步（chrony、systemd-timesyncd，或带 -x 参数、从不跳变的 ntpd）。有锁被持有时，请勿手动修改时钟。";
const GRANT_FIX: &str = "为配置中的用户授予缺少的权限。";
const BUFFER_FIX: &str = "恢复 Redis 的默认上限。";

/// The finding with its texts in Chinese.
pub(super) fn finding(finding: &Finding) -> FindingView {
    let evidence = finding.evidence.iter().map(evidence::line);
    finding.view_with(text(&finding.kind, &finding.nodes), evidence.collect())
}

/// The skipped check with its texts in Chinese.
pub(super) fn skipped_check(skipped: &SkippedCheck) -> SkippedCheckView {
    let (check, reason) = match &skipped.unavailable {
        UnavailableData::All(reason) => (
            "节点报告的全部信息：持久化、内存、复制、权限",
            reasons::clause(reason),
        ),
        UnavailableData::ServerInfo { user } => (
            "持久化、内存、副本、客户端、重启",
            format!("没有 INFO 权限；授权命令：ACL SETUSER {user} +info"),
        ),
        // CONFIG GET also returns passwords, so granting it is not recommended.
        UnavailableData::Config => (
            "持久化设置（appendfsync、save）、缓冲区上限、通知",
            "没有 CONFIG GET 权限。该命令也会返回密码，如不确定请勿授权，可手动检查这些设置"
                .to_owned(),
        ),
        UnavailableData::Permissions => ("用户的权限", "无法建立用于检测权限的连接".to_owned()),
        UnavailableData::Leases => (
            "所有锁的租约",
            "未能完整扫描：超时（见 --timeout）、缺少权限或键过多".to_owned(),
        ),
    };
    SkippedCheckView {
        node: skipped.node.clone(),
        check: check.to_owned(),
        reason,
    }
}

/// The texts of a finding about these nodes.
fn text(kind: &FindingKind, nodes: &[String]) -> FindingText {
    let nodes = format!("节点 {}", nodes.join("、"));
    match kind {
        FindingKind::NoQuorum { up, all, quorum } => FindingText::new(
            format!("{all} 个节点中只有 {up} 个可访问，多数派需要 {quorum} 个。"),
            "无法获取任何锁，也无法确定锁的持有者。",
            "恢复下列节点，或更正配置中的地址。",
        ),
        FindingKind::NodeUnreachable => FindingText::new(
            format!("{nodes} 无法访问。"),
            "无法访问的节点上可能存有任意一把锁。它不计入多数派，因此可容忍的其他节点故障数随之减少。",
            "检查服务器是否在运行、从本机能否连接，以及配置中的地址、用户名和密码是否正确。",
        ),
        FindingKind::SlowNode { command_timeout } => FindingText::new(
            format!(
                "{nodes} 响应缓慢：一次往返超过 command_timeout（{}）的四分之一。",
                span(*command_timeout)
            ),
            "往返时间会缩短每个租约。超时的节点视为无法访问，因此锁空闲时也可能获取失败。",
            "缩短控制台、客户端与节点之间的距离，查明服务器繁忙的原因（SLOWLOG GET、LATENCY LATEST），或同时增大 command_timeout 和租约。",
        ),
        FindingKind::NoChangeFeed => FindingText::new(
            format!("{nodes} 采用轮询：变更不会主动推送。"),
            "存在时间不足一秒的锁会被遗漏，两次轮询之间的多次续租只计为一次，新锁要到下一次扫描才会出现。",
            "允许客户端跟踪（见缺少的权限），或启用键空间通知。两者都会略微增加每次写入的开销。",
        ),
        FindingKind::UnusedKeyspaceNotifications => FindingText::new(
            "已启用键空间通知，但本控制台不需要它。",
            "它会减慢每次写入，包括每次获取、续租和释放。客户端跟踪以更低的开销提供相同的信息。",
            "如果没有其他客户端订阅，请将其关闭。",
        ),
        FindingKind::OldVersion => FindingText::new(
            format!("{nodes} 的版本低于 Redis 6.2。"),
            "该版本已停止维护。Redis 6 之前的版本既没有客户端跟踪，也没有 ACL 用户。",
            "逐个节点升级到仍在维护的版本，节点之间至少间隔一个最长租约。",
        ),
        FindingKind::Replica => FindingText::new(
            format!("{nodes} 是副本，不能在其上获取锁。"),
            "副本拒绝写入，只是延迟复制主节点的数据，因此对多数派没有任何贡献。",
            "在配置中将其替换为独立的主节点。",
        ),
        FindingKind::SameServer => FindingText::new(
            format!("{nodes} 是同一台服务器。"),
            "一台服务器会投多票。一旦它发生故障，多数派也随之失效，而其他节点都没有这些锁。",
            "每台服务器只配置一次。检查是否有多个地址指向同一台服务器：负载均衡、DNS 别名、端口转发。",
        ),
        FindingKind::SameDataset => FindingText::new(
            format!("{nodes} 是一个主节点及其副本，不是相互独立的服务器。"),
            "它们共享同一份复制历史：副本延迟复制主节点的写入。故障转移后，未及时复制的锁可能被第二个持有者获取。",
            "使用互不复制的独立主节点。",
        ),
        FindingKind::FailoverLosesLocks { is_redlock } => FindingText::new(
            format!("{nodes} 有副本。"),
            "复制是异步的：被提升的副本可能缺少最新的锁，从而再次授予它们。",
            match is_redlock {
                true => {
                    "不要提升 Redlock 节点的副本。应重启节点本身，并等到最长租约结束，或确保每次写入都已持久化。"
                }
                false => {
                    "如果同时存在两个持有者会造成损害，请使用 fencing 令牌，或使用由独立节点组成的 Redlock 组。"
                }
            },
        ),
        FindingKind::SameHost => FindingText::new(
            format!("{nodes} 与本组的其他节点位于同一台机器上。"),
            "这些节点会同时发生故障。多数派只能应对相互独立的故障，而机器重启会清空所有这些节点的内存。",
            "将每个节点部署在各自的机器上，并尽可能分布在不同的机架或可用区。",
        ),
        FindingKind::FewNodes { all } => FindingText::new(
            format!("只有 {all} 个节点的 Redlock 组不能容忍任何故障。"),
            "只有一个或两个节点时，多数派就是全部节点：任意一个发生故障，就无法获取锁。",
            "使用三个或五个节点。如果只有一个节点，请设置 kind = \"standalone\"。",
        ),
        FindingKind::EvenNodes { all } => FindingText::new(
            format!("{all} 个节点能容忍的故障数并不比 {} 个节点多。", all - 1),
            "最后一个节点提高了多数派所需的数量，却没有提高可容忍的故障数。如果网络将该组分成两半，两边都不构成多数派。",
            "增加或移除一个节点。",
        ),
        FindingKind::NoLeader => FindingText::new(
            "没有服务器担任领导者。".to_owned(),
            "没有领导者时服务不接受写入，因此无法获取或释放锁。",
            "如果持续存在，请检查服务器之间的连接及其日志。",
        ),
        FindingKind::EvenServers { all } => FindingText::new(
            format!(
                "{all} 台服务器能容忍的故障数并不比 {} 台服务器多。",
                all - 1
            ),
            "最后一台服务器提高了多数派所需的数量，却没有提高可容忍的故障数。如果网络将服务器分成两半，两边都没有领导者。",
            "增加或移除一台服务器。",
        ),
        FindingKind::Standby => FindingText::new(
            format!("{nodes} 是备库。"),
            "备库上没有主库的咨询锁，其表中的数据也是过去的状态。",
            "将 `url` 设置为主库。",
        ),
        FindingKind::OldService { minimum } => FindingText::new(
            format!("{nodes} 的版本低于 {minimum}。"),
            "旧版本无法无遗漏地通知变化，因此只能轮询，或无法读取锁。",
            "逐台升级服务器。",
        ),
        FindingKind::SessionLimitsReached => FindingText::new(
            format!("{nodes} 上有会话的超时时间等于服务器允许的最短或最长值。"),
            "服务器会替换超出限制的超时时间。如果客户端请求的是其他值，发生故障后，锁会比其配置更晚或更早结束。",
            "将客户端的会话超时时间与服务器的 minSessionTimeout 和 maxSessionTimeout 进行比较。",
        ),
        FindingKind::SessionLimitsDiffer => FindingText::new(
            "各服务器允许的会话超时时间不同。".to_owned(),
            "客户端发生故障后，其锁何时结束取决于它所连接的服务器。",
            "在所有服务器上设置相同的 minSessionTimeout、maxSessionTimeout 和 tickTime。",
        ),
        FindingKind::ClosedAdminWords { words } => FindingText::new(
            format!("{nodes} 不允许 {}。", words.join("、")),
            "无法显示持有者的主机（cons），以及已断开的持有者的锁何时结束（dump）。",
            "在服务器上设置 4lw.commands.whitelist=srvr,cons,dump，或将该组的 `admin_port` 设为其 AdminServer 的端口。",
        ),
        FindingKind::ServerAlarm => FindingText::new(
            format!("{nodes} 有告警。"),
            "NOSPACE 期间写入被拒绝，无法获取锁。CORRUPT 表示各成员的数据不一致。",
            "对于 NOSPACE，请压缩并整理各成员，或增大 --quota-backend-bytes，然后执行 etcdctl alarm disarm。对于 CORRUPT，请更换该成员。",
        ),
        FindingKind::ServerLag => FindingText::new(
            format!("{nodes} 远远落后于领导者。"),
            "如果持续存在，说明服务器过载，或者磁盘、网络较慢。它会提供旧的状态，能够接管的服务器也更少。",
            "检查该服务器的负载、磁盘和网络。",
        ),
        FindingKind::StandbyLag => FindingText::new(
            format!("{nodes} 有备库远远落后。"),
            "故障转移到该备库后，锁表停留在它回放到的时刻：此后获取的锁会变为空闲，而其持有者不会察觉。咨询锁根本不会被复制。",
            "检查该备库的负载、磁盘和网络，并确认其回放没有被暂停。",
        ),
        FindingKind::TtlNearElectionTimeout { limit } => FindingText::new(
            format!("有锁的 TTL 短于 {}。", span(*limit)),
            "没有领导者时无法续租，而一次选举需要一到两个选举超时时间（默认各 1 秒）。自行计算 TTL 的客户端会认为锁已丢失。",
            "使用至少为选举超时时间数倍的 TTL。",
        ),
        FindingKind::LongTransactions { limit } => FindingText::new(
            format!("有超过 {} 的事务持有咨询锁。", span(*limit)),
            "这些锁可能要到事务结束才释放，而且 VACUUM 无法清理事务开始之后删除的行。",
            "检查客户端是否仍在工作。使用会话级锁或更短的事务，并设置 idle_in_transaction_session_timeout。",
        ),
        FindingKind::SingleServer => FindingText::new(
            format!("{nodes} 是生产组中唯一的服务器。"),
            "它停机期间无法获取任何锁。它丢失的锁也不存在于其他地方。",
            "如果锁只是为了避免重复工作，这已足够。否则请使用三个或五个节点的 Redlock 组以及 fencing 令牌。",
        ),
        FindingKind::FewSentinels { count } => FindingText::new(
            format!(
                "配置中只有 {count} 个 Sentinel。要在一个 Sentinel 故障后仍能达成一致，至少需要三个。"
            ),
            "没有多数 Sentinel 时不会提升任何副本，主节点恢复之前既不能获取锁，也不能释放锁。如果控制台只配置了一个 Sentinel，该 Sentinel 故障时控制台也会失去主节点。",
            "在不同的机器上运行三个或五个 Sentinel，并在配置中全部列出。",
        ),
        FindingKind::SentinelsOnPrimaryHost => FindingText::new(
            format!("{nodes} 与至少一半的 Sentinel 位于同一台机器上。"),
            "如果这台机器发生故障，其余 Sentinel 不构成多数：不会提升任何副本，也无法获取锁。",
            "将 Sentinel 分布到不会同时发生故障的机器上。",
        ),
        FindingKind::SentinelQuorumOne { all, majority } => FindingText::new(
            format!("{all} 个 Sentinel 中，任意一个都可以单独发起故障转移。"),
            "如果某个 Sentinel 与主节点断开连接，或者自身曾被暂停，它会在主节点正常时提升副本。主节点得知之前，两台服务器会授予同一把锁。",
            format!(
                "要求多数 Sentinel 同意（{all} 个中的 {majority} 个）：在每个 Sentinel 上执行下列命令。"
            ),
        ),
        FindingKind::FailoverTooEarly {
            down_after,
            recommended,
        } => FindingText::new(
            format!(
                "主节点无应答达到 {}时，Sentinel 就认定它已下线。",
                span(*down_after)
            ),
            "Sentinel 每秒 ping 一次主节点，因此 fork、磁盘繁忙或丢包只要使一次应答延迟，就会触发故障转移。尚未复制的锁随后可能被第二个持有者获取。",
            format!(
                "应等待多次 ping，至少 {}，并使用比这更长的租约：在每个 Sentinel 上执行下列命令。",
                span(*recommended)
            ),
        ),
        FindingKind::FailoverSlowerThanLeases {
            down_after,
            minimum,
        } => FindingText::new(
            format!(
                "Sentinel 等待 {}才发起故障转移，而部分租约在此之前就会到期。",
                span(*down_after)
            ),
            "在此期间无法续租：每次故障转移都会丢失这些锁，持有者必须在其他客户端从新的主节点获取锁之前察觉到这一点。",
            format!(
                "使用比故障转移更长的租约，或减小 down-after-milliseconds，但不要低于 {}。",
                span(*minimum)
            ),
        ),
        FindingKind::NoReplica => FindingText::new(
            format!("{nodes} 没有已连接的副本。"),
            "无法进行故障转移：主节点停机期间，既不能获取也不能释放它的锁。",
            "为每个主节点在另一台机器上添加一个副本。",
        ),
        FindingKind::ReplicaLag => FindingText::new(
            format!("{nodes} 的副本复制滞后。"),
            "如果此时提升该副本，它将缺少自上次更新以来获取的锁：每把锁都可能被第二个持有者获取。",
            "检查两台服务器的网络和负载。如果副本正在进行首次同步，请等待同步完成。",
        ),
        FindingKind::IsolatedPrimaryWritable => FindingText::new(
            format!("{nodes} 与所有副本断开连接后仍会授予锁。"),
            "被隔离的主节点不知道已有副本被提升。在它得知之前，两台服务器会授予同一把锁，而旧主节点授予的锁随后会被丢弃。",
            "将主节点配置为：没有已连接且未滞后的副本时拒绝写入。这样，所有副本都下线时它也会拒绝写入。",
        ),
        FindingKind::FullCoverageRequired => FindingText::new(
            format!("集群的一部分不可用时，{nodes} 会拒绝所有锁。"),
            "任意一个没有副本的主节点发生故障，都会使其他所有主节点的锁不可用。",
            "要使其余槽上的锁保持可用，请允许集群在键空间不完整时继续提供服务。",
        ),
        FindingKind::NoPersistence {
            max_lease,
            delayed_restart,
        } => FindingText::new(
            format!("{nodes} 重启后会丢失锁：写入不会逐条持久化。"),
            LOST_LOCK_IMPACT,
            durability_fix(*max_lease, *delayed_restart),
        ),
        FindingKind::FsyncNotAlways {
            max_lease,
            delayed_restart,
        } => FindingText::new(
            format!("{nodes} 在机器崩溃时可能丢失最新的锁：AOF 文件不会在每次写入后同步到磁盘。"),
            LOST_LOCK_IMPACT,
            durability_fix(*max_lease, *delayed_restart),
        ),
        FindingKind::PersistenceFailing => FindingText::new(
            format!("{nodes} 无法写入磁盘。"),
            "在恢复持久化之前，服务器会拒绝写入（MISCONF）：既不能获取也不能释放锁。未持久化的数据在重启后会丢失。",
            "检查服务器的日志和磁盘：磁盘可能已满或只读，或者目录（CONFIG GET dir）不可写。",
        ),
        FindingKind::FsyncOffDuringRewrite => FindingText::new(
            format!("{nodes} 会同步每次写入，但重写 AOF 文件期间除外。"),
            "重写期间，写入最长 30 秒不会同步到磁盘。即使设置了 appendfsync always，机器在此期间崩溃也会丢失锁。",
            "在重写期间也保持同步。",
        ),
        FindingKind::RestartHazard { is_excluded } => FindingText::new(
            format!("{nodes} 最近重启过，可能丢失了锁。"),
            LOST_LOCK_IMPACT,
            match is_excluded {
                false => {
                    "设置 delayed_restart = true。在所示时间之前，如需依赖此处获取的锁，请先与持有者确认。"
                }
                true => {
                    "在此之前，本控制台不会使用该节点获取新锁。请让其他客户端也这样做，并确保期间没有其他节点重启。"
                }
            },
        ),
        FindingKind::SlowFork { limit } => FindingText::new(
            format!("{nodes} 在保存或重写时阻塞超过 {}。", span(*limit)),
            "服务器在 fork 期间不应答：续租会延迟，较短的租约会到期，获取锁时也会少一个节点。",
            "为锁使用专用的小型服务器，关闭透明大页，并减少保存次数。",
        ),
        FindingKind::EvictionEnabled => FindingText::new(
            format!("{nodes} 在内存用满时会淘汰键，包括锁。"),
            "持有者仍在工作时，其他客户端就可以获取被淘汰的锁。volatile 策略淘汰设有过期时间的键，例如锁；volatile-ttl 首先淘汰最早过期的键。",
            "将锁和缓存存储在不同的服务器上，并让存储锁的服务器在内存用满时拒绝写入。",
        ),
        FindingKind::MemoryNearlyFull { percent } => FindingText::new(
            format!("{nodes} 已使用的内存超过 maxmemory 的 {percent}%。"),
            "达到上限后，服务器会拒绝写入（OOM）：不能获取锁，也不能通过包含写操作的脚本释放锁。",
            "查明哪些数据在增长（MEMORY STATS、redis-cli --bigkeys）；如果机器有更多内存，可以增大 maxmemory。",
        ),
        FindingKind::HostMemoryNearlyFull => FindingText::new(
            format!("{nodes} 几乎用尽了机器的内存，且未设置 maxmemory。"),
            "内存耗尽时，操作系统会终止服务器进程，未持久化的数据（包括锁）将丢失。",
            "将 maxmemory 设置为远低于机器内存的值，并使用 noeviction 策略。",
        ),
        FindingKind::OutputBufferUnlimited => FindingText::new(
            format!("{nodes} 对慢速订阅者的输出缓冲区没有上限。"),
            "锁的等待者和本控制台都是订阅者。一个停止响应的订阅者就可能耗尽服务器的内存。",
            BUFFER_FIX,
        ),
        FindingKind::OutputBufferSmall => FindingText::new(
            format!("{nodes} 会断开稍慢的订阅者。"),
            "被断开的等待者会错过释放通知，而本控制台每次断开后都必须重新读取所有锁。",
            BUFFER_FIX,
        ),
        FindingKind::MaxclientsNearlyReached => FindingText::new(
            format!("{nodes} 的客户端连接数接近上限。"),
            "无法连接的客户端既不能续租也不能释放锁：锁会保留到租约到期。",
            "找出连接数最多的客户端（CLIENT LIST），或增大 maxclients。",
        ),
        FindingKind::ClockSkew => FindingText::new(
            format!("{nodes} 的时间与其他节点不一致。"),
            "由服务器自身计时的租约不受影响。客户端存储的截止时间会受影响：Redisson 公平锁的队列、旧式时间戳、ShedLock 的值。如果一次性校正错误的时钟，该节点上所有租约的到期时间都会随之提前或推后。",
            TIME_SYNC_FIX,
        ),
        FindingKind::ConsoleClockSkew => FindingText::new(
            "本机的时钟与各节点的时钟不一致。",
            "fencing 令牌不小于本机时钟的微秒值：如果时钟偏快，其他控制台的令牌会显得较旧。此处显示的时长和截止时间不受影响。",
            TIME_SYNC_FIX,
        ),
        FindingKind::ClockJump => FindingText::new(
            format!("{nodes} 的时钟发生了跳变，或者本机的时钟发生了跳变。"),
            "Redis 按系统时间使键过期。时钟向前跳变会使租约提前到期：持有者仍依赖锁时，其他客户端就可以获取它。时钟回拨会使锁保留更久。",
            TIME_SYNC_FIX,
        ),
        FindingKind::ConsoleClockJump => FindingText::new(
            "本机的时钟发生了跳变：所有节点同时相对于它发生偏移。",
            "节点上的租约不受影响。此处签发的 fencing 令牌会随时钟跳变，跳变前后显示的时间不可比较。",
            TIME_SYNC_FIX,
        ),
        FindingKind::MissingWatchPermission => FindingText::new(
            format!("{nodes} 未授予该用户观测锁所需的权限。"),
            "此处会缺少锁，或锁出现较晚，或无法得知其持有者。",
            GRANT_FIX,
        ),
        FindingKind::MissingOptionalPermission => FindingText::new(
            format!("{nodes} 未授予该用户用于查看锁的更多信息的权限。"),
            "所有锁都会显示，只是缺少下列信息。",
            "为配置中的用户授予这些权限，或忽略此提示。",
        ),
        FindingKind::MissingLockPermission => FindingText::new(
            format!("{nodes} 未授予该用户获取和释放锁所需的权限。"),
            "在这样的节点上操作会失败，因此它不计入多数派。无法释放的锁会保留到租约到期。",
            "授予缺少的权限；如果本控制台只用于观测，请为该组设置 read_only = true。",
        ),
        FindingKind::NamesSkipped { count } => FindingText::new(
            format!("上一轮扫描因名称过长跳过了 {count} 个键。"),
            format!(
                "使用这些名称的锁不会显示。名称保存在内存中，因此大小受限：单个名称 {} 字节，所有超过 256 字节的名称共 2 MiB，全部名称共 32 MiB。",
                LockKey::MAX_BYTES
            ),
            "使用较短的名称，例如用摘要代替较长的部分。用 `exclude` 排除不是锁的名称。",
        ),
        FindingKind::LocksWithoutExpiry { count, all } => FindingText::new(
            format!("存在永不过期的锁：观测到的 {all} 把锁中有 {count} 把。"),
            "如果持有者崩溃，这样的锁永远不会释放：等待者只能等到运维人员介入。",
            "在加锁的同一条命令中设置过期时间（SET key token NX PX ttl），并在工作期间续租。",
        ),
        FindingKind::EndlessRenewals { count, max_hold } => FindingText::new(
            format!("{count} 把锁的续租时间已超过 {}。", span(*max_hold)),
            "在后台续租的客户端会一直持有锁，即使锁所保护的工作已经停滞。",
            "检查这些持有者。只在工作有进展时续租，或限制续租次数。如果需要无限期持有（例如领导者），请增大 max_hold。",
        ),
        FindingKind::LeasesTooShort { limit } => FindingText::new(
            format!("有锁使用短于 {}的租约。", span(*limit)),
            "垃圾回收停顿、磁盘繁忙或丢包的时间可能更长：持有者仍在工作时，锁就会被其他客户端获取。",
            "使用数秒的租约，并在租约过去三分之一时续租。",
        ),
        FindingKind::LatencyNearLease {
            round_trips,
            round_trip,
        } => FindingText::new(
            format!(
                "部分租约短于 {round_trips} 次往返：多数派应答一次需要 {}。",
                span(*round_trip)
            ),
            "获取和续租的往返时间要从租约中扣除：留给工作的时间很少，一次续租延迟就会丢失锁。",
            "使用更长的租约，或缩短客户端与节点之间的距离。",
        ),
        FindingKind::LeaseAboveMaxLease {
            longest,
            max_lease,
            sufficient,
        } => FindingText::new(
            format!(
                "有锁使用至少 {}的租约，而 max_lease 为 {}。",
                span(*longest),
                span(*max_lease)
            ),
            "重启的节点在 max_lease 之后会重新投入使用。持有者对该节点所丢失的锁的依赖可能比这更久。",
            format!(
                "使用较短的租约并续租，或为该组设置 max_lease = \"{}\"。",
                format_span(*sufficient)
            ),
        ),
        FindingKind::LateRenewals { count } => FindingText::new(
            format!("{count} 把锁在即将到期时才续租。"),
            "续租再晚一点就会失败，因为锁已到期或已被其他持有者获取。",
            "在租约过去三分之一时续租，并查明持有者延迟的原因。",
        ),
        FindingKind::StorageUnusable => FindingText::new(
            "存储不可用。",
            "需要写入审计记录的操作会被拒绝。锁的观测不受影响。",
            "检查 [storage] 中的 `url`、控制台用户的写权限以及剩余磁盘空间。",
        ),
        FindingKind::StorageDamaged => FindingText::new(
            "[storage] 的数据库文件已损坏。",
            "审计记录可能丢失。控制台启动时如果发现文件损坏，会将其重命名并创建新文件。",
            "复制该文件，检查磁盘，并用 sqlite3 恢复数据。",
        ),
        FindingKind::AuditChainBroken => FindingText::new(
            "审计日志被修改过。",
            "有记录被更改、删除、插入或移动，因此审计日志不可信。",
            "查明哪些人对存储有写权限，并将日志与另外保存的链头哈希进行比较。",
        ),
        FindingKind::SignInWithoutTls => FindingText::new(
            "密码和令牌以未加密的方式经过网络传输。",
            "位于网络路径上的攻击者可以读取它们，用它们登录，并以他人的名义释放锁。",
            "设置 tls_certificate_file 和 tls_key_file，使控制台自身提供 https 服务；或者监听 127.0.0.1，并由前面的代理终止 TLS。如果已经使用这样的代理，请将其加入 trusted_proxies，或在 [sign_in] 中设置 secure_cookies = true。",
        ),
    }
}

/// The fix for a node that loses locks in a restart.
fn durability_fix(max_lease: Duration, delayed_restart: DelayedRestart) -> String {
    let (longest, seconds) = (span(max_lease), max_lease.as_secs());
    match delayed_restart {
        DelayedRestart::NotApplicable => format!(
            "在应答前持久化每次写入；或在重启后的最长租约（{longest}）内不让任何客户端访问该服务器。"
        ),
        DelayedRestart::Enabled => format!(
            "在应答前持久化每次写入；或让重启的节点在最长租约（{longest}）内对所有客户端不可用，例如在其 systemd 单元中设置 `ExecStartPre=/bin/sleep {seconds}`。在此期间，本控制台不会使用重启的节点获取新锁，但其他客户端会。"
        ),
        DelayedRestart::Disabled => format!(
            "在应答前持久化每次写入；或让重启的节点在最长租约（{longest}）内对所有客户端不可用，例如在其 systemd 单元中设置 `ExecStartPre=/bin/sleep {seconds}`。设置 delayed_restart = true，至少让本控制台等待。"
        ),
    }
}

fn span(span: Duration) -> String {
    format::span(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}
