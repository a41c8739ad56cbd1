//! `/groups/{group}/locks/{key}`: one lock.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::not_found::NotFoundPage;
use crate::domain::{
    AuditPage, Environment, Flag, History, Lock, LockId, OperationError, Permission, Scope,
    WaitForGraph,
};
use crate::ui::components::advice::{AdvicePanel, AdviceSource};
use crate::ui::components::contention_card::ContentionCard;
use crate::ui::components::copy_link::CopyLink;
use crate::ui::components::copy_name::CopyName;
use crate::ui::components::error_notice::ErrorNotice;
use crate::ui::components::group_strips::EnvironmentBadge;
use crate::ui::components::help_link::ExplainedBadge;
use crate::ui::components::incident_button::{IncidentButton, IncidentCopy};
use crate::ui::components::library_card::LibraryCard;
use crate::ui::components::lock_audit::{self, LockAudit};
use crate::ui::components::lock_facts::LockFacts;
use crate::ui::components::lock_history::{self, LockHistory};
use crate::ui::components::lock_name::LockName;
use crate::ui::components::lock_nodes::LockNodes;
use crate::ui::components::not_held_notice::NotHeldNotice;
use crate::ui::components::pinned_lock::{InvalidPin, PinnedLock};
use crate::ui::components::raw_key_card::RawKeyCard;
use crate::ui::components::release::{ReleaseDialog, never_releasable_reason};
use crate::ui::components::resource_view::{AwaitSnapshot, ResourceResultView};
use crate::ui::components::script_card::ScriptCard;
use crate::ui::components::verdict_badge::{FlagBadges, VerdictBadge, extra_flags};
use crate::ui::components::verdict_sentence::VerdictSentence;
use crate::ui::i18n::lock as t;
use crate::ui::kit::card::CARD;
use crate::ui::kit::{Button, Icon, IconName, Link, Variant};
use crate::ui::live::ServerResource;
use crate::ui::live::{Live, LockEnding};
use crate::ui::paths::PinnedTime;
use crate::ui::shortcuts::{LockCommand, Shortcuts};
use crate::ui::{calls, format, paths};

/// The page of the lock in the path.
#[component]
pub fn LockPage() -> impl IntoView {
    let location = use_location();
    let id = move || paths::parse_lock(&location.pathname.read(), &location.search.read());
    let pinned = move || paths::pinned_time(&location.search.read());
    let content = move || match (id(), pinned()) {
        (Some(id), None) => view! { <OneLock id /> }.into_any(),
        (Some(id), Some(PinnedTime::At(at))) => view! { <PinnedLock id at /> }.into_any(),
        (Some(id), Some(PinnedTime::Invalid)) => view! { <InvalidPin id /> }.into_any(),
        (None, _) => view! { <NotFoundPage /> }.into_any(),
    };
    view! { {move || content()} }
}

#[component]
fn OneLock(id: LockId) -> impl IntoView {
    Live::expect().pin(&id);
    let resource = ServerResource::new({
        let id = id.clone();
        move || calls::lock(id.clone())
    });
    let data = LockPageData {
        history: lock_history::load(&id),
        entries: lock_audit::load(&id),
        waits: ServerResource::new(calls::waits),
        advice: AdviceSource::load(&id),
    };
    // An error is shown as the state of the lock, with its history below, so it is not handled by
    // the resource view.
    let show = Callback::new({
        let id = id.clone();
        move |answer| {
            view! { <LockView id=id.clone() answer data on_refresh=move |()| resource.refetch() /> }
                .into_any()
        }
    });
    let title = format!(
        "{} · Lockkeeper",
        format::shorten(&format::escape_invisible(&id.key.text()), 60)
    );
    view! {
        <Title text=title />
        <p class="mb-3">
            <Link href=paths::LOCKS class="inline-flex items-center gap-1 rounded text-muted hover:text-ink">
                <Icon name=IconName::ArrowLeft />
                {t::all_locks()}
            </Link>
        </p>
        <AwaitSnapshot>
            <ResourceResultView loading=resource show />
        </AwaitSnapshot>
    }
}

/// What the page loads beside the lock. A copyable handle.
#[derive(Clone, Copy)]
struct LockPageData {
    history: ServerResource<History>,
    entries: ServerResource<AuditPage>,
    waits: ServerResource<WaitForGraph>,
    advice: AdviceSource,
}

/// The state of the page.
#[derive(Clone, PartialEq)]
enum LockPageState {
    /// The lock is in the index and is updated live.
    Live(Lock),
    /// The nodes reported the lock when the page was opened, but it is not in the index.
    Queried(Lock),
    /// The lock was observed before and has ended.
    Ended(Lock, LockEnding),
    /// The lock could not be read.
    Failed(OperationError),
}

