//! Error messages and what the user can do about them. The English sentences are those of the
//! domain. Texts of Redis, of the operating system and of libraries are not translated.

use super::error_causes::{
    chinese_authentication, chinese_confirmation, chinese_denial, chinese_internal,
    chinese_invalid_value, chinese_limit, chinese_request_error, chinese_storage,
};
use super::{format, libraries};
use crate::domain::operation_error::KeySetting;
use crate::domain::{CancelFailure, LeaseRefusal, OperationError};

use super::{Locale, locale};

messages! {
    try_again: "Try again", "重试";
    held_by: "Held by ", "持有者 ";
    remaining_lease(span: &str): ", {span} left", "，剩余 {span}";
    without_expiry: ", without expiry", "，永不过期";
}

/// The error as a complete sentence, with invisible characters escaped: it may contain names and
/// texts of servers.
pub fn sentence(error: &OperationError) -> String {
    let text = match locale() {
        Locale::English => format::capital(&error.to_string()),
        Locale::Chinese => chinese(error),
    };
    let text = format::escape_invisible(&text);
    match text.chars().last() {
        Some('.' | '。' | '！' | '？') => text,
        _ if locale() == Locale::Chinese => format!("{text}。"),
        _ => format!("{text}."),
    }
}

fn chinese(error: &OperationError) -> String {
    match error {
        OperationError::BadRequest { cause } => chinese_request_error(cause),
        OperationError::Impossible { field, cause, .. } => {
            format!("{}：{}", field_name(field), chinese_invalid_value(cause))
        }
        OperationError::ConfirmRequired { cause, .. } => {
            format!("{}：请输入锁的名称以确认", chinese_confirmation(cause))
        }
        OperationError::PossibleLock { .. } => {
            "该键只是可能的锁，因此不支持通过控制台释放".to_owned()
        }
        OperationError::NotReleasable { format } => libraries::why_not_releasable(*format)
            .unwrap_or("该格式的锁不支持代持有者释放")
            .to_owned(),
        OperationError::SignInRequired { cause } => chinese_authentication(cause),
        OperationError::Forbidden { cause } => chinese_denial(cause),
        OperationError::OutsideKeys {
            key,
            patterns,
            setting,
        } => {
            let name = key.text();
            if patterns.is_empty() {
                format!("名称“{name}”保留给 Lockkeeper 自身的键使用")
            } else {
                let patterns = patterns.join("、");
                match setting {
                    KeySetting::Keys => {
                        format!("名称“{name}”不匹配该组 `keys` 中的任何模式：{patterns}")
                    }
                    KeySetting::Roots => {
                        format!("名称“{name}”不在该组 `roots` 的任何路径之下：{patterns}")
                    }
                    KeySetting::Prefixes => {
                        format!("名称“{name}”不以该组 `prefixes` 中的任何前缀开头：{patterns}")
                    }
                }
            }
        }
        OperationError::UnknownGroup { group } => {
            format!("配置中没有组“{group}”")
        }
        OperationError::NotObserved { .. } => "有应答的节点上均未观测到该锁".to_owned(),
        OperationError::Unreachable {
            nodes_reached: reached,
            nodes_total: total,
            quorum,
            ..
        } => format!("{total} 个节点中仅 {reached} 个可访问，至少需要 {quorum} 个"),
        OperationError::Held { .. } => "该锁由其他持有者持有".to_owned(),
        OperationError::NoQuorum {
            nodes_reached: reached,
            quorum,
            ..
        } => format!("未达到多数派：{reached} 个节点应答，需要 {quorum} 个"),
        OperationError::PartlyReleased {
            released,
            remaining,
            nodes_total,
            quorum,
            ..
        } => format!(
            "仅在 {released} 个节点（共 {nodes_total} 个）上释放，另有 {remaining} 个节点可能仍保留该锁（多数派为 {quorum} 个）"
        ),
        OperationError::NotHeld { .. } => "该锁未被持有".to_owned(),
        OperationError::HoldEnded { .. } => "该请求获取的锁已不再被持有".to_owned(),
        OperationError::NotOwner { .. } => "该锁由其他持有者持有，未做任何更改".to_owned(),
        OperationError::OwnerChanged { .. } => "持有者已变化，未做任何更改".to_owned(),
        OperationError::HoldChanged { .. } => {
            "在您查看之后，持有者又续租、重入或重新获取了该锁，未做任何更改".to_owned()
        }
        OperationError::LeaseNotRevoked { cause } => chinese_lease_refusal(cause),
        OperationError::CancelFailed { cause } => chinese_cancel_failure(cause).to_owned(),
        OperationError::WrongType { type_name, .. } => {
            format!("该键的值不是此格式的锁：“{type_name}”")
        }
        OperationError::AuditUnavailable => {
            "审计日志无法写入，操作已被拒绝，原因请查看服务器日志".to_owned()
        }
        OperationError::StorageUnavailable { cause } => chinese_storage(*cause).to_owned(),
        OperationError::Stopping => "控制台正在关闭，已取消对锁的等待".to_owned(),
        OperationError::TooManyRequests { cause, .. } => chinese_limit(cause),
        OperationError::NoResponse { detail } => format!("控制台无响应：“{detail}”"),
        OperationError::Internal { cause } => format!("内部错误：{}", chinese_internal(cause)),
    }
}

