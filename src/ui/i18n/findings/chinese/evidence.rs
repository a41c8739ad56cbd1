//! The Chinese texts of evidence. Fields and settings of Redis are not translated.

use std::time::Duration;

use super::span;
use crate::domain::finding::{
    FindingEvidence, ObservedFact, address_list, info_command, info_fields, setting_list,
};
use crate::domain::node_lag::format_bytes;
use crate::domain::{ChainProblem, LagUnit, MissingPermission};
use crate::ui::i18n::{missing_permissions, reasons, terms};

/// The observation, with the node, sentinel or lock that it was made on.
pub(super) fn line(evidence: &FindingEvidence) -> String {
    let fact = fact(&evidence.fact);
    match &evidence.subject {
        Some(subject) => format!("{subject}：{fact}"),
        None => fact,
    }
}

fn fact(fact: &ObservedFact) -> String {
    match fact {
        ObservedFact::Unavailable {
            state,
            address,
            reason: None,
        } => format!("{}（{address}）", terms::node_state(*state)),
        ObservedFact::Unavailable {
            state,
            address,
            reason: Some(reason),
        } => format!(
            "{}（{address}）：{}",
            terms::node_state(*state),
            reasons::clause(reason)
        ),
        ObservedFact::RoundTrip(duration) => format!("一次往返需要 {}", span(*duration)),
        ObservedFact::Polled(reason) => reasons::clause(reason),
        ObservedFact::Info { section, fields } => {
            format!("{}（{}）", info_fields(fields), info_command(*section))
        }
        ObservedFact::Settings(settings) => format!("{}（CONFIG GET）", setting_list(settings)),
        ObservedFact::SessionsAtLimits {
            at_min,
            at_max,
            all,
            min,
            max,
        } => format!(
            "{all} 个会话中，{at_min} 个的超时时间为 {}，{at_max} 个为 {}",
            span(*min),
            span(*max)
        ),
        ObservedFact::SessionLimits { min, max } => format!(
            "minSessionTimeout {} ms，maxSessionTimeout {} ms",
            min.as_millis(),
            max.as_millis()
        ),
        ObservedFact::Alarm(text) => text.clone(),
        ObservedFact::Lag(lag) => match lag.unit {
            LagUnit::Transactions => format!("{} 个事务（Zxid）", lag.value),
            LagUnit::LogEntries => format!("{} 条日志（raftAppliedIndex）", lag.value),
            LagUnit::Bytes => format!("{}（replay_lsn）", format_bytes(lag.value)),
        },
        ObservedFact::StandbyLag { name, lag } => {
            format!("备库 {name}：{}", self::fact(&ObservedFact::Lag(*lag)))
        }
        ObservedFact::TransactionSince {
            owner,
            since,
            lock_count,
        } => format!("{owner}，始于 {since}，咨询锁：{lock_count} 个"),
        ObservedFact::ReplicaOf { host, port } => {
            format!("是 {host}:{port} 的副本（INFO replication）")
        }
        ObservedFact::Host { name, addresses } if addresses.is_empty() => name.clone(),
        ObservedFact::Host { name, addresses } => {
            format!("{name} 的地址为 {}", address_list(addresses, "、"))
        }
        ObservedFact::ConfiguredNodes {
            count,
            quorum: None,
        } => format!("配置中有 {count} 个节点"),
        ObservedFact::ConfiguredNodes {
            count,
            quorum: Some(quorum),
        } => format!("配置中有 {count} 个节点，多数派需要 {quorum} 个"),
        ObservedFact::ConfiguredSentinels(count) => {
            format!("`sentinel` 中有 {count} 个（配置）")
        }
        ObservedFact::SentinelsOnHost { count, all, host } => {
            format!("{all} 个 Sentinel 中有 {count} 个也位于 {host}（配置）")
        }
        ObservedFact::AppendOnlyWithoutConfig { enabled } => {
            format!("aof_enabled:{enabled}（INFO persistence）；没有 CONFIG GET 权限")
        }
        ObservedFact::SnapshotFailed {
            rejects_writes: true,
        } => "rdb_last_bgsave_status:err（INFO persistence）：服务器拒绝所有写入".to_owned(),
        ObservedFact::Restarted { at, until } => {
            format!("run_id 于 {at} 发生变化；重启风险持续到 {until}")
        }
        ObservedFact::Younger { until } => {
            format!("启动时间晚于组内多数节点；重启风险持续到 {until}")
        }
        ObservedFact::MemoryUse {
            used,
            maxmemory,
            percent,
        } => format!("used_memory:{used}，占 maxmemory:{maxmemory} 的 {percent}%（INFO memory）"),
        ObservedFact::SystemMemoryUse {
            rss,
            total,
            percent,
        } => format!(
            "used_memory_rss:{rss}，占 total_system_memory:{total} 的 {percent}%，maxmemory:0（INFO memory）"
        ),
        ObservedFact::ClientCount {
            connected,
            maxclients,
            rejected,
        } => format!(
            "connected_clients:{connected}，上限 maxclients:{maxclients}，rejected_connections:{rejected}（INFO）"
        ),
        ObservedFact::ClockSkew { ahead_ms } => {
            let by = absolute_span(*ahead_ms);
            match ahead_ms {
                ..0 => format!("比本控制台慢 {by}（TIME）"),
                0.. => format!("比本控制台快 {by}（TIME）"),
            }
        }
        ObservedFact::ClockStep { by_ms, at } => {
            let by = absolute_span(*by_ms);
            match by_ms {
                ..0 => format!("于 {at} 回拨 {by}（TIME）"),
                0.. => format!("于 {at} 向前跳变 {by}（TIME）"),
            }
        }
        ObservedFact::MissingPermissions(missing) => {
            let each = missing.iter().map(missing_permission);
            format!("缺少 {}", each.collect::<Vec<_>>().join("、"))
        }
        ObservedFact::MissingRules { user, rules } => format!("{user} 缺少 {}", rules.join(" ")),
        ObservedFact::LockOfFormat { name, format } => format!("{name}（{format}）"),
        ObservedFact::HeldSince { name, since } => format!("{name}，自 {since} 起"),
        ObservedFact::Lease(lease) => span(*lease),
        ObservedFact::RenewalMargin { margin, lease } => {
            format!("剩余 {}，租约 {}", span(*margin), span(*lease))
        }
        ObservedFact::MoreLocks(count) => format!("另有 {count} 个"),
        ObservedFact::AuditEntry { seq, problem } => {
            format!("记录 {seq}：{}", chain_problem(*problem))
        }
        ObservedFact::CleartextListener(address) => {
            format!("listen = \"{address}\"，有用户或令牌，但没有 TLS（配置）")
        }
        ObservedFact::StorageError(text) => format!("“{text}”"),
        ObservedFact::PubsubBuffer {
            hard_limit,
            disconnections: None,
        } => format!("client-output-buffer-limit pubsub {hard_limit}（CONFIG GET）"),
        ObservedFact::PubsubBuffer {
            hard_limit,
            disconnections: Some(count),
        } => format!(
            "client-output-buffer-limit pubsub {hard_limit}（CONFIG GET），client_output_buffer_limit_disconnections:{count}（INFO stats）"
        ),
        // Names, addresses and words of Redis only.
        ObservedFact::ServerVersion(_)
        | ObservedFact::Address(_)
        | ObservedFact::SentinelQuorum { .. }
        | ObservedFact::DownAfter(_)
        | ObservedFact::ReplicaState { .. }
        | ObservedFact::SnapshotFailed {
            rejects_writes: false,
        }
        | ObservedFact::Lock(_) => fact.to_string(),
    }
}

