//! The summary of an incident: the state of one lock and its last hour as Markdown, to be pasted
//! into a chat or an issue. Times are UTC, because the readers may be in several time zones.

mod english;
#[cfg(test)]
mod tests;
mod timeline;

pub use self::english::English;

use super::activity::events::EventKind;
use super::markdown::{code, escape};
use super::release_advice::{Alternative, Demand, LockEnd};
use super::{
    AcquiredAtSource, Activity, AdviceLevel, AdviceReason, BlockingLock, Flag, GapCause, Lock,
    NodeState, NodeView, ReleaseAdvice, Timestamp,
};

/// The length of the timeline.
pub const TIMELINE_MS: i64 = 3_600_000;
/// The number of owners, waiters and nodes that are listed.
const MAX_LISTED: usize = 10;

/// What a summary is made of.
#[derive(Clone, Copy, Debug)]
pub struct Incident<'a> {
    /// The lock in its last known state.
    pub lock: &'a Lock,
    /// The state of the lock as a sentence.
    pub state: &'a str,
    /// The advice before a forced release; `None` for a lock that has ended.
    pub advice: Option<&'a ReleaseAdvice>,
    /// The wait queue; `None` without waiters.
    pub queue: Option<&'a BlockingLock>,
    /// The recorded history of the lock in the last hour; `None` if it could not be read.
    pub activity: Option<&'a Activity>,
    /// The nodes of the group.
    pub nodes: &'a [NodeView],
    /// The URL of the page of the lock at `at`; `None` if the summary is not made by a page.
    pub link: Option<&'a str>,
    /// The time of the summary.
    pub at: Timestamp,
}

/// A label of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncidentLabel {
    /// The lock.
    Lock,
    /// Its group.
    Group,
    /// An owner.
    Owner,
    /// When the owner acquired the lock.
    Since,
    /// The state of the lock.
    State,
    /// Its flags.
    Flags,
    /// The time of the summary.
    At,
    /// The heading of the advice.
    Advice,
    /// Who wants the lock.
    WantedBy,
    /// When it ends by itself.
    Ends,
    /// What to do instead of a release.
    Instead,
    /// The heading of the wait queue.
    Waiters,
    /// The heading of the timeline.
    Timeline,
    /// The heading of the nodes.
    Nodes,
    /// The link to the page as it was.
    Link,
    /// A name for an owner without a label.
    Unlabelled,
    /// A list is empty.
    NothingRecorded,
    /// The history could not be read.
    HistoryUnavailable,
    /// The history is read from memory.
    FromMemory,
}

/// The words of a summary in one language. Sentences are returned without Markdown.
pub trait IncidentWords {
    /// A label or a fixed sentence.
    fn label(&self, label: IncidentLabel) -> &'static str;
    /// A level of the advice, with its meaning.
    fn level(&self, level: AdviceLevel) -> String;
    /// A fact of the advice.
    fn reason(&self, reason: &AdviceReason) -> String;
    /// Who wants the lock.
    fn demand(&self, demand: &Demand) -> String;
    /// When the lock ends by itself.
    fn end(&self, end: LockEnd) -> String;
    /// What to do instead.
    fn alternative(&self, alternative: &Alternative) -> String;
    /// The kind of an event.
    fn event(&self, kind: EventKind) -> &'static str;
    /// How long an owner had held the lock at the end of a hold.
    fn held(&self, ms: u64) -> String;
    /// A flag.
    fn flag(&self, flag: Flag) -> &'static str;
    /// The state of a node.
    fn node_state(&self, state: NodeState) -> &'static str;
    /// Why nothing was recorded.
    fn gap(&self, cause: GapCause) -> &'static str;
    /// A number of items that are not listed.
    fn more(&self, count: usize) -> String;
    /// The time since when the history is recorded.
    fn recorded_since(&self, time: &str) -> String;
}

