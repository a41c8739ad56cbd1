//! `/groups/{group}/locks/{key}`: one lock.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::not_found::NotFoundPage;
use crate::domain::{AuditPage, Environment, Fault, History, Lock, LockId, Place, Verb, Waits};
use crate::ui::components::fault_notice::FaultNotice;
use crate::ui::components::library_box::LibraryBox;
use crate::ui::components::loaded::{Answered, OnBoard};
use crate::ui::components::lock_audit::{self, LockAudit};
use crate::ui::components::lock_facts::LockFacts;
use crate::ui::components::lock_history::{self, LockHistory};
use crate::ui::components::lock_name::LockName;
use crate::ui::components::lock_waiters::LockWaiters;
use crate::ui::components::node_matrix::NodeMatrix;
use crate::ui::components::node_strip::EnvironmentBadge;
use crate::ui::components::raw_box::RawBox;
use crate::ui::components::release::{ReleaseDialog, why_never};
use crate::ui::components::sample_box::SampleBox;
use crate::ui::components::script_box::ScriptBox;
use crate::ui::components::verdict_badge::{FlagWords, VerdictBadge, telling_flags};
use crate::ui::components::verdict_sentence::VerdictSentence;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Button, Icon, Link, Sign, Variant};
use crate::ui::live::Loading;
use crate::ui::live::{Gone, Live};
use crate::ui::words::lock as words;
use crate::ui::{calls, format, paths};

/// One lock, named by the path.
#[component]
pub fn LockPage() -> impl IntoView {
    let location = use_location();
    let id = move || paths::parse_lock(&location.pathname.read(), &location.search.read());
    let shown = move || match id() {
        Some(id) => view! { <OneLock id /> }.into_any(),
        None => view! { <NotFoundPage /> }.into_any(),
    };
    view! { {move || shown()} }
}

#[component]
fn OneLock(id: LockId) -> impl IntoView {
    Live::expect().follow(&id);
    let asked = Loading::new({
        let id = id.clone();
        move || calls::lock(id.clone())
    });
    let (past, done) = (lock_history::ask(&id), lock_audit::ask(&id));
    let waits = Loading::new(calls::waits);
    // What goes wrong is a fact about the lock here, not about the page.
    let show = Callback::new({
        let id = id.clone();
        move |answer| {
            view! { <Sighted id=id.clone() answer past done waits on_ask=move |()| asked.again() /> }
                .into_any()
        }
    });
    let title = format!(
        "{} · Lockkeeper",
        format::shorten(&format::visible(&id.key.text()), 60)
    );
    view! {
        <Title text=title />
        <p class="mb-3">
            <Link href=paths::LOCKS class="inline-flex items-center gap-1 rounded text-muted hover:text-ink">
                <Icon sign=Sign::ArrowLeft />
                {words::all_locks()}
            </Link>
        </p>
        <OnBoard>
            <Answered loading=asked show />
        </OnBoard>
    }
}

/// What is known of a lock.
#[derive(Clone, PartialEq)]
enum Known {
    /// It is on the board.
    Here(Lock),
    /// The nodes showed it when they were asked, but the board does not have it.
    Asked(Lock),
    /// It was there and is not observed any more.
    Left(Lock, Gone),
    /// It is not known.
    Nowhere(Fault),
}

impl Known {
    fn lock(&self) -> Option<&Lock> {
        match self {
            Self::Here(lock) | Self::Asked(lock) | Self::Left(lock, _) => Some(lock),
            Self::Nowhere(_) => None,
        }
    }

    fn ended(&self) -> Option<Gone> {
        match self {
            Self::Left(_, gone) => Some(*gone),
            Self::Here(_) | Self::Asked(_) | Self::Nowhere(_) => None,
        }
    }
}

#[component]
fn Sighted(
    id: LockId,
    answer: Result<Lock, Fault>,
    past: Loading<History>,
    done: Loading<AuditPage>,
    waits: Loading<Waits>,
    #[prop(into)] on_ask: Callback<()>,
) -> impl IntoView {
    let live = Live::expect();
    let known = {
        let id = id.clone();
        Memo::new(move |before: Option<&Known>| {
            if let Some(lock) = live.lock(&id) {
                return Known::Here(lock);
            }
            let last = before.and_then(Known::lock).or(answer.as_ref().ok());
            match (last, live.ending(&id), &answer) {
                (Some(lock), Some(gone), _) if gone.at >= lock.observed_at => {
                    Known::Left(lock.clone(), gone)
                }
                (Some(lock), _, _) => Known::Asked(lock.clone()),
                (None, _, Err(fault)) => Known::Nowhere(fault.clone()),
                (None, _, Ok(lock)) => Known::Asked(lock.clone()),
            }
        })
    };
    let exists = Memo::new(move |_| known.with(|known| known.lock().is_some()));
    // Asked for in any case: what was never worked out does not tell when it changes.
    let shown = move || match (
        exists.get(),
        known.with_untracked(|known| known.lock().cloned()),
    ) {
        (true, Some(first)) => {
            view! { <Shown id=id.clone() known first past done waits on_ask /> }.into_any()
        }
        (true | false, _) => {
            let fault = move || {
                known.with(|known| match known {
                    Known::Nowhere(fault) => Some(fault.clone()),
                    Known::Here(_) | Known::Asked(_) | Known::Left(..) => None,
                })
            };
            // Of a group that is not there and of a name that is not watched, the same would be said twice.
            let may_have_been = known.with_untracked(|known| match known {
                Known::Nowhere(fault) => !matches!(
                    fault,
                    Fault::UnknownGroup { .. } | Fault::OutsideKeys { .. }
                ),
                Known::Here(_) | Known::Asked(_) | Known::Left(..) => true,
            });
            view! {
                <Heading id=id.clone() lock=None ended=Signal::stored(None) />
                {move || fault().map(|fault| view! { <FaultNotice fault retry=on_ask /> })}
                {may_have_been
                    .then(|| view! { <div class="mt-4 flex flex-col gap-4"><LockHistory id=id.clone() asked=past /> <LockAudit id=id.clone() asked=done /></div> })}
            }
            .into_any()
        }
    };
    view! { {move || shown()} }
}