fn chinese_lease_refusal(cause: &LeaseRefusal) -> String {
    match cause {
        LeaseRefusal::NoLease => "该锁没有可撤销的租约".to_owned(),
        LeaseRefusal::KeysChanged => "在您查看之后，该租约的键已变化，未做任何更改".to_owned(),
        LeaseRefusal::OutsidePrefixes { count } => {
            format!("该租约有 {count} 个键位于所配置的前缀之外")
        }
        LeaseRefusal::TooManyKeys { total, max } => {
            format!("该租约有 {total} 个键，最多只能一并撤销 {max} 个")
        }
    }
}

fn chinese_cancel_failure(cause: &CancelFailure) -> &'static str {
    match cause {
        CancelFailure::NoConnection => "该锁不属于任何数据库连接，未做任何更改",
        CancelFailure::NoStatement => "持有者的连接未在执行语句，未做任何更改",
        CancelFailure::LockKept => "语句已结束，但其连接仍持有该锁",
    }
}

/// The label of a form field, by its name in the API.
fn field_name(field: &str) -> &str {
    match field {
        "ttl_ms" => "租约时长",
        "wait_ms" => "等待时长",
        "key" => "锁",
        "label" => "标签",
        "format" => "格式",
        "reason" => "原因",
        "confirm" => "确认",
        "token" => "令牌",
        "fingerprint" => "指纹",
        "node" => "节点",
        "seconds" => "秒数",
        other => other,
    }
}