impl Incident<'_> {
    /// The summary as Markdown.
    pub fn to_markdown(&self, words: &impl IncidentWords) -> String {
        let mut page = Page::default();
        self.write_facts(&mut page, words);
        self.write_advice(&mut page, words);
        self.write_waiters(&mut page, words);
        timeline::write(self, &mut page, words);
        self.write_nodes(&mut page, words);
        if let Some(link) = self.link {
            let label = words.label(IncidentLabel::Link);
            page.0
                .push_str(&format!("\n{label}: <{}>\n", link_target(link)));
        }
        page.0
    }

    fn write_facts(&self, page: &mut Page, words: &impl IncidentWords) {
        let lock = self.lock;
        let id = &lock.id;
        let label = words.label(IncidentLabel::Lock);
        page.0
            .push_str(&format!("## {label} {}\n\n", code(&id.key.text())));
        page.fact(words.label(IncidentLabel::Group), &code(&id.group));
        page.fact(words.label(IncidentLabel::At), &date_time(self.at));
        page.fact(words.label(IncidentLabel::State), &escape(self.state));
        let owners = lock.owners.iter().take(MAX_LISTED);
        for owner in owners {
            let name = owner_name(owner.label.as_deref(), owner.fingerprint.as_str(), words);
            page.fact(words.label(IncidentLabel::Owner), &name);
        }
        let more = lock.owners.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            page.item(&words.more(more));
        }
        let since = match lock.acquired_at_source {
            AcquiredAtSource::FirstSeen => {
                let note = words.event(EventKind::FirstSeen);
                format!("{} ({note})", date_time(lock.acquired_at))
            }
            _ => date_time(lock.acquired_at),
        };
        page.fact(words.label(IncidentLabel::Since), &since);
        if !lock.flags.is_empty() {
            let flags = lock.flags.iter().map(|flag| words.flag(*flag));
            let flags: Vec<&str> = flags.collect();
            page.fact(words.label(IncidentLabel::Flags), &flags.join(", "));
        }
    }

    fn write_advice(&self, page: &mut Page, words: &impl IncidentWords) {
        let Some(advice) = self.advice else { return };
        page.heading(words.label(IncidentLabel::Advice));
        page.item(&escape(&words.level(advice.level)));
        for reason in &advice.reasons {
            page.item(&escape(&words.reason(reason)));
        }
        let demand = escape(&words.demand(&advice.demand));
        page.fact(words.label(IncidentLabel::WantedBy), &demand);
        let end = escape(&words.end(advice.end));
        page.fact(words.label(IncidentLabel::Ends), &end);
        for alternative in &advice.alternatives {
            let alternative = escape(&words.alternative(alternative));
            page.fact(words.label(IncidentLabel::Instead), &alternative);
        }
    }

    fn write_waiters(&self, page: &mut Page, words: &impl IncidentWords) {
        let Some(queue) = self.queue else { return };
        page.heading(words.label(IncidentLabel::Waiters));
        for waiter in queue.waiters.iter().take(MAX_LISTED) {
            let name = owner_name(waiter.label.as_deref(), waiter.fingerprint.as_str(), words);
            let since = waiter.waiting_since.map(|since| {
                let label = words.label(IncidentLabel::Since);
                format!(", {label}: {}", date_time(since))
            });
            page.item(&(name + &since.unwrap_or_default()));
        }
        let total = usize::try_from(queue.waiter_count).unwrap_or(usize::MAX);
        let more = total.saturating_sub(queue.waiters.len().min(MAX_LISTED));
        if more > 0 {
            page.item(&words.more(more));
        }
    }

    fn write_nodes(&self, page: &mut Page, words: &impl IncidentWords) {
        if self.nodes.is_empty() {
            return;
        }
        page.heading(words.label(IncidentLabel::Nodes));
        for node in self.nodes.iter().take(MAX_LISTED) {
            let state = words.node_state(node.state);
            let since = node.since.map(|since| {
                let label = words.label(IncidentLabel::Since);
                format!(", {label}: {}", date_time(since))
            });
            let since = since.unwrap_or_default();
            page.item(&format!("{}: {state}{since}", code(&node.name)));
        }
        let more = self.nodes.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            page.item(&words.more(more));
        }
    }
}

/// The Markdown that is being written.
#[derive(Default)]
struct Page(String);

impl Page {
    fn heading(&mut self, text: &str) {
        self.0.push_str(&format!("\n### {text}\n\n"));
    }

    fn item(&mut self, markdown: &str) {
        self.0.push_str(&format!("- {markdown}\n"));
    }

    fn fact(&mut self, label: &str, markdown: &str) {
        self.item(&format!("**{label}:** {markdown}"));
    }
}

/// The label of an owner and the start of its fingerprint. A token is never part of an owner.
fn owner_name(label: Option<&str>, fingerprint: &str, words: &impl IncidentWords) -> String {
    let digits = code(fingerprint.get(..8).unwrap_or(fingerprint));
    match label {
        Some(label) => format!("{} ({digits})", code(label)),
        None => format!("{} ({digits})", words.label(IncidentLabel::Unlabelled)),
    }
}

/// A date and time: `2026-11-26 03:07:09 UTC`.
fn date_time(at: Timestamp) -> String {
    let text = at.to_string();
    let text = text.get(..19).unwrap_or(&text).replace('T', " ");
    format!("{text} UTC")
}

/// The URL without characters that end it. The path of a lock is percent-encoded.
fn link_target(link: &str) -> String {
    link.replace('<', "%3C")
        .replace('>', "%3E")
        .replace(char::is_whitespace, "%20")
}
