//! The advice before a forced release: a panel of the lock page, and the top of the release dialog.

mod content;
mod level;

use std::time::Duration;

use leptos::prelude::*;

pub use self::content::AdviceContent;
pub use self::level::tone;
use super::resource_view::ResourceView;
use crate::domain::release_advice::AdviceFacts;
use crate::domain::{BlockingLock, Fingerprint, Lock, LockId, ReleaseAdvice, Timestamp};
use crate::ui::calls;
use crate::ui::i18n::advice as t;
use crate::ui::kit::Card;
use crate::ui::live::{Live, ServerResource, poll};

/// The interval between requests for the facts that are not part of the lock.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The facts of one lock that are not part of it. A copyable handle.
#[derive(Clone, Copy)]
pub struct AdviceSource {
    loading: ServerResource<AdviceFacts>,
    current: RwSignal<Option<AdviceFacts>>,
}

impl AdviceSource {
    /// Loads the facts and keeps them current. Must not be called inside a `Suspense`, see
    /// [`super::lock_history::load`].
    pub fn load(id: &LockId) -> Self {
        let current = RwSignal::new(None);
        let lock = id.clone();
        let loading = ServerResource::new(move || calls::advice_facts(lock.clone()));
        let lock = StoredValue::new(id.clone());
        let argument = Memo::new(move |_| lock.get_value());
        poll(POLL_INTERVAL, argument, calls::advice_facts, current);
        super::lock_history::reload_on_owner_change(id, loading);
        Self { loading, current }
    }

    /// The wait queue of the lock, without tracking; `None` without waiters, and when the page has
    /// been closed.
    pub fn queue_untracked(self) -> Option<BlockingLock> {
        let facts = self.current.try_get_untracked().flatten();
        facts.and_then(|facts| facts.queue)
    }

    /// The advice for the first owner at a time, without tracking.
    pub fn assess_untracked(self, lock: &Lock, now: Timestamp) -> ReleaseAdvice {
        let facts = self.current.try_get_untracked().flatten();
        ReleaseAdvice::assess(&facts.unwrap_or_default().inputs(lock, None, now))
    }

    /// The advice for one owner, or for the first one. Updated once a second.
    pub fn advice(
        self,
        lock: Signal<Lock>,
        owner: Signal<Option<Fingerprint>>,
    ) -> Memo<ReleaseAdvice> {
        let live = Live::expect();
        let second = Memo::new(move |_| live.now.get().millis().div_euclid(1_000));
        Memo::new(move |_| {
            second.track();
            let (lock, owner, facts) = (lock.read(), owner.read(), self.current.read());
            let default = AdviceFacts::default();
            let facts = facts.as_ref().unwrap_or(&default);
            let now = live.now.get_untracked();
            ReleaseAdvice::assess(&facts.inputs(&lock, owner.as_ref(), now))
        })
    }
}

/// The panel of the lock page.
#[component]
pub fn AdvicePanel(
    /// The lock, updated live.
    #[prop(into)]
    lock: Signal<Lock>,
    /// The facts that are not part of the lock.
    source: AdviceSource,
) -> impl IntoView {
    let show = Callback::new(move |facts: AdviceFacts| {
        source.current.set(Some(facts));
        let advice = source.advice(lock, Signal::stored(None));
        view! { <AdviceContent advice /> }.into_any()
    });
    view! {
        <Card id="advice" title=t::title()>
            <ResourceView loading=source.loading show />
        </Card>
    }
}
