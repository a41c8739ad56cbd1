//! A button that copies the summary of an incident as Markdown.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::advice::AdviceSource;
use super::copy_link::page_url;
use super::verdict_sentence::state_sentences;
use crate::domain::incident::{Incident, TIMELINE_MS};
use crate::domain::{ActivityQuery, Lock, Timestamp};
use crate::ui::i18n::incident::{self as t, PageWords};
use crate::ui::i18n::shell;
use crate::ui::kit::copy::copy_to_clipboard;
use crate::ui::kit::{Button, Icon, IconName};
use crate::ui::live::{Live, LockEnding};
use crate::ui::{calls, paths};

/// The number of holds that are requested for the timeline.
const MAX_HOLDS: u32 = 100;

/// Copies the summary of the incident that a lock page shows. A copyable handle.
#[derive(Clone, Copy)]
pub struct IncidentCopy {
    lock: Signal<Lock>,
    ended: Signal<Option<LockEnding>>,
    advice: AdviceSource,
    status: RwSignal<&'static str>,
}

impl IncidentCopy {
    /// The summary of this lock.
    pub fn new(
        lock: Signal<Lock>,
        ended: Signal<Option<LockEnding>>,
        advice: AdviceSource,
    ) -> Self {
        Self {
            lock,
            ended,
            advice,
            status: RwSignal::new(""),
        }
    }

    /// Loads the last hour and copies the summary.
    pub fn run(self, live: Live) {
        let (lock, now) = (self.lock.get_untracked(), live.now.get_untracked());
        spawn_local(async move {
            // The summary states that the history is missing.
            let activity = calls::activity(last_hour(&lock, now)).await.ok();
            let ended = self.ended.try_get_untracked().flatten();
            let queue = self.advice.queue_untracked();
            let state = state_sentences(&lock, ended, now);
            let assessed = self.advice.assess_untracked(&lock, now);
            let nodes = untrack(|| live.group(&lock.id.group)).map(|group| group.nodes);
            let link = page_url(&paths::pinned_lock(&lock.id, now));
            let incident = Incident {
                lock: &lock,
                state: &state,
                advice: Some(&assessed).filter(|_| ended.is_none()),
                queue: queue.as_ref().filter(|_| ended.is_none()),
                activity: activity.as_ref(),
                nodes: nodes.as_deref().unwrap_or_default(),
                link: Some(&link),
                at: now,
            };
            let markdown = incident.to_markdown(&PageWords);
            let message = match copy_to_clipboard(&markdown, None).await {
                true => shell::copied(),
                false => shell::copy_blocked(),
            };
            // The page may have been closed in the meantime.
            self.status.try_set(message);
        });
    }
}

fn last_hour(lock: &Lock, now: Timestamp) -> ActivityQuery {
    ActivityQuery {
        group: Some(lock.id.group.clone()),
        key: Some(lock.id.key.clone()),
        search: None,
        owner: None,
        from: now.plus_millis(-TIMELINE_MS),
        to: now,
        limit: MAX_HOLDS,
    }
}

/// The button with its result.
#[component]
pub fn IncidentButton(
    /// The summary.
    incident: IncidentCopy,
) -> impl IntoView {
    let live = Live::expect();
    view! {
        <span class="inline-flex items-center">
            // An empty status takes no space.
            <span role="status" class="text-xs text-muted" class=("me-2", move || !incident.status.read().is_empty())>
                {incident.status}
            </span>
            <Button on_press=move |()| incident.run(live)>
                <Icon name=IconName::Copy />
                {t::copy()}
            </Button>
        </span>
    }
}