#[component]
fn Heading(id: LockId, lock: Option<Signal<Lock>>, ended: Signal<Option<Gone>>) -> impl IntoView {
    let group = id.group.clone();
    let live = Live::expect();
    let environment = move || live.group(&group).map(|group| group.environment);
    view! {
        <div class="mb-3 flex flex-col gap-1">
            <h1 class="text-xl font-semibold">
                <LockName key=id.key.clone() most=240 />
            </h1>
            <p class="flex flex-wrap items-center gap-2 text-muted">
                {id.group}
                {move || environment().map(|environment| view! { <EnvironmentBadge environment /> })}
                {lock.map(|lock| view! { <Marks lock ended /> })}
            </p>
        </div>
    }
}

#[component]
fn Shown(
    id: LockId,
    known: Memo<Known>,
    first: Lock,
    past: Loading<History>,
    done: Loading<AuditPage>,
    waits: Loading<Waits>,
    on_ask: Callback<()>,
) -> impl IntoView {
    let live = Live::expect();
    let lock = Memo::new(move |before: Option<&Lock>| {
        known
            .with(|known| known.lock().cloned())
            .unwrap_or_else(|| before.unwrap_or(&first).clone())
    });
    let ended = Memo::new(move |_| known.with(Known::ended));
    let is_followed = Memo::new(move |_| !known.with(|known| matches!(known, Known::Asked(_))));
    let group = {
        let name = id.group.clone();
        Memo::new(move |_| live.group(&name))
    };
    let production = Memo::new(move |_| {
        group.with(|group| group.as_ref().map(|group| group.environment))
            == Some(Environment::Production)
    });
    let releasing = RwSignal::new(false);
    let why_not = Signal::derive(move || {
        if ended.with(Option::is_some) {
            Some(words::nothing_to_release().to_owned())
        } else {
            let read_only = group.with(|group| group.as_ref().is_some_and(|group| group.read_only));
            let refused = lock.with(|lock| {
                let place = Place::lock(&lock.id).read_only(read_only);
                live.why_not(Verb::ForceRelease, place)
            });
            refused.or_else(|| lock.with(why_never).map(str::to_owned))
        }
    });
    view! {
        <div class="flex flex-wrap items-start justify-between gap-3">
            <Heading id=id.clone() lock=Some(lock.into()) ended=ended.into() />
            <Button variant=Variant::Danger why_not on_press=move |()| releasing.set(true)>
                {words::force_release()}
            </Button>
        </div>
        <div class="mb-4">
            <VerdictSentence lock ended is_followed on_ask />
        </div>
        <div class="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
            // In one column, what is known now stands before what was.
            <div class="flex min-w-0 flex-col gap-4 max-lg:contents">
                <div class=move || if ended.read().is_some() { "max-lg:-order-2 grayscale" } else { "max-lg:-order-2" }>
                    {move || {
                        ended
                            .read()
                            .is_some()
                            .then(|| view! { <p class="mb-1.5 text-muted">{words::nodes_before()}</p> })
                    }}
                    <NodeMatrix lock group />
                </div>
                <LockHistory id=id.clone() asked=past />
                <LockAudit id=id.clone() asked=done />
                <SampleBox lock group />
                <RawBox id=id.clone() />
                <ScriptBox lock production />
            </div>
            <div class="flex min-w-0 flex-col gap-4 max-lg:contents">
                <section class=format!("p-4 max-lg:-order-1 {CARD}") aria-label=words::facts()>
                    <LockFacts lock ended=Signal::derive(move || ended.get().map(|gone| gone.at)) />
                </section>
                <LockWaiters id=id.clone() asked=waits />
                <LibraryBox format=Signal::derive(move || lock.read().format) />
            </div>
        </div>
        <ReleaseDialog open=releasing lock group />
    }
}

/// The verdict and the flags that say more; nothing of a lock that is gone.
#[component]
fn Marks(lock: Signal<Lock>, ended: Signal<Option<Gone>>) -> impl IntoView {
    let shown = move || {
        if ended.read().is_some() {
            return ().into_any();
        }
        let lock = lock.read();
        view! { <VerdictBadge verdict=lock.verdict /> <FlagWords flags=telling_flags(&lock) evidence=lock.evidence.clone() /> }
            .into_any()
    };
    view! { {move || shown()} }
}
