//! Why an operation was rejected or failed, in the user's language: the causes of the errors that
//! [`errors`](super::errors) describes. Texts of libraries and servers are quoted.

use super::{Locale, format, libraries, locale, locks, permissions, reasons};
use crate::domain::operation_error::{
    AuthenticationError, ConfirmationCause, DenialReason, InternalError, InvalidValue,
    LimitReached, LimitedResource, ProviderFailure, RequestError, StorageFailure, format_list,
};

/// What is wrong with the value of a field, as a clause.
pub fn invalid_value(cause: &InvalidValue) -> String {
    localized(cause.to_string(), || chinese_invalid_value(cause))
}

/// Why an operation is forbidden, as a clause.
pub fn denial(cause: &DenialReason) -> String {
    localized(cause.to_string(), || chinese_denial(cause))
}

/// The text in the user's language, with invisible characters escaped: it may contain names.
fn localized(english: String, chinese: impl FnOnce() -> String) -> String {
    format::escape_invisible(&match locale() {
        Locale::English => english,
        Locale::Chinese => chinese(),
    })
}

pub(super) fn chinese_request_error(cause: &RequestError) -> String {
    let fixed = match cause {
        RequestError::InvalidBody { text } => return format!("请求体无效：“{text}”"),
        RequestError::InvalidQuery { text } => return format!("查询参数无效：“{text}”"),
        RequestError::InvalidArguments { text } => return format!("参数无效：“{text}”"),
        RequestError::InvalidSearch { error } => {
            return format!("`q` 中的搜索条件无效：{}", locks::search_error(error));
        }
        RequestError::NotANumber {
            parameter,
            min,
            max,
        } => return format!("`{parameter}` 必须是 {min} 到 {max} 之间的整数"),
        RequestError::NotATime { parameter } => {
            return format!("`{parameter}` 必须是 RFC 3339 时间，例如 2026-11-20T18:48:05Z");
        }
        RequestError::UnknownChoice { parameter, choices } => {
            return format!("`{parameter}` 必须是以下值之一：{}", choices.join("、"));
        }
        RequestError::InvalidEncoding { parameter } => {
            return format!("`{parameter}` 的百分号编码无效：% 后须为两位十六进制数字");
        }
        RequestError::InvalidPinned { max } => {
            return format!(
                "`pinned` 必须是以逗号分隔的 `<group>/<key>`（百分号编码），最多 {max} 个"
            );
        }
        RequestError::NotAnObject => "请求体必须是 JSON 对象",
        RequestError::IncompleteBody => "请求体不完整",
        RequestError::InvalidForm => "表单数据无效",
        RequestError::InvalidPath => "路径的百分号编码无效：% 后须为两位十六进制数字",
        RequestError::InvalidCursor => "`cursor` 无效，请使用上一页的 `next_cursor`",
    };
    fixed.to_owned()
}

pub(super) fn chinese_invalid_value(cause: &InvalidValue) -> String {
    let fixed = match cause {
        InvalidValue::TooManyBytes { max } => return format!("超过 {max} 字节"),
        InvalidValue::TooManyCharacters { max } => return format!("超过 {max} 个字符"),
        InvalidValue::TooManyItems { count, max } => {
            return format!("共 {count} 项，最多允许 {max} 项");
        }
        InvalidValue::Duplicate { group, key } => {
            return format!("组“{group}”中同一持有者的锁“{key}”出现了两次");
        }
        InvalidValue::OutOfRange { min, max } => return format!("必须在 {min} 到 {max} 之间"),
        InvalidValue::WaitTooLong { max_ms } => return format!("超过 {max_ms} 毫秒"),
        InvalidValue::TooShort { min_ms } => return format!("至少为 {min_ms} 毫秒"),
        InvalidValue::ShorterThanRoundTrips { min_ms } => {
            return format!("至少为 {min_ms} 毫秒：更短的租约会在与该组节点的往返通信期间到期");
        }
        InvalidValue::ExceedsMaxLease { max_ms } => {
            return format!("超过该组允许的最长租约（{max_ms} 毫秒）");
        }
        InvalidValue::UnsupportedFormat { format, supported } => {
            let supported = format_list(supported);
            return format!("在该组中不支持获取 {format} 格式的锁；支持的格式：{supported}");
        }
        InvalidValue::TooManyPrefixes { max } => {
            return format!("该组已有 {max} 个前缀被固定、排除或命名，请先重置其中一个");
        }
        InvalidValue::TooManyViews { max } => {
            return format!("已有 {max} 个团队视图，请先删除一个");
        }
        InvalidValue::UnknownNode { node } => return format!("该组没有节点“{node}”"),
        InvalidValue::UnknownWebhook { name } => return format!("配置中没有 Webhook“{name}”"),
        InvalidValue::UnknownRunId { node } => {
            return format!("节点“{node}”尚未报告其运行 ID（INFO server），请先恢复该节点");
        }
        InvalidValue::NotALockListPath => "必须是锁列表的网址：`/`，或 `/?` 加查询参数",
        InvalidValue::ControlCharacter => "不能包含控制字符",
        InvalidValue::Empty => "不能为空",
        InvalidValue::EmptyName => "不能为空，请输入锁的名称",
        InvalidValue::NoItems => "不能为空，请列出要释放的锁",
        InvalidValue::BlankReason => "不能为空，请说明释放的原因",
        InvalidValue::SentTwice => "最多只能发送一次",
        InvalidValue::NotVisibleAscii => "只能包含可见的 ASCII 字符",
        InvalidValue::InvalidPercentEncoding => "百分号编码无效，% 后须为两位十六进制数字",
        InvalidValue::NotAFingerprint => "必须是 16 位十六进制数字",
        InvalidValue::KeyReused => "已用于该锁的另一个请求，请为每个请求使用不同的幂等键",
        InvalidValue::NotARedissonToken => {
            "该格式的令牌必须为 Redisson 的 `<uuid>:<thread>` 形式，且 UUID 为小写"
        }
        InvalidValue::GeneratedTokenOnly => {
            "此格式不支持自定义令牌：请省略该字段，并使用响应中的令牌"
        }
        InvalidValue::NotATimestampToken => {
            "该格式的令牌必须是以秒为单位、至少六位小数的时间戳，例如 `1795200545.123456789`"
        }
        InvalidValue::NodeNameRequired => "该组属于生产环境，请输入节点的名称以确认",
    };
    fixed.to_owned()
}

