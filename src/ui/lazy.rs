//! Code splitting: chunks that the browser loads when they are first needed, which keeps the first
//! page small.
//!
//! `#[lazy]` and `#[lazy_route]` of Leptos 0.8 panic when a chunk cannot be loaded, which stops the
//! whole page. The underlying `wasm_split` can return an error instead, so that the page keeps
//! working and offers a retry.

use std::future::{Future, pending};
use std::time::Duration;

use leptos::leptos_dom::helpers::{request_animation_frame, set_timeout_with_handle};
use leptos::prelude::*;
use leptos::wasm_split::SplitLoaderError;
use leptos_meta::Title;
use wasm_bindgen::JsCast;

use super::i18n::shell;
use super::kit::{Banner, Button, Tone};

/// A split point: in release builds the code of the function goes into the named chunk, and a call
/// loads the chunk first. Development builds are not split, because splitting slows down the build.
/// `preload` names a function that only loads the chunk.
///
/// ```text
/// lazy! { dialogs: fn keys(handle: DialogHandle) -> view! { <Keys handle /> } }
/// ```
macro_rules! lazy {
    ($chunk:ident $(preload $preload:ident)?: fn $name:ident($($arg:ident: $kind:ty),*) -> $view:expr) => {
        #[cfg(not(debug_assertions))]
        #[::leptos::wasm_split::wasm_split(
            $chunk, wasm_split_path = ::leptos::wasm_split, $(preload($preload),)? fallible
        )]
        fn $name($($arg: $kind),*) -> Result<AnyView, $crate::ui::lazy::LoadError> {
            Ok($view.into_any())
        }
        #[cfg(debug_assertions)]
        async fn $name($($arg: $kind),*) -> Result<AnyView, $crate::ui::lazy::LoadError> {
            Ok($view.into_any())
        }
        $(
            #[cfg(debug_assertions)]
            async fn $preload() -> Result<(), $crate::ui::lazy::LoadError> {
                Ok(())
            }
        )?
    };
}
pub(crate) use lazy;

/// The chunk loader, as named by cargo-leptos.
pub const LOADER_FILE: &str = "__wasm_split.______________________.js";

/// A loading note is shown after this time.
const SLOW_AFTER: Duration = Duration::from_secs(1);

/// A chunk could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadError;

impl From<SplitLoaderError> for LoadError {
    fn from(_: SplitLoaderError) -> Self {
        Self
    }
}

/// Renders the view of a lazy function, with a note while loading is slow and a retry button if it
/// fails.
///
/// This is a function, because the types of component props cannot be inferred from each other.
pub fn lazy_view<F>(load: impl Fn() -> F + Send + 'static) -> impl IntoView
where
    F: Future<Output = Result<AnyView, LoadError>> + Send + 'static,
{
    let (tries, is_slow) = (RwSignal::new(0_u32), RwSignal::new(false));
    let loaded = move || {
        tries.track();
        let loading = track_slow_loading(load(), is_slow);
        Suspend::new(async move {
            match loading.await {
                Ok(view) => {
                    request_animation_frame(focus_autofocus_element);
                    view
                }
                // The two arms have different view types.
                Err(LoadError) => view! {
                    <div class="p-5">
                        <ChunkLoadError>
                            <Button autofocus=true on_press=move |()| tries.update(|tries| *tries += 1)>
                                {shell::try_again()}
                            </Button>
                        </ChunkLoadError>
                    </div>
                }
                .into_any(),
            }
        })
    };
    let slow = move || {
        is_slow
            .get()
            .then(|| view! { <p role="status" class="p-5 text-muted">{shell::loading_chunk()}</p> })
    };
    view! {
        {slow}
        {loaded}
    }
}

/// Whether the next page is slow to load. The type is a cheap handle.
#[derive(Clone, Copy)]
pub struct SlowPage(RwSignal<bool>);

impl SlowPage {
    /// Provides the state as context.
    pub fn provide() {
        provide_context(Self(RwSignal::new(false)));
    }
}

/// Shows a note while the next page is slow to load.
#[component]
pub fn SlowPageNote() -> impl IntoView {
    let SlowPage(is_slow) = expect_context();
    let note = move || {
        is_slow
            .get()
            .then(|| view! { <p class="mb-4 text-muted">{shell::loading_chunk()}</p> })
    };
    view! { <div aria-live="polite">{note}</div> }
}

/// The page that a lazy function renders, or a notice that it could not be loaded. If loading fails
/// during hydration, the page stays as the server rendered it.
pub async fn lazy_page(
    chunk: &'static str,
    load: impl Future<Output = Result<AnyView, LoadError>>,
) -> AnyView {
    // Adds a preload link to the head of the page.
    leptos::prefetch_lazy_fn_on_server(chunk);
    let is_hydrating =
        Owner::current_shared_context().is_some_and(|shared| shared.during_hydration());
    let SlowPage(is_slow) = expect_context();
    match track_slow_loading(load, is_slow).await {
        Ok(view) => view,
        Err(LoadError) if is_hydrating => {
            super::show_fatal_error();
            pending().await
        }
        Err(LoadError) => view! {
            <Title text=format!("{} · Lockkeeper", shell::chunk_load_failed()) />
            <ChunkLoadError />
        }
        .into_any(),
    }
}

/// Awaits loading and sets `is_slow` if it takes long. The server loads nothing.
async fn track_slow_loading<T>(loading: impl Future<Output = T>, is_slow: RwSignal<bool>) -> T {
    if !cfg!(target_arch = "wasm32") {
        return loading.await;
    }
    // A chunk that is loaded already resolves before the timer fires. The signal is disposed if the
    // user has left the page.
    let mark_slow = move || {
        let _gone = is_slow.try_set(true);
    };
    let timer = set_timeout_with_handle(mark_slow, SLOW_AFTER).ok();
    let loaded = loading.await;
    if let Some(timer) = timer {
        timer.clear();
    }
    is_slow.try_set(false);
    loaded
}

/// Focuses the autofocus element of an open dialog. The browser does this only for elements that
/// exist when it opens.
fn focus_autofocus_element() {
    let wanted = document().query_selector("dialog[open] [autofocus]");
    let wanted = wanted.ok().flatten();
    if let Some(wanted) = wanted.and_then(|wanted| wanted.dyn_into::<web_sys::HtmlElement>().ok()) {
        // Fails only if the element has been removed.
        let _gone = wanted.focus();
    }
}

/// Reports that a chunk could not be loaded.
#[component]
fn ChunkLoadError(
    /// Actions besides reloading the page.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p class="font-semibold">{shell::chunk_load_failed()}</p>
            <p>{shell::chunk_load_failed_advice()}</p>
            <p class="mt-2 flex flex-wrap items-center gap-3">
                {children.map(|children| children())}
                // An empty URL is the current page.
                <a href="" rel="external" class="font-medium underline underline-offset-2">
                    {shell::reload()}
                </a>
            </p>
        </Banner>
    }
}
