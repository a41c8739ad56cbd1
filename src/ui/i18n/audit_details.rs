//! The details of audit entries, in the user's language.

use super::{Locale, errors, format, locale, terms};
use crate::domain::AuditDetail;

/// The detail as a clause or sentence, with invisible characters escaped: it may contain names and
/// texts of clients.
pub fn text(detail: &AuditDetail) -> String {
    format::escape_invisible(&match locale() {
        Locale::English => detail.to_string(),
        Locale::Chinese => chinese(detail),
    })
}

fn chinese(detail: &AuditDetail) -> String {
    let fixed = match detail {
        AuditDetail::Text { text } => return format!("“{text}”"),
        AuditDetail::Error { error } => return errors::sentence(error),
        AuditDetail::MoreRejections {
            count,
            client: None,
        } => return format!("另有 {count} 次原因相同的拒绝，仅计数，未逐条记录"),
        AuditDetail::MoreRejections {
            count,
            client: Some(client),
        } => return format!("另有 {count} 次来自 {client}、原因相同的拒绝，仅计数，未逐条记录"),
        AuditDetail::Node { node } => return format!("节点“{node}”"),
        AuditDetail::Webhook { webhook } => return format!("Webhook “{webhook}”"),
        AuditDetail::Sample { node, seconds } => {
            return format!("节点“{node}”，时长 {seconds} 秒");
        }
        AuditDetail::Prefix {
            prefix,
            before,
            state,
            name,
        } => {
            let (before, state) = (terms::prefix_state(*before), terms::prefix_state(*state));
            let name = name.as_ref();
            let name = name
                .map(|name| format!("，名称“{name}”"))
                .unwrap_or_default();
            return format!("前缀“{prefix}”：{before} → {state}{name}");
        }
        AuditDetail::View { view, before, path } => {
            let change = match (before, path) {
                (None, None) => String::new(),
                (None, Some(path)) => format!("：{path}"),
                (Some(before), None) => format!("：原为 {before}"),
                (Some(before), Some(path)) => format!("：{before} → {path}"),
            };
            return format!("视图“{view}”{change}");
        }
        AuditDetail::ProviderSignIn {
            provider,
            claim,
            value,
            user,
        } => {
            return format!("通过 {provider} 登录：声明 {claim} 的值为“{value}”；用户 {user}");
        }
        AuditDetail::StillHeld { hold_count } => {
            return format!("持有者仍持有该锁，剩余重入次数：{hold_count}");
        }
        AuditDetail::OutcomeUnknown => "结果未知：客户端断开了连接，或控制台已停止",
        AuditDetail::ProcessKilled => "操作完成前进程被终止；`observed_after` 为之后观测到的状态",
        AuditDetail::LeaseRevoked => "已撤销租约，其全部键均已删除",
        AuditDetail::StatementCancelled => "已取消正在执行的语句，连接保持打开",
        AuditDetail::AllSessions => "所有会话",
        AuditDetail::Replayed => "未获取新锁：返回了之前使用相同 Idempotency-Key 的请求的响应",
        AuditDetail::Reacquired => "锁被强制释放后，又被仍在运行的原持有者重新获取",
    };
    fixed.to_owned()
}