fn missing_permission(missing: &MissingPermission) -> String {
    let impact = missing_permissions::chinese(&missing.permission);
    match impact {
        Some(impact) => format!("{}（{impact}）", missing.permission),
        None => missing.permission.clone(),
    }
}

fn chain_problem(problem: ChainProblem) -> String {
    let fixed = match problem {
        ChainProblem::CutOff => "该记录被截断",
        ChainProblem::Incomplete => "该记录不完整",
        ChainProblem::HashMismatch => "文本被修改：哈希不匹配",
        ChainProblem::ColumnsMismatch => "搜索列与记录不一致：搜索列被修改过",
        ChainProblem::SequenceGap { seq, previous_seq } => {
            return format!("序号 {seq} 出现在序号 {previous_seq} 之后：有记录被删除、插入或移动");
        }
        ChainProblem::PreviousHashMismatch => "前一条记录的哈希不匹配：前一条记录被修改或替换",
    };
    fixed.to_owned()
}

fn absolute_span(ms: i64) -> String {
    span(Duration::from_millis(ms.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use leptos::prelude::{Owner, provide_context};

    use super::*;
    use crate::domain::Locale;
    use crate::domain::finding::InfoSection;
    use crate::domain::reason::Reason;
    use crate::domain::{NodeState, Timestamp};

    #[test]
    fn evidence_keeps_node_names_and_redis_fields() {
        let now = Timestamp::from_millis(0);
        let monitor = MissingPermission {
            permission: "monitor".to_owned(),
            impact: "samples of failed attempts to acquire locks".to_owned(),
            acl: "ACL SETUSER keeper +monitor".to_owned(),
        };
        Owner::new().with(|| {
            provide_context(Locale::Chinese);
            for (fact, expected) in [
                (
                    ObservedFact::RoundTrip(Duration::from_millis(3)),
                    "a：一次往返需要 3 毫秒",
                ),
                (
                    ObservedFact::info(InfoSection::Replication, "connected_slaves", 1),
                    "a：connected_slaves:1（INFO replication）",
                ),
                (
                    ObservedFact::Unavailable {
                        state: NodeState::Down,
                        address: "10.0.0.1:6379".to_owned(),
                        reason: Some(Reason::ConnectionRefused),
                    },
                    "a：宕机（10.0.0.1:6379）：连接被拒绝",
                ),
                (
                    ObservedFact::ClockStep {
                        by_ms: -2_000,
                        at: now,
                    },
                    "a：于 1970-01-01T00:00:00.000Z 回拨 2 秒（TIME）",
                ),
                (
                    ObservedFact::MissingPermissions(vec![monitor.clone()]),
                    "a：缺少 monitor（获取锁失败的采样）",
                ),
            ] {
                assert_eq!(line(&FindingEvidence::about("a", fact)), expected);
            }
        });
    }
}