impl LockPageState {
    fn lock(&self) -> Option<&Lock> {
        match self {
            Self::Live(lock) | Self::Queried(lock) | Self::Ended(lock, _) => Some(lock),
            Self::Failed(_) => None,
        }
    }

    fn ending(&self) -> Option<LockEnding> {
        match self {
            Self::Ended(_, gone) => Some(*gone),
            Self::Live(_) | Self::Queried(_) | Self::Failed(_) => None,
        }
    }
}

#[component]
fn LockView(
    id: LockId,
    answer: Result<Lock, OperationError>,
    data: LockPageData,
    #[prop(into)] on_refresh: Callback<()>,
) -> impl IntoView {
    let live = Live::expect();
    let state = {
        let id = id.clone();
        Memo::new(move |before: Option<&LockPageState>| {
            if let Some(lock) = live.lock(&id) {
                return LockPageState::Live(lock);
            }
            let last = before
                .and_then(LockPageState::lock)
                .or(answer.as_ref().ok());
            match (last, live.ending(&id), &answer) {
                (Some(lock), Some(gone), _) if gone.at >= lock.observed_at => {
                    LockPageState::Ended(lock.clone(), gone)
                }
                (Some(lock), _, _) => LockPageState::Queried(lock.clone()),
                (None, _, Err(fault)) => LockPageState::Failed(fault.clone()),
                (None, _, Ok(lock)) => LockPageState::Queried(lock.clone()),
            }
        })
    };
    let exists = Memo::new(move |_| state.with(|state| state.lock().is_some()));
    // `exists` must be read in any case: a memo that was never read does not notify its
    // subscribers.
    let content = move || match (
        exists.get(),
        state.with_untracked(|state| state.lock().cloned()),
    ) {
        (true, Some(first)) => {
            view! { <LockDetails id=id.clone() state first data on_refresh /> }.into_any()
        }
        (true | false, _) => {
            let fault = move || {
                state.with(|state| match state {
                    LockPageState::Failed(fault) => Some(fault.clone()),
                    LockPageState::Live(_)
                    | LockPageState::Queried(_)
                    | LockPageState::Ended(..) => None,
                })
            };
            // For an unknown group or an excluded name the history would only repeat the error.
            let may_have_been = state.with_untracked(|state| match state {
                LockPageState::Failed(fault) => !matches!(
                    fault,
                    OperationError::UnknownGroup { .. } | OperationError::OutsideKeys { .. }
                ),
                LockPageState::Live(_) | LockPageState::Queried(_) | LockPageState::Ended(..) => {
                    true
                }
            });
            view! {
                <Heading id=id.clone() lock=None ended=Signal::stored(None) />
                {move || {
                    fault()
                        .map(|fault| match fault {
                            OperationError::NotObserved { .. } => {
                                view! { <NotHeldNotice history=data.history entries=data.entries on_refresh /> }.into_any()
                            }
                            fault => view! { <ErrorNotice error=fault retry=on_refresh /> }.into_any(),
                        })
                }}
                {may_have_been
                    .then(|| view! { <div class="mt-4 flex flex-col gap-4"><LockHistory id=id.clone() history=data.history /> <LockAudit id=id.clone() entries=data.entries /></div> })}
            }
            .into_any()
        }
    };
    view! { {move || content()} }
}

#[component]
fn Heading(
    id: LockId,
    lock: Option<Signal<Lock>>,
    ended: Signal<Option<LockEnding>>,
) -> impl IntoView {
    let group = id.group.clone();
    let live = Live::expect();
    let environment = move || live.group(&group).map(|group| group.environment);
    view! {
        <div class="mb-3 flex flex-col gap-1">
            <div class="flex items-center gap-2">
                <h1 class="text-xl font-semibold">
                    <LockName key=id.key.clone() max_chars=240 />
                </h1>
                <CopyName key=id.key.clone() is_visible=true />
            </div>
            <p class="flex flex-wrap items-center gap-2 text-muted">
                {id.group}
                {move || environment().map(|environment| view! { <EnvironmentBadge environment /> })}
                {lock.map(|lock| view! { <HeadingBadges lock ended /> })}
            </p>
        </div>
    }
}