/// What the user of a page can do. The advice of the domain is for scripts and mentions fields and
/// URLs.
pub fn advice(error: &OperationError) -> &'static str {
    let (english, chinese) = match error {
        OperationError::Held { .. } => (
            "Nothing was changed. Wait until its lease expires, or open the lock to see its owner.",
            "未做任何更改。请等待租约到期，或打开该锁查看持有者。",
        ),
        OperationError::ConfirmRequired { .. } => (
            "Type the lock's name to confirm. Nothing was changed.",
            "请输入锁的名称以确认。未做任何更改。",
        ),
        OperationError::UnknownGroup { .. } => (
            "Check the name of the group. The configuration may have changed since this page was opened.",
            "请检查组的名称。打开本页之后，配置可能已变更。",
        ),
        OperationError::NotObserved { .. } => (
            "This does not prove that no client relies on the lock.",
            "这不能证明没有客户端依赖该锁。",
        ),
        OperationError::HoldEnded { .. } => (
            "The lock was released, lost or expired. Acquire it again.",
            "该锁已被释放、丢失或过期。请重新获取。",
        ),
        OperationError::NotHeld { .. } => (
            "The lock expired or was released before the request arrived. Nothing was changed.",
            "请求到达前，该锁已过期或被释放。未做任何更改。",
        ),
        OperationError::OwnerChanged { .. } | OperationError::HoldChanged { .. } => (
            "Check the lock again before you decide.",
            "请重新确认锁的状态后再决定。",
        ),
        OperationError::LeaseNotRevoked {
            cause: LeaseRefusal::KeysChanged,
        } => (
            "Check the keys of the lease again before you decide.",
            "请重新确认该租约的键后再决定。",
        ),
        OperationError::LeaseNotRevoked { .. } => (
            "Release only the key of the lock, without revoking the lease. Nothing was changed.",
            "请仅释放该锁的键，不要撤销租约。未做任何更改。",
        ),
        OperationError::CancelFailed { .. } => (
            "Release the lock without cancelling: that ends the connection.",
            "请直接释放该锁而不是取消语句，这会结束该连接。",
        ),
        OperationError::PossibleLock { .. } => (
            "If it is a lock, set its format with `format_override` in the configuration. Nothing was changed.",
            "如果该键是锁，请在配置中使用 `format_override` 指定其格式。未做任何更改。",
        ),
        OperationError::NotReleasable { .. } | OperationError::Forbidden { .. } => {
            ("Nothing was changed.", "未做任何更改。")
        }
        OperationError::OutsideKeys { patterns, .. } if patterns.is_empty() => {
            (error.advice(), "请使用其他名称。未做任何更改。")
        }
        OperationError::OutsideKeys {
            setting: KeySetting::Roots,
            ..
        } => (
            error.advice(),
            "请使用其他名称，或将其路径加入该组的 `roots`。未做任何更改。",
        ),
        OperationError::OutsideKeys {
            setting: KeySetting::Prefixes,
            ..
        } => (
            error.advice(),
            "请使用其他名称，或将其前缀加入该组的 `prefixes`。未做任何更改。",
        ),
        OperationError::OutsideKeys { .. } => (
            error.advice(),
            "请使用匹配的名称，或在该组的 `keys` 中添加模式。未做任何更改。",
        ),
        OperationError::SignInRequired { .. } => {
            ("Sign in, then return to this page.", "请登录后返回本页。")
        }
        OperationError::BadRequest { .. } | OperationError::Impossible { .. } => (
            "Correct the input, then try again. Nothing was changed.",
            "请修正后重试。未做任何更改。",
        ),
        OperationError::Unreachable { .. } => (error.advice(), "请恢复节点后重试。"),
        OperationError::NoQuorum { .. } => (
            error.advice(),
            "请恢复节点后重试。本次获取已在可访问的节点上回滚。重启过的节点在其结果中标明的时间之后，或在操作员清除其重启风险标记之后，才会重新接受新锁。",
        ),
        OperationError::PartlyReleased { .. } => (
            error.advice(),
            "请恢复节点，控制台会在后台继续释放。在所有节点均不再显示该锁之前，应视为该锁仍被持有。",
        ),
        OperationError::NotOwner { .. } => {
            (error.advice(), "请勿再依赖该锁，它已由其他持有者持有。")
        }
        OperationError::WrongType { .. } => (error.advice(), "请使用其他名称，或检查该键的内容。"),
        OperationError::AuditUnavailable => (
            error.advice(),
            "请确保 `[storage]` 的文件可写、磁盘空间充足，或恢复其使用的 PostgreSQL。未做任何更改。",
        ),
        OperationError::StorageUnavailable { .. } => (
            error.advice(),
            "请恢复 `[storage]` 的数据库后重试。未做任何更改。",
        ),
        OperationError::Stopping => (error.advice(), "请在控制台重启后重试。未获取任何锁。"),
        OperationError::TooManyRequests { .. } => (
            "Try again later. Nothing was changed.",
            "请稍后重试。未做任何更改。",
        ),
        OperationError::NoResponse { .. } => {
            (error.advice(), "请检查控制台是否正在运行、网络是否连通。")
        }
        OperationError::Internal { .. } => (error.advice(), "请查看服务器日志。"),
    };
    match locale() {
        Locale::English => english,
        Locale::Chinese => chinese,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::operation_error::RequestError;

    #[test]
    fn an_error_is_a_complete_sentence() {
        for error in [
            OperationError::NotHeld { nodes: Vec::new() },
            OperationError::BadRequest {
                cause: RequestError::InvalidBody {
                    text: "it is not JSON.".to_owned(),
                },
            },
            OperationError::UnknownGroup {
                group: "g\u{202e}".to_owned(),
            },
        ] {
            let english = sentence(&error);
            assert!(
                english.ends_with('.') && !english.ends_with(".."),
                "{english}"
            );
            assert!(!chinese(&error).is_empty());
        }
    }
}
