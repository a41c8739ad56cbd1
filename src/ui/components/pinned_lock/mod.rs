//! The page of a lock as it was at a time, from the recorded history. It shows nothing live.

mod around;
mod moment;

use leptos::prelude::*;
use leptos_meta::Title;

use self::around::AroundChart;
use self::moment::{MomentConditions, MomentState};
use super::activity::MadeUpNote;
use super::copy_link::CopyLink;
use super::lock_name::LockName;
use super::resource_view::{AwaitSnapshot, ResourceView};
use crate::domain::activity::time_range::TimeRange;
use crate::domain::recorded_lock::AROUND_MS;
use crate::domain::{HistorySource, LockId, RecordedLock, RecordedState, Timestamp};
use crate::ui::activity_view::ActivityView;
use crate::ui::i18n::pinned as t;
use crate::ui::kit::{Banner, Card, Link, Tone};
use crate::ui::live::ServerResource;
use crate::ui::{calls, format, paths};

/// The page.
#[component]
pub fn PinnedLock(
    /// The lock.
    id: LockId,
    /// The time.
    at: Timestamp,
) -> impl IntoView {
    let loading = ServerResource::new({
        let id = id.clone();
        move || calls::recorded_lock(id.clone(), at)
    });
    let show = Callback::new(|record: RecordedLock| view! { <Record record /> }.into_any());
    let name = format::shorten(&format::escape_invisible(&id.key.text()), 60);
    let title = format!("{name} · {} · Lockkeeper", format::utc_date_time(at));
    let path = paths::pinned_lock(&id, at);
    view! {
        <Title text=title />
        <PinnedHeading id=id.clone() />
        <Banner tone=Tone::Unsure announced=false>
            <p class="font-semibold">{move || t::as_recorded(&format::date_time(at))}</p>
            <p class="mt-1 flex flex-wrap items-center gap-3">
                <LiveLink id />
                <CopyLink path=Signal::stored(path) />
            </p>
        </Banner>
        <div class="mt-4">
            <AwaitSnapshot>
                <ResourceView loading show />
            </AwaitSnapshot>
        </div>
    }
}

/// The page for a link with an invalid time.
#[component]
pub fn InvalidPin(
    /// The lock.
    id: LockId,
) -> impl IntoView {
    view! {
        <PinnedHeading id=id.clone() />
        <Banner tone=Tone::Warn>
            <p class="font-semibold">{t::invalid()}</p>
            <p>{t::invalid_advice()}</p>
            <p class="mt-1">
                <LiveLink id />
            </p>
        </Banner>
    }
}

#[component]
fn PinnedHeading(id: LockId) -> impl IntoView {
    view! {
        <div class="mb-3 flex flex-col gap-1">
            <h1 class="text-xl font-semibold">
                <LockName key=id.key max_chars=240 />
            </h1>
            <p class="text-muted">
                <bdi>{format::escape_invisible(&id.group)}</bdi>
            </p>
        </div>
    }
}

#[component]
fn LiveLink(id: LockId) -> impl IntoView {
    view! {
        <Link href=paths::lock(&id) class="font-medium underline underline-offset-2">
            {t::show_live()}
        </Link>
    }
}

/// The recorded state, the hour around it, and what is not recorded.
#[component]
fn Record(record: RecordedLock) -> impl IntoView {
    let is_known = matches!(
        record.state,
        RecordedState::Held { .. } | RecordedState::NoOwner
    );
    let is_memory = record.around.source == HistorySource::Memory;
    let activity_href = ActivityView {
        group: Some(record.id.group.clone()),
        ..ActivityView::default()
    }
    .with_range(TimeRange::around(record.at, AROUND_MS))
    .path();
    let (at, state) = (record.at, record.state.clone());
    let conditions = is_known.then(|| {
        let (flags, outages) = (record.flags.clone(), record.outages.clone());
        view! { <MomentConditions flags outages /> }
    });
    let made_up_until = record.around.made_up_until.filter(|until| at < *until);
    view! {
        <div class="flex flex-col gap-4">
            {made_up_until.map(|until| view! { <MadeUpNote until /> })}
            <Card id="pinned-state" title=t::state()>
                <MomentState state at />
                {conditions}
            </Card>
            <AroundChart record />
            <Card id="pinned-limits" title=t::limits()>
                <p>{t::limits_text()}</p>
                {is_memory.then(|| view! { <p class="mt-1 text-warn">{t::memory_text()}</p> })}
                <p class="mt-2">
                    <Link href=activity_href class="underline underline-offset-2">
                        {t::from_activity()}
                    </Link>
                </p>
            </Card>
        </div>
    }
}
