//! Something that is loaded: a skeleton while it is on its way, the cause and another try when it fails. Never emptiness.

use leptos::either::Either;
use leptos::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::Fault;
use crate::ui::codec::Loading;

use super::fault_notice::FaultNotice;

/// Shows what a resource brings.
#[component]
pub fn Loaded<T, V, F>(
    /// What is loaded.
    resource: Loading<Result<T, Fault>>,
    /// How it is shown.
    children: F,
) -> impl IntoView
where
    T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
    V: IntoView + 'static,
    F: Fn(T) -> V + Clone + Send + Sync + 'static,
{
    view! {
        <Transition fallback=Skeleton>
            {move || {
                let children = children.clone();
                Suspend::new(async move {
                    match resource.await {
                        Ok(loaded) => Either::Left(children(loaded)),
                        Err(fault) => {
                            Either::Right(view! { <FaultNotice fault retry=Callback::new(move |()| resource.refetch()) /> })
                        }
                    }
                })
            }}
        </Transition>
    }
}

/// The shape of what is on its way.
#[component]
fn Skeleton() -> impl IntoView {
    view! {
        <div class="flex flex-col gap-3" role="status">
            <span class="sr-only">"Loading"</span>
            {["h-16", "h-10", "h-10", "h-10"]
                .map(|height| view! { <div class=format!("waiting rounded-lg bg-sunken {height}")></div> })
                .collect_view()}
        </div>
    }
}
