//! Something that is loaded: a skeleton while it is on its way, the cause and another try when it fails. Never emptiness.

use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::Fault;
use crate::ui::live::{Live, Loading};
use crate::ui::words::locks as words;

use super::fault_notice::FaultNotice;

/// Shows what was loaded, or what went wrong and the way to try again.
#[component]
pub fn Loaded<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static>(
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
    view! { <Answered loading show=Callback::new(show) /> }
}

/// Shows what was loaded; what went wrong is a fact among others.
#[component]
pub fn Answered<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static>(
    /// What is loaded.
    loading: Loading<T>,
    /// How the answer or the fault is shown.
    #[prop(into)]
    show: Callback<Result<T, Fault>, AnyView>,
) -> impl IntoView {
    view! {
        <Transition fallback=Skeleton>
            {move || Suspend::new(async move { show.run(loading.answer().await) })}
        </Transition>
    }
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
