//! Something that is loaded: a skeleton while it is on its way, the cause and another try when it fails. Never emptiness.

use std::marker::PhantomData;

use leptos::prelude::*;
use serde::de::DeserializeOwned;

use crate::domain::Fault;
use crate::ui::live::Live;
use crate::ui::wire::{Told, Wire};
use crate::ui::words::locks as words;

use super::fault_notice::FaultNotice;

/// Something on its way from the server. One type for everything: each further one costs kilobytes in the browser.
#[derive(Debug)]
pub struct Loading<T>(Resource<Result<Told, Fault>, Wire>, PhantomData<fn() -> T>);

impl<T> Clone for Loading<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Loading<T> {}

impl<T: DeserializeOwned + 'static> Loading<T> {
    /// Starts to load; the server's answer comes along with the page that it painted.
    pub fn new<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Told, Fault>> + Send + 'static,
    {
        Self(
            Resource::new_with_options(|| (), move |()| ask(), false),
            PhantomData,
        )
    }

    /// Asks again.
    pub fn again(self) {
        self.0.refetch();
    }

    /// What was answered.
    pub async fn answer(self) -> Result<T, Fault> {
        self.0.await.and_then(|told| told.read())
    }
}

/// Shows what was loaded, or what went wrong and the way to try again.
#[component]
pub fn Loaded<T: DeserializeOwned + 'static>(
    /// What is loaded.
    loading: Loading<T>,
    /// How it is shown.
    #[prop(into)]
    show: Callback<T, AnyView>,
) -> impl IntoView {
    let retry = Callback::new(move |()| loading.again());
    let show = move |answer: Result<T, Fault>| match answer {
        Ok(loaded) => show.run(loaded),
        Err(fault) => view! { <FaultNotice fault retry /> }.into_any(),
    };
    view! { <Answered loading show /> }
}

/// Shows what was loaded; what went wrong is a fact among others.
#[component]
pub fn Answered<T: DeserializeOwned + 'static>(
    /// What is loaded.
    loading: Loading<T>,
    /// How the answer or the fault is shown.
    #[prop(into)]
    show: Callback<Result<T, Fault>, AnyView>,
) -> impl IntoView {
    let read = move |told: Result<Told, Fault>| show.run(told.and_then(|told| told.read()));
    view! { <Waiting resource=loading.0 show=Callback::new(read) /> }
}

/// Waits for the first board, and shows what stands on it.
#[component]
pub fn OnBoard(
    /// What stands on it.
    children: ChildrenFn,
) -> impl IntoView {
    let live = Live::expect();
    let show = move |painted| {
        live.begin(painted);
        children()
    };
    view! { <Loaded loading=live.first show=Callback::new(show) /> }
}

#[component]
fn Waiting(
    resource: Resource<Result<Told, Fault>, Wire>,
    show: Callback<Result<Told, Fault>, AnyView>,
) -> impl IntoView {
    view! {
        <Transition fallback=Skeleton>
            {move || Suspend::new(async move { show.run(resource.await) })}
        </Transition>
    }
}

/// The shape of what is on its way.
#[component]
fn Skeleton() -> impl IntoView {
    view! {
        <div class="flex flex-col gap-3" role="status">
            <span class="sr-only">{words::loading()}</span>
            <div class="waiting h-16 rounded-lg bg-sunken"></div>
            <div class="waiting h-10 rounded-lg bg-sunken"></div>
            <div class="waiting h-10 rounded-lg bg-sunken"></div>
        </div>
    }
}
