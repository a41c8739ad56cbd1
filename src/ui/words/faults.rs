//! What went wrong, and what a person in front of a page can do about it. English is what the domain says; the details that
//! nodes, systems and the server's log speak of stay as they were said.

use super::format;
use crate::domain::{Fault, Verb, WhyNot};

use super::told;
use super::verdicts;
use super::{Language, language};

words! {
    try_again: "Try again", "重试";
    held_by: "Held by ", "持有者 ";
    for_another(span: &str): ", for another {span}", "，还剩 {span}";
    without_an_end: ", without an end of its own", "，自身没有期限";
}

/// A fault as a sentence with a capital and a full stop.
pub fn sentence(fault: &Fault) -> String {
    let text = match language() {
        Language::English => format::capital(&fault.to_string()),
        Language::Chinese => chinese(fault),
    };
    match text.chars().last() {
        Some('.' | '。' | '！' | '？') => text,
        _ if language() == Language::Chinese => format!("{text}。"),
        _ => format!("{text}."),
    }
}

fn chinese(fault: &Fault) -> String {
    match fault {
        Fault::BadRequest { detail } => format!("请求无法读取：{}", told::said(detail)),
        Fault::Impossible { field, detail, .. } => {
            format!("{}：{}", field_name(field), told::said(detail))
        }
        Fault::ConfirmRequired { .. } => "请输入这把锁的名称以确认".to_owned(),
        Fault::PossibleLock { .. } => {
            "这个键只是可能是锁：它可以是任何东西，所以不从这里释放".to_owned()
        }
        Fault::NotReleasable { .. } => "这种格式的锁没有办法替持有者释放".to_owned(),
        Fault::SignInRequired { .. } => "需要先登录".to_owned(),
        Fault::Forbidden { why } => format!("没有权限：{}", told::said(why)),
        Fault::OutsideKeys { key, patterns } => {
            let name = format::visible(&key.text());
            if patterns.is_empty() {
                format!("名称“{name}”由 Lockkeeper 自身使用，不是锁")
            } else {
                let patterns = patterns.join("、");
                format!("名称“{name}”不匹配该组 `keys` 中的任何模式：{patterns}")
            }
        }
        Fault::UnknownGroup { group } => format!("配置里没有“{}”这个组", format::visible(group)),
        Fault::NotObserved { .. } => "应答的节点上都没有观察到这把锁".to_owned(),
        Fault::Unreachable {
            reached,
            asked,
            quorum,
            ..
        } => format!("{asked} 个节点中只能询问 {reached} 个，要判断需要 {quorum} 个"),
        Fault::Held { .. } => "这把锁由别人持有".to_owned(),
        Fault::NoQuorum {
            reached, quorum, ..
        } => format!("参与的节点太少：{reached} 个应答，需要 {quorum} 个"),
        Fault::PartlyReleased {
            released,
            remaining,
            quorum,
            nodes,
        } => format!(
            "释放只到达 {released} 个节点（共 {} 个），另有 {remaining} 个可能仍持有该锁：{quorum} 个即为多数",
            nodes.len()
        ),
        Fault::NotHeld { .. } => "这把锁没有被持有".to_owned(),
        Fault::HoldEnded { .. } => "这个请求获取的锁已不再被持有".to_owned(),
        Fault::NotOwner { .. } => "这把锁由别人持有；没有触碰对方的任何内容".to_owned(),
        Fault::OwnerChanged { .. } => "持有者已不是你看到的那个；什么都没有动".to_owned(),
        Fault::HoldChanged { .. } => {
            "持有者还是你看到的那个，但它之后又续租、重入或重新获取了锁；什么都没有动".to_owned()
        }
        Fault::WrongType { detail, .. } => {
            format!("这个键里的内容不是这种格式的锁：{}", told::said(detail))
        }
        Fault::AuditUnavailable { detail } => {
            format!("没有审计就不操作，而审计无法写入：{}", told::said(detail))
        }
        Fault::StorageUnavailable { detail } => told::chinese(detail)
            .unwrap_or_else(|| format!("控制台的存储无法访问：{}", told::said(detail))),
        Fault::Stopping => "控制台正在停止，对锁的等待已结束".to_owned(),
        Fault::TooMany { .. } => "一次太多了，超出本控制台的上限".to_owned(),
        Fault::Unanswered { detail } => format!("控制台没有应答：{}", told::said(detail)),
        Fault::Internal { detail } => format!("这边出了问题：{}", told::said(detail)),
    }
}

/// A field of a form, by its name in the API.
fn field_name(field: &str) -> &str {
    match field {
        "ttl_ms" => "时长",
        "wait_ms" => "等待时长",
        "key" => "锁",
        "label" => "标签",
        "format" => "格式",
        "reason" => "原因",
        "fingerprint" => "指纹",
        "node" => "节点",
        "seconds" => "秒数",
        other => other,
    }
}

