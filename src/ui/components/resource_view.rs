//! Views of a value that is loaded from the server: a skeleton while it loads, and the error with a
//! retry button if it fails. A failed load is never shown as an empty list.

use leptos::prelude::*;
use leptos::tachys::reactive_graph::OwnedView;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::OperationError;
use crate::ui::i18n::locks as t;
use crate::ui::live::{Live, ServerResource};

use super::error_notice::ErrorNotice;

/// Shows the loaded value, or the error with a button that retries.
#[component]
pub fn ResourceView<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static>(
    /// The value being loaded.
    loading: ServerResource<T>,
    /// Renders the value.
    #[prop(into)]
    show: Callback<T, AnyView>,
) -> impl IntoView {
    let retry = Callback::new(move |()| loading.refetch());
    let show = move |result: Result<T, OperationError>| match result {
        Ok(loaded) => show.run(loaded),
        Err(error) => view! { <ErrorNotice error retry /> }.into_any(),
    };
    view! { <ResourceResultView loading show=Callback::new(show) /> }
}

/// Renders the result of the load, including the error.
#[component]
pub fn ResourceResultView<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static>(
    /// The value being loaded.
    loading: ServerResource<T>,
    /// Renders the result.
    #[prop(into)]
    show: Callback<Result<T, OperationError>, AnyView>,
) -> impl IntoView {
    let owner = ContentOwner::new();
    let content = move || {
        let owner = owner.clone();
        Suspend::new(async move {
            let result = loading.result().await;
            owner.render(|| show.run(result))
        })
    };
    view! { <Transition fallback=Skeleton>{move || content()}</Transition> }
}

/// The owner of the signals and effects of content that a `Suspend` renders.
///
/// When the closure around a `Suspend` runs again, Leptos disposes the signals that it owns, but
/// replaces the content only after the future has resolved. An effect of the old content that runs
/// in between would read a disposed signal, which stops the page. With this owner the signals live
/// until the new content has replaced the old.
#[derive(Clone)]
struct ContentOwner(Owner);

impl ContentOwner {
    /// The owner of the component that calls it.
    fn new() -> Self {
        Self(Owner::current().expect("a component has an owner"))
    }

    /// Renders the content under an owner of its own.
    fn render(&self, content: impl FnOnce() -> AnyView) -> OwnedView<AnyView> {
        let owner = self.0.child();
        let view = owner.with(content);
        OwnedView::new_with_owner(view, owner)
    }
}

/// Waits for the first snapshot of the lock index, then renders its children.
#[component]
pub fn AwaitSnapshot(
    /// The content that needs the snapshot.
    children: ChildrenFn,
) -> impl IntoView {
    let live = Live::expect();
    let show = move |snapshot| {
        live.hydrate(snapshot);
        children()
    };
    view! { <ResourceView loading=live.initial show=Callback::new(show) /> }
}

/// A placeholder while a value loads.
#[component]
fn Skeleton() -> impl IntoView {
    view! {
        <div class="flex flex-col gap-3" role="status">
            <span class="sr-only">{t::loading()}</span>
            <div class="waiting h-16 rounded-lg bg-sunken"></div>
            <div class="waiting h-10 rounded-lg bg-sunken"></div>
            <div class="waiting h-10 rounded-lg bg-sunken"></div>
        </div>
    }
}
