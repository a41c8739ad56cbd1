//! Reasons why nodes, measurements and operations failed, in the user's language.

use super::format;
use super::{Locale, locale};
use crate::domain::reason::{PossibleEffect, Reason, RenewalLimit, SentinelFailure};

/// The reason as a clause, with invisible characters escaped: it may contain text from a server.
pub fn clause(reason: &Reason) -> String {
    let text = match locale() {
        Locale::English => reason.to_string(),
        Locale::Chinese => chinese(reason),
    };
    format::escape_invisible(&text)
}

fn chinese(reason: &Reason) -> String {
    let fixed = match reason {
        Reason::Text { text } => return format!("“{text}”"),
        Reason::NoReply { timeout_ms } => return format!("{timeout_ms} 毫秒内没有应答"),
        Reason::Tls { text } => return format!("TLS 错误：“{text}”"),
        Reason::UnusableCredentials { text } => return format!("凭据文件无法使用：“{text}”"),
        Reason::SentinelsDisagree {
            primary,
            agreeing,
            total,
            required,
            sentinels,
        } => {
            let replies = sentinel_replies(sentinels);
            return format!(
                "{total} 个 Sentinel 中只有 {agreeing} 个对主节点“{primary}”的地址意见一致，需要 {required} 个：{replies}"
            );
        }
        Reason::SentinelsSilent { primary, sentinels } => {
            return format!(
                "没有 Sentinel 给出主节点“{primary}”的地址：{}",
                sentinel_replies(sentinels)
            );
        }
        Reason::ReportedPrimary { primary } => return format!("给出的地址是 {primary}"),
        Reason::SlotNotServed { text } => return format!("集群不提供该键所在的槽：“{text}”"),
        Reason::PermissionDenied {
            text,
            command: None,
            ..
        } => return format!("“{text}”"),
        Reason::PermissionDenied {
            text,
            command: Some(command),
            ..
        } => {
            return format!("“{text}”；可用 ACL SETUSER … +{command} 授权");
        }
        Reason::MissingPermissions { cause, rules } => {
            return format!("{}；该用户需要 {}", chinese(cause), rules.join(" "));
        }
        Reason::MissingKeyPermissions {
            cause,
            companion_keys,
        } => {
            let cause = chinese(cause);
            return match companion_keys.as_slice() {
                [] => format!("{cause}；该用户需要访问锁的键的权限"),
                keys => format!(
                    "{cause}；该用户需要访问锁的键和伴随键 {} 的权限",
                    keys.join(" ")
                ),
            };
        }
        Reason::TrackedPrefixes { prefixes } => {
            return format!("以 {} 开头的键", prefixes.join("、"));
        }
        Reason::TooManyWrites {
            keys_per_second,
            prefixes,
        } => {
            let prefixes = prefixes.join("、");
            return format!(
                "服务器每秒写入超过 {keys_per_second} 个键，因此只跟踪具有已知锁前缀（{prefixes}）的键；其他键每秒轮询一次"
            );
        }
        Reason::FeedConnection { cause } => return format!("变更订阅连接：{}", chinese(cause)),
        Reason::CommandRejected { command, cause } => {
            return format!("{command} 被拒绝：{}", chinese(cause));
        }
        Reason::Both { first, second } => {
            return format!("{}；{}", chinese(first), chinese(second));
        }
        Reason::ReplicaUnusable { address, cause } => {
            return format!(
                "{address} 不能用作只读副本（{}），因此读取节点本身",
                chinese(cause)
            );
        }
        Reason::CommandNotPermitted { command } => return format!("没有 {command} 的权限"),
        Reason::SampleTooLarge { megabytes } => return format!("已达到 {megabytes} MB 的上限"),
        Reason::UnknownEffect { cause, effect } => {
            let effect = match effect {
                PossibleEffect::Acquired => "锁可能已被获取",
                PossibleEffect::Extended => "租约可能已被延长",
                PossibleEffect::Released => "锁可能已被释放",
                PossibleEffect::Unknown => "结果未知",
            };
            return format!("{}；{effect}", chinese(cause));
        }
        Reason::NothingChanged { cause } => {
            return format!("{}；该节点上未做任何更改", chinese(cause));
        }
        Reason::RestartHazard { until } => {
            return format!(
                "该节点重启过或是新加入的，可能缺少仍被持有的锁；{until} 之后重新接受新锁。请等到该时间；如果没有丢失数据，也可以清除其重启风险标记"
            );
        }
        Reason::HeldByOther { owner: Some(owner) } => {
            return format!("锁已由其他持有者“{owner}”持有");
        }
        Reason::WrongType { cause } => {
            return format!("该键现在存储的是其他类型的值：{}", chinese(cause));
        }
        Reason::RenewalLimit { limit } => {
            let limit = chinese_limit(*limit);
            return format!("已达到自动续租的上限（{limit}），租约已到期");
        }
        Reason::ConnectionRefused => "连接被拒绝",
        Reason::ConnectionClosed => "连接已关闭",
        Reason::ConnectionTimedOut => "连接超时",
        Reason::SocketNotFound => "Unix 套接字不存在",
        Reason::NetworkUnreachable => "网络或主机不可达",
        Reason::InvalidReply => "应答不是有效的 RESP",
        Reason::Resp3Unsupported => "服务器不支持 RESP3",
        Reason::NotChecked => "尚未检查",
        Reason::ShuttingDown => "控制台正在关闭",
        Reason::GroupRemoved => "该组已从配置中移除",
        Reason::Loading => "正在加载数据集",
        Reason::Replica => "该节点是副本，不接受写入",
        Reason::ReplicaLinkDown => "该节点是副本，且与主节点的连接已断开",
        Reason::NotItsReplica => "它不是该节点的副本",
        Reason::ReplicaChanged => "已改为读取另一台服务器",
        Reason::PrimaryChanged => "主节点已切换到另一台服务器",
        Reason::UnknownPrimary => "没有监控该名称的主节点",
        Reason::PrimaryNotResolved => "尚无 Sentinel 给出主节点的地址",
        Reason::FailoverInProgress => "Sentinel 报告它是主节点，但它仍是副本：故障转移尚未完成",
        Reason::UnexpectedClusterNode => {
            "该节点属于集群：请为其所在的组设置 kind = \"cluster\"，以便从负责相应槽的节点读取每个键"
        }
        Reason::NotAClusterNode => "该节点不属于集群，但其所在的组设置了 kind = \"cluster\"",
        Reason::SlotMigrating => "该键所在的槽正在集群节点之间迁移",
        Reason::NoSlots => "该节点不再负责任何集群槽",
        Reason::CrossSlot => "这些键属于不同的集群槽",
        Reason::AuthenticationRequired => "需要认证：请在该节点的 URL 中填写用户名和密码",
        Reason::WrongCredentials => "用户名或密码被拒绝：请更正该节点的 URL",
        Reason::KeyspaceNotifications => "服务器的键空间通知",
        Reason::EveryWrite => "服务器上的所有写入，由控制台过滤：存在以通配符开头的模式",
        Reason::PollingConfigured => "change_detection 设置为轮询",
        Reason::NotificationSettingsUnknown => {
            "没有读取 notify-keyspace-events 的权限（CONFIG GET）"
        }
        Reason::NotificationsDisabled => "键空间通知未启用（notify-keyspace-events 需要 K 和 A）",
        Reason::BackgroundSave => "服务器正在后台保存或同步，期间不更新空闲时间",
        Reason::AttemptsOnPrimary => "该节点是副本，看不到对其主节点的获取尝试",
        Reason::WritesOnlyPolicy => "服务器的 maxmemory-policy（LRM）只记录写入",
        Reason::NoLruClock => "服务器不提供 LRU 时钟",
        Reason::SharedInteger => "值是由多个键共享的小整数，或不允许执行 OBJECT REFCOUNT",
        Reason::WritesNotReported => "该键没有过期时间，且节点不报告写入",
        Reason::NodeUnreachable => "节点无法访问",
        Reason::CommandTooLong => "有一条命令超过 1 MB",
        Reason::ServerClosedConnection => "服务器关闭了连接",
        Reason::SampleOverTls => "采样需要 TCP 或 Unix 套接字，不支持 TLS",
        Reason::ReleasePending => "该节点上使用此令牌的释放尚未完成",
        Reason::RollbackUnconfirmed => "已获取，但未能确认回滚；锁将随租约到期",
        Reason::LockGone => "节点上已没有该锁：锁被删除，或租约已到期",
        Reason::HeldByOther { owner: None } => "锁已由其他持有者持有",
        Reason::NotRenewedInTime => "未能及时续租：应答的节点太少，或本机曾被挂起",
        Reason::ForceReleased => "锁已被强制释放",
        Reason::RenewalNotPermitted => "自动续租已结束，因为请求者不再有权续租该锁；锁将随租约到期",
    };
    fixed.to_owned()
}

/// The limit at which automatic renewal ended.
pub fn renewal_limit(limit: RenewalLimit) -> String {
    match locale() {
        Locale::English => limit.to_string(),
        Locale::Chinese => chinese_limit(limit),
    }
}

fn chinese_limit(limit: RenewalLimit) -> String {
    match limit {
        RenewalLimit::HoldMs(ms) if ms % 1000 == 0 => format!("max_hold：{} 秒", ms / 1000),
        RenewalLimit::HoldMs(ms) => format!("max_hold：{ms} 毫秒"),
        RenewalLimit::Extensions(count) => format!("续租 {count} 次"),
    }
}

fn sentinel_replies(sentinels: &[SentinelFailure]) -> String {
    let each = sentinels
        .iter()
        .map(|sentinel| format!("{} {}", sentinel.address, chinese(&sentinel.reply)));
    each.collect::<Vec<_>>().join("；")
}
