//! The summary of an incident that is copied as Markdown.

use super::format::span;
use super::{activity, advice, punctuation, terms};
use crate::domain::activity::events::EventKind;
use crate::domain::incident::{IncidentLabel, IncidentWords};
use crate::domain::release_advice::{Alternative, Demand, LockEnd};
use crate::domain::{AdviceLevel, AdviceReason, Flag, GapCause, NodeState};

messages! {
    copy: "Copy incident", "复制事件摘要";
    lock_label: "Lock", "锁";
    group: "Group", "组";
    owner: "Owner", "持有者";
    since: "since", "起始";
    state: "State", "状态";
    flags: "Flags", "标记";
    at: "As of", "截至";
    waiters: "Waiters", "等待者";
    timeline: "The last hour", "最近一小时";
    nodes: "Nodes", "节点";
    link: "The page at this time", "此刻的页面";
    unlabelled: "unlabelled owner", "无标签的持有者";
    nothing_recorded: "Nothing recorded.", "没有记录。";
    history_unavailable: "The history could not be read.", "无法读取历史记录。";
    from_memory: "From the memory of the console: flags and gaps are not known.", "来自控制台内存：标记和记录缺口未知。";
    more(n: usize): "Not listed: {n}", "未列出：{n}";
    recorded_since(time: &str): "Recorded since {time}.", "自 {time} 起有记录。";
}

/// The words of a summary in the language of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageWords;

impl IncidentWords for PageWords {
    fn label(&self, label: IncidentLabel) -> &'static str {
        match label {
            IncidentLabel::Lock => lock_label(),
            IncidentLabel::Group => group(),
            IncidentLabel::Owner => owner(),
            IncidentLabel::Since => since(),
            IncidentLabel::State => state(),
            IncidentLabel::Flags => flags(),
            IncidentLabel::At => at(),
            IncidentLabel::Advice => advice::title(),
            IncidentLabel::WantedBy => advice::wanted_by(),
            IncidentLabel::Ends => advice::ends(),
            IncidentLabel::Instead => advice::instead(),
            IncidentLabel::Waiters => waiters(),
            IncidentLabel::Timeline => timeline(),
            IncidentLabel::Nodes => nodes(),
            IncidentLabel::Link => link(),
            IncidentLabel::Unlabelled => unlabelled(),
            IncidentLabel::NothingRecorded => nothing_recorded(),
            IncidentLabel::HistoryUnavailable => history_unavailable(),
            IncidentLabel::FromMemory => from_memory(),
        }
    }

    fn level(&self, level: AdviceLevel) -> String {
        let (level, meaning) = (advice::level(level), advice::level_meaning(level));
        format!("{level}{}{meaning}", punctuation::full_stop())
    }

    fn reason(&self, reason: &AdviceReason) -> String {
        advice::reason(reason)
    }

    fn demand(&self, demand: &Demand) -> String {
        advice::demand(demand)
    }

    fn end(&self, end: LockEnd) -> String {
        advice::end(end)
    }

    fn alternative(&self, alternative: &Alternative) -> String {
        advice::alternative(alternative)
    }

    fn event(&self, kind: EventKind) -> &'static str {
        activity::event(kind)
    }

    fn held(&self, ms: u64) -> String {
        activity::after(span(ms))
    }

    fn flag(&self, flag: Flag) -> &'static str {
        terms::flag(flag)
    }

    fn node_state(&self, state: NodeState) -> &'static str {
        terms::node_state(state)
    }

    fn gap(&self, cause: GapCause) -> &'static str {
        activity::gap_cause(cause)
    }

    fn more(&self, count: usize) -> String {
        more(count)
    }

    fn recorded_since(&self, time: &str) -> String {
        recorded_since(time)
    }
}