pub(super) fn chinese_confirmation(cause: &ConfirmationCause) -> String {
    match cause {
        ConfirmationCause::Production => "该组属于生产环境".to_owned(),
        ConfirmationCause::ReleaseRisk { format } => format!(
            "{}（{format}：{}）",
            libraries::harm(*format).unwrap_or_default(),
            libraries::after_release(*format)
        ),
    }
}

pub(super) fn chinese_authentication(cause: &AuthenticationError) -> String {
    let fixed = match cause {
        AuthenticationError::Provider { failure } => return chinese_provider_failure(failure),
        AuthenticationError::NoCredentials => "请求中既没有 API 令牌，也没有会话",
        AuthenticationError::MalformedHeader => {
            "`Authorization` 请求头不是 `Bearer <API token>` 的形式"
        }
        AuthenticationError::UnknownToken => "API 令牌不存在",
        AuthenticationError::ExpiredToken => "API 令牌已过期",
        AuthenticationError::SessionEnded => "会话已结束",
        AuthenticationError::AccessRevoked => {
            "请求等待期间访问权限已被撤销：令牌、会话或权限已变更"
        }
        AuthenticationError::WrongPassword => "用户名或密码不正确",
        AuthenticationError::UnknownProxyUser => "认证代理的请求头中的用户不在配置中",
        AuthenticationError::InvalidProxyHeader => "认证代理的请求头不是有效的用户名，或出现了两次",
    };
    fixed.to_owned()
}

fn chinese_provider_failure(failure: &ProviderFailure) -> String {
    let fixed = match failure {
        ProviderFailure::Unavailable { text } => return format!("身份提供商不可用：“{text}”"),
        ProviderFailure::Rejected { text } => return format!("身份提供商拒绝了请求：“{text}”"),
        ProviderFailure::ClientRejected { text } => {
            return format!(
                "身份提供商拒绝了本控制台（“{text}”）。请检查 [sign_in.oidc] 中的 `client_id` 和 `client_secret`（或 `client_secret_file` 的内容）"
            );
        }
        ProviderFailure::ClockSkew { seconds } => {
            return format!("身份提供商与控制台的时钟相差 {seconds} 秒");
        }
        ProviderFailure::Unverified { text } => {
            return format!("无法验证身份提供商的响应：“{text}”");
        }
        ProviderFailure::NotConfigured => "未配置身份提供商",
        ProviderFailure::Cancelled => "用户在身份提供商处取消了登录",
        ProviderFailure::Expired => {
            "当前浏览器中没有与此响应对应的登录请求：请求已过期、已完成，或是在其他浏览器中发起的"
        }
        ProviderFailure::NoRoleMapping => "没有与该用户的声明匹配的 [[sign_in.oidc.role_mapping]]",
        ProviderFailure::NameTaken => "配置中有同名的 [[user]]",
    };
    fixed.to_owned()
}

