//! Code splitting: what the browser loads when it is first needed, so that the first page is light.
//!
//! `#[lazy]` and `#[lazy_route]` of Leptos 0.8 end the whole page when a chunk cannot be loaded. `wasm_split`, which they are made of, can
//! report it instead, so that the page goes on and offers another try.

use std::future::{Future, pending};
use std::time::Duration;

use leptos::leptos_dom::helpers::{request_animation_frame, set_timeout_with_handle};
use leptos::prelude::*;
use leptos::wasm_split::SplitLoaderError;
use leptos_meta::Title;
use wasm_bindgen::JsCast;

use super::kit::{Banner, Button, Tone};
use super::words::frame;

/// A split point: in a release build the function's code goes into the chunk with this name, and calling it loads the chunk first.
/// Development builds are not split: they would take longer to make. `preload` names a function that loads the chunk and draws nothing.
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

/// The file that loads the chunks, as cargo-leptos names it.
pub const LOADER: &str = "__wasm_split.______________________.js";

/// Loading that takes longer than this is shown.
const SLOW: Duration = Duration::from_secs(1);

/// A chunk could not be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadError;

impl From<SplitLoaderError> for LoadError {
    fn from(_: SplitLoaderError) -> Self {
        Self
    }
}

/// Shows a lazy function's view: a note while loading takes long, another try where it fails.
///
/// A function and no component, for a component's properties cannot be of a type that follows from another one.
pub fn lazy_view<F>(load: impl Fn() -> F + Send + 'static) -> impl IntoView
where
    F: Future<Output = Result<AnyView, LoadError>> + Send + 'static,
{
    let (tries, is_slow) = (RwSignal::new(0_u32), RwSignal::new(false));
    let loaded = move || {
        tries.track();
        let loading = noting_slowness(load(), is_slow);
        Suspend::new(async move {
            match loading.await {
                Ok(view) => {
                    request_animation_frame(focus);
                    view
                }
                // Different views, and one of them is any view at all.
                Err(LoadError) => view! {
                    <div class="p-5">
                        <NotLoaded>
                            <Button autofocus=true on_press=move |()| tries.update(|tries| *tries += 1)>
                                {frame::try_again()}
                            </Button>
                        </NotLoaded>
                    </div>
                }
                .into_any(),
            }
        })
    };
    let slow = move || {
        is_slow
            .get()
            .then(|| view! { <p role="status" class="p-5 text-muted">{frame::fetching()}</p> })
    };
    view! {
        {slow}
        {loaded}
    }
}

/// Whether the page that somebody wants to go to takes long to load. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct SlowPage(RwSignal<bool>);

impl SlowPage {
    /// Provides it to the pages.
    pub fn provide() {
        provide_context(Self(RwSignal::new(false)));
    }
}

/// Says that the next page takes long to load, while it does.
#[component]
pub fn SlowPageNote() -> impl IntoView {
    let SlowPage(is_slow) = expect_context();
    let note = move || {
        is_slow
            .get()
            .then(|| view! { <p class="mb-4 text-muted">{frame::fetching()}</p> })
    };
    view! { <div aria-live="polite">{note}</div> }
}

/// The page that a lazy function draws, or the news that it could not be loaded. A page that cannot be loaded while it is hydrated stays
/// as the server rendered it.
pub async fn lazy_page(
    chunk: &'static str,
    load: impl Future<Output = Result<AnyView, LoadError>>,
) -> AnyView {
    // So that the page's own head has the browser load it early.
    leptos::prefetch_lazy_fn_on_server(chunk);
    let is_hydrating =
        Owner::current_shared_context().is_some_and(|shared| shared.during_hydration());
    let SlowPage(is_slow) = expect_context();
    match noting_slowness(load, is_slow).await {
        Ok(view) => view,
        Err(LoadError) if is_hydrating => {
            super::say_that_it_is_broken();
            pending().await
        }
        Err(LoadError) => view! {
            <Title text=format!("{} · Lockkeeper", frame::not_fetched()) />
            <NotLoaded />
        }
        .into_any(),
    }
}

/// Waits for what is loaded, and notes when that takes long. The server has nothing to load.
async fn noting_slowness<T>(loading: impl Future<Output = T>, is_slow: RwSignal<bool>) -> T {
    if !cfg!(target_arch = "wasm32") {
        return loading.await;
    }
    // What is loaded already is there when the timer is still far away; whoever left meanwhile took the signal along.
    let tell = move || {
        let _gone = is_slow.try_set(true);
    };
    let timer = set_timeout_with_handle(tell, SLOW).ok();
    let loaded = loading.await;
    if let Some(timer) = timer {
        timer.clear();
    }
    is_slow.try_set(false);
    loaded
}

/// Gives the focus to what would have had it if it had been there when its dialog opened.
fn focus() {
    let wanted = document().query_selector("dialog[open] [autofocus]");
    let wanted = wanted.ok().flatten();
    if let Some(wanted) = wanted.and_then(|wanted| wanted.dyn_into::<web_sys::HtmlElement>().ok()) {
        // Fails only for what is not in the page any more.
        let _gone = wanted.focus();
    }
}

/// Says that a chunk could not be loaded, and what can be done.
#[component]
fn NotLoaded(
    /// What can be done beside loading the page again.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <Banner tone=Tone::Alarm>
            <p class="font-semibold">{frame::not_fetched()}</p>
            <p>{frame::not_fetched_advice()}</p>
            <p class="mt-2 flex flex-wrap items-center gap-3">
                {children.map(|children| children())}
                // An empty address is this very page.
                <a href="" rel="external" class="font-medium underline underline-offset-2">
                    {frame::load_again()}
                </a>
            </p>
        </Banner>
    }
}