/// What a person in front of a page can do; what scripts are told speaks of fields and URLs.
pub fn advice(fault: &Fault) -> &'static str {
    let (english, chinese) = match fault {
        Fault::Held { .. } => (
            "Nothing was changed. Wait for its lease to end, or look at who holds it.",
            "什么都没有改变。等租约结束，或看看是谁持有它。",
        ),
        Fault::ConfirmRequired { .. } => (
            "Type the lock's name to confirm. Nothing was changed.",
            "请输入锁的名称以确认。什么都没有改变。",
        ),
        Fault::UnknownGroup { .. } => (
            "The configuration may have changed since this page was opened.",
            "打开本页之后配置可能改过。",
        ),
        Fault::NotObserved { .. } => (
            "That is what the nodes show; an observer cannot prove that nobody relies on it.",
            "这是各节点显示的情况；观察者无法证明没有人依赖它。",
        ),
        Fault::HoldEnded { .. } => (
            "It was released, lost or expired. Acquire it again.",
            "它已被释放、丢失或过期。请重新获取。",
        ),
        Fault::NotHeld { .. } => (
            "It expired or was released before this arrived. Nothing was changed.",
            "在此之前它已过期或被释放。什么都没有改变。",
        ),
        Fault::OwnerChanged { .. } | Fault::HoldChanged { .. } => (
            "Look at the lock again before you decide.",
            "先再看一眼这把锁，再决定。",
        ),
        Fault::PossibleLock { .. } => (
            "Pin a pattern to its format in the configuration to make it a lock. Nothing was changed.",
            "在配置里把匹配模式固定到某种格式，它才算锁。什么都没有改变。",
        ),
        Fault::NotReleasable { .. } | Fault::Forbidden { .. } => {
            ("Nothing was changed.", "什么都没有改变。")
        }
        Fault::OutsideKeys { patterns, .. } if patterns.is_empty() => {
            (fault.advice(), "请换一个名称。什么都没有改变。")
        }
        Fault::OutsideKeys { .. } => (
            fault.advice(),
            "请使用匹配的名称，或在该组的 `keys` 中添加模式。什么都没有改变。",
        ),
        Fault::SignInRequired { .. } => (
            "Sign in, then look at this page again.",
            "请登录，再回到本页。",
        ),
        Fault::BadRequest { .. } | Fault::Impossible { .. } => {
            (fault.advice(), "请改正后再试；什么都没有改变。")
        }
        Fault::Unreachable { .. } => (fault.advice(), "让节点恢复，再试。"),
        Fault::NoQuorum { .. } => (
            fault.advice(),
            "让节点恢复，再试；已拿到的部分已尽可能归还。可能丢失了锁的节点，到它标明的时间或由操作员担保之后，才重新接受新锁。",
        ),
        Fault::PartlyReleased { .. } => (
            fault.advice(),
            "请恢复节点：已开始的释放会在后台于这些节点上完成。在没有节点显示这把锁之前，不要认为它已释放。",
        ),
        Fault::NotOwner { .. } => (fault.advice(), "不要再依赖这把锁：它已归别人。"),
        Fault::WrongType { .. } => (fault.advice(), "换一个名称，或看看这个键里是什么。"),
        Fault::AuditUnavailable { .. } => (
            fault.advice(),
            "让 `[storage]` 的文件可写，腾出空间，或让其 PostgreSQL 恢复。什么都没有改变。",
        ),
        Fault::StorageUnavailable { .. } => (
            fault.advice(),
            "让 `[storage]` 的数据库恢复后再试；什么都没有改变。",
        ),
        Fault::Stopping => (fault.advice(), "等它重新启动后再试；没有获取任何锁。"),
        Fault::TooMany { .. } => (fault.advice(), "稍后再试；什么都没有改变。"),
        Fault::Unanswered { .. } => (fault.advice(), "检查控制台是否在运行、你能否连上它。"),
        Fault::Internal { .. } => (fault.advice(), "请查看服务器日志。"),
    };
    match language() {
        Language::English => english,
        Language::Chinese => chinese,
    }
}

/// Why somebody may not, as a sentence without a full stop.
pub fn why_not(why: &WhyNot) -> String {
    if language() == Language::English {
        return format::capital(&why.to_string());
    }
    match why {
        WhyNot::Role { verb, has } => format!(
            "角色“{}”不能{}；这需要“{}”",
            verdicts::rank(*has),
            verb_words(*verb),
            verdicts::rank(verb.needs())
        ),
        WhyNot::Group { group } => format!("你在“{group}”组里没有权限"),
        WhyNot::Key { patterns } => {
            format!("你的权限不包括这个名称，只包括 {}", patterns.join("、"))
        }
        WhyNot::ReadOnly { group } => format!("“{group}”组在配置里是只读的"),
    }
}

fn verb_words(verb: Verb) -> &'static str {
    match verb {
        Verb::See => "查看锁",
        Verb::ReadRaw => "读取节点上存储的内容",
        Verb::Acquire => "获取锁",
        Verb::Extend => "续租锁",
        Verb::Release => "释放锁",
        Verb::ForceRelease => "释放别人的锁",
        Verb::Vouch => "为节点担保",
        Verb::Sample => "记录对节点的请求",
        Verb::ReadAudit => "查看审计",
        Verb::Administer => "管理控制台",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_a_whole_sentence() {
        for fault in [
            Fault::NotHeld { nodes: Vec::new() },
            Fault::BadRequest {
                detail: "it is not JSON.".to_owned(),
            },
            Fault::UnknownGroup {
                group: "g\u{202e}".to_owned(),
            },
        ] {
            let english = sentence(&fault);
            assert!(
                english.ends_with('.') && !english.ends_with(".."),
                "{english}"
            );
            assert!(!chinese(&fault).is_empty());
        }
    }
}