pub(super) fn chinese_denial(cause: &DenialReason) -> String {
    let fixed = match cause {
        DenialReason::Permission { denied } => return permissions::permission_denied(denied),
        DenialReason::UnauthenticatedProxy { header } => {
            return format!(
                "未启用登录，而请求头 `{header}` 表明请求经过了反向代理。在控制台前面部署反向代理之前，请先配置用户或令牌（[[user]]、[[token]]）"
            );
        }
        DenialReason::SampleRejected { cause } => {
            return format!(
                "节点拒绝了采样：{}（该用户需要 +monitor；如需识别失败的获取，还需要 +client|tracking）",
                reasons::clause(cause)
            );
        }
        DenialReason::UnknownHost => {
            "未启用登录，因此控制台只接受发往 IP 地址、localhost 或 `allowed_hosts` 中名称的请求"
        }
        DenialReason::CrossSite => {
            "已拒绝跨站请求：请求来自其他网站的页面。请打开控制台自身的页面后重试"
        }
        DenialReason::AuditDisabled => "配置中已禁用审计日志",
        DenialReason::TokenRevealed => "令牌只显示一次，此前已显示过",
    };
    fixed.to_owned()
}

pub(super) fn chinese_limit(cause: &LimitReached) -> String {
    let fixed = match cause {
        LimitReached::RequestRate { client, max } => {
            return format!(
                "已达到上限 `max_requests_per_second`：{client} 每秒最多可发送 {max} 个请求"
            );
        }
        LimitReached::Concurrency {
            resource,
            client,
            max,
        } => return chinese_concurrency(*resource, client.as_deref(), *max),
        LimitReached::FailedSignIns => "登录失败的次数过多",
        LimitReached::SignInsInProgress => "正在进行的登录过多",
        LimitReached::SampleRunning => "已有采样正在进行，同一时间只能进行一个",
        LimitReached::AutoRenewals => {
            "控制台自动续租的锁已达上限；请在获取锁时不启用 `auto_renew`，或稍后重试"
        }
    };
    fixed.to_owned()
}

fn chinese_concurrency(resource: LimitedResource, client: Option<&str>, max: u32) -> String {
    let name = resource.limit_name();
    let noun = match resource {
        LimitedResource::Connections => "连接",
        LimitedResource::Requests => "请求",
        LimitedResource::SignIns => "登录",
        LimitedResource::QueuedAcquires => "等待中的获取请求",
        LimitedResource::Streams => "事件流",
        LimitedResource::Queries => "查询",
    };
    match client {
        None => format!("已达到上限 `{name}`：最多同时有 {max} 个{noun}"),
        Some(client) => {
            format!("已达到上限 `{name}_per_client`：{client} 最多同时有 {max} 个{noun}")
        }
    }
}

pub(super) fn chinese_storage(cause: StorageFailure) -> &'static str {
    match cause {
        StorageFailure::Unavailable => "控制台的存储无法使用，原因请查看服务器日志",
        StorageFailure::UnreadableAuditLog => "无法读取审计日志，原因请查看服务器日志",
        StorageFailure::UnverifiedSession => {
            "控制台的数据库无法使用，因此无法验证您的会话。在数据库恢复之前，您仅有只读权限"
        }
    }
}

pub(super) fn chinese_internal(cause: &InternalError) -> String {
    let fixed = match cause {
        InternalError::OperationAborted { text } => return format!("操作被中断：“{text}”"),
        InternalError::QueryFailed { text } => return format!("查询失败：“{text}”"),
        InternalError::PasswordVerification { text } => {
            return format!("密码校验失败：“{text}”");
        }
        InternalError::ServerFunction { text } => return format!("“{text}”"),
        InternalError::ShuttingDown => "控制台正在关闭",
        InternalError::NoPasswordHash => "该用户没有密码哈希",
        InternalError::SignInNotEncrypted => "无法加密待完成的登录请求",
        InternalError::UnreadableStoredResponse => "无法读取该幂等键已保存的响应",
        InternalError::OutsideRequest => "在请求之外调用了服务器函数",
    };
    fixed.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Format, Permission, PermissionDenied, role::Role};

    #[test]
    fn a_cause_is_worded_with_its_fields() {
        let denied = PermissionDenied::Role {
            permission: Permission::Acquire,
            role: Role::Viewer,
        };
        let english = denial(&DenialReason::Permission { denied });
        assert_eq!(
            english,
            "the role `viewer` cannot acquire locks; the role `operator` is required"
        );
        let chinese = chinese_invalid_value(&InvalidValue::UnsupportedFormat {
            format: Format::Bull,
            supported: vec![Format::Curator],
        });
        assert!(chinese.contains("bull"), "{chinese}");
        let client = Some("10.0.0.1".to_owned());
        let limit = LimitReached::Concurrency {
            resource: LimitedResource::Streams,
            client,
            max: 2,
        };
        assert_eq!(
            chinese_limit(&limit),
            "已达到上限 `max_streams_per_client`：10.0.0.1 最多同时有 2 个事件流"
        );
    }
}
