//! Why an operation is not permitted.

use super::{Locale, format, locale, terms};
use crate::domain::{Permission, PermissionDenied};

/// Why permission is denied, without a full stop.
pub fn permission_denied(why: &PermissionDenied) -> String {
    if locale() == Locale::English {
        return format::capital(&why.to_string());
    }
    match why {
        PermissionDenied::Role { permission, role } => format!(
            "角色“{}”不能{}，需要角色“{}”",
            terms::user_role(*role),
            permission_name(*permission),
            terms::user_role(permission.required_role())
        ),
        PermissionDenied::Group { group } => format!("您没有组“{group}”的权限"),
        PermissionDenied::Key { patterns } => {
            format!("您的权限不包括该名称，仅包括 {}", patterns.join("、"))
        }
        PermissionDenied::ReadOnly { group } => format!("组“{group}”为只读"),
    }
}

fn permission_name(permission: Permission) -> &'static str {
    match permission {
        Permission::View => "查看锁",
        Permission::ReadRaw => "读取节点上的原始值",
        Permission::Acquire => "获取锁",
        Permission::Extend => "续租锁",
        Permission::Release => "释放锁",
        Permission::ForceRelease => "强制释放锁",
        Permission::ClearRestartHazard => "清除节点的重启风险标记",
        Permission::Monitor => "对节点采样",
        Permission::ReadAudit => "查看审计日志",
        Permission::ManageViews => "更改团队视图",
        Permission::ManagePrefixes => "更改前缀",
        Permission::Administer => "管理控制台",
    }
}