#[component]
fn LockDetails(
    id: LockId,
    state: Memo<LockPageState>,
    first: Lock,
    data: LockPageData,
    on_refresh: Callback<()>,
) -> impl IntoView {
    let live = Live::expect();
    let lock = Memo::new(move |before: Option<&Lock>| {
        state
            .with(|state| state.lock().cloned())
            .unwrap_or_else(|| before.unwrap_or(&first).clone())
    });
    let ended = Memo::new(move |_| state.with(LockPageState::ending));
    let is_live =
        Memo::new(move |_| !state.with(|state| matches!(state, LockPageState::Queried(_))));
    let group = {
        let name = id.group.clone();
        Memo::new(move |_| live.group(&name))
    };
    let production = Memo::new(move |_| {
        group.with(|group| group.as_ref().map(|group| group.environment))
            == Some(Environment::Production)
    });
    let releasing = RwSignal::new(false);
    let disabled_reason = Signal::derive(move || {
        if ended.with(Option::is_some) {
            Some(t::nothing_to_release().to_owned())
        } else {
            let read_only = group.with(|group| group.as_ref().is_some_and(|group| group.read_only));
            let refused = lock.with(|lock| {
                let place = Scope::lock(&lock.id).with_read_only(read_only);
                live.denial_reason(Permission::ForceRelease, place)
            });
            refused.or_else(|| lock.with(never_releasable_reason).map(str::to_owned))
        }
    });
    let is_present = Memo::new(move |_| ended.read().is_none());
    // Who wants a contended lock comes before its history. Decided once: cards do not change places
    // while an operator reads them.
    let is_contended = lock.with_untracked(|lock| lock.has_flag(Flag::Contended));
    let wanted_order = is_contended.then_some("-order-1");
    let incident = IncidentCopy::new(lock.into(), ended.into(), data.advice);
    Shortcuts::expect().provide_lock_commands(move |command| match command {
        LockCommand::CopyIncident => incident.run(live),
        LockCommand::Release if disabled_reason.with_untracked(Option::is_none) => {
            releasing.set(true);
        }
        LockCommand::Release => {}
    });
    view! {
        <div class="flex flex-wrap items-start justify-between gap-3 max-sm:mb-3">
            <Heading id=id.clone() lock=Some(lock.into()) ended=ended.into() />
            <div class="flex flex-wrap items-center gap-2">
                <CopyLink path=Signal::stored(paths::lock(&id)) />
                <IncidentButton incident />
                <Button variant=Variant::Danger disabled_reason on_press=move |()| releasing.set(true)>
                    {t::force_release()}
                </Button>
            </div>
        </div>
        <div class="mb-4">
            <VerdictSentence lock ended is_live on_refresh />
        </div>
        {move || is_present.get().then(|| view! { <div class="mb-4"><AdvicePanel lock source=data.advice /></div> })}
        <div class="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
            // In a single column, the current state comes before the history.
            <div class="flex min-w-0 flex-col gap-4 max-lg:contents">
                <LockHistory id=id.clone() history=data.history />
                <div class=move || if ended.read().is_some() { "max-lg:-order-1 grayscale" } else { "max-lg:-order-1" }>
                    {move || {
                        ended
                            .read()
                            .is_some()
                            .then(|| view! { <p class="mb-1.5 text-muted">{t::nodes_before()}</p> })
                    }}
                    <LockNodes lock group />
                </div>
                <LockAudit id=id.clone() entries=data.entries />
                <RawKeyCard id=id.clone() group />
                <ScriptCard lock production />
            </div>
            <div class="flex min-w-0 flex-col gap-4 max-lg:contents">
                <section class=format!("p-4 max-lg:-order-2 {CARD}") aria-label=t::details()>
                    <LockFacts lock ended=Signal::derive(move || ended.get().map(|gone| gone.at)) />
                </section>
                <div class=wanted_order>
                    <ContentionCard id=id.clone() lock group waits=data.waits />
                </div>
                <LibraryCard format=Signal::derive(move || lock.read().format) />
            </div>
        </div>
        <ReleaseDialog open=releasing lock group advice=data.advice />
    }
}

/// The verdict and additional flags; empty for a lock that has ended.
#[component]
fn HeadingBadges(lock: Signal<Lock>, ended: Signal<Option<LockEnding>>) -> impl IntoView {
    let content = move || {
        if ended.read().is_some() {
            return ().into_any();
        }
        let lock = lock.read();
        let flag = |flag: Flag| {
            let (anchor, evidence) = (format!("flag-{}", flag.slug()), lock.evidence.clone());
            view! {
                <ExplainedBadge anchor>
                    <FlagBadges flags=vec![flag] evidence />
                </ExplainedBadge>
            }
        };
        let verdict = lock.verdict;
        view! {
            <ExplainedBadge anchor=format!("verdict-{}", verdict.slug())>
                <VerdictBadge verdict />
            </ExplainedBadge>
            {extra_flags(&lock).into_iter().map(flag).collect_view()}
        }
        .into_any()
    };
    view! { {move || content()} }
}
