//! Parts of the page's program that the browser fetches when they are first needed, so that the first page is light.
//!
//! A release build cuts the program at each [`part!`]: what only parts of one file reach goes into that file. On the server, and in
//! development builds, which are to be quick to make, a part is a function like any other.

/// A function that draws a part of the page, and the file that it becomes a part of in a release build. `fetched by` names the function
/// that fetches it without drawing anything.
///
/// ```text
/// part! { dialogs: fn form(handle: DialogHandle) -> view! { <Form handle /> } }
/// ```
macro_rules! part {
    ($file:ident $(fetched by $fetch:ident)?: fn $name:ident($($told:ident: $kind:ty),*) -> $view:expr) => {
        #[cfg(not(debug_assertions))]
        #[$crate::ui::later::wasm_split(
            $file, wasm_split_path = ::leptos::wasm_split, $(preload($fetch),)? fallible
        )]
        fn $name($($told: $kind),*) -> Result<AnyView, $crate::ui::later::NotFetched> {
            Ok($view.into_any())
        }
        #[cfg(debug_assertions)]
        async fn $name($($told: $kind),*) -> Result<AnyView, $crate::ui::later::NotFetched> {
            Ok($view.into_any())
        }
        $(
            #[cfg(debug_assertions)]
            async fn $fetch() -> Result<(), $crate::ui::later::NotFetched> {
                Ok(())
            }
        )?
    };
}
pub(crate) use part;

mod pages;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::ui::reactive::effect;
use leptos::leptos_dom::helpers::{
    TimeoutHandle, request_animation_frame, set_timeout_with_handle,
};
use leptos::prelude::*;
use leptos::tachys::reactive_graph::OwnedView;
use leptos::task::spawn_local_scoped_with_cancellation;
use wasm_bindgen::JsCast;

pub use leptos::wasm_split::SplitLoaderError as NotFetched;
#[cfg(not(debug_assertions))]
pub use leptos::wasm_split::wasm_split;
pub use pages::*;

use super::kit::{Banner, Button, Tone};
use super::words::frame;

/// The file that loads the parts, as cargo-leptos names it.
pub const LOADER: &str = "__wasm_split.______________________.js";

/// What takes longer than this to fetch is told.
const SLOW: Duration = Duration::from_secs(1);

/// A part that is fetched and then drawn.
pub type Part = Pin<Box<dyn Future<Output = Result<AnyView, NotFetched>>>>;

/// How far a part is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    OnItsWay,
    Slow,
    NotFetched,
    There,
}

/// Draws what a dialog shows, fetched when it is first asked for. What takes long, or cannot be fetched, is told in its place.
pub fn later(ask: impl Fn() -> Part + 'static) -> AnyView {
    // What was fetched before is there at once, as though it had never been elsewhere.
    let mut asked = ask();
    let now = &mut Context::from_waker(Waker::noop());
    if let Poll::Ready(Ok(view)) = asked.as_mut().poll(now) {
        return view;
    }
    let (stand, tries) = (RwSignal::new(Stand::OnItsWay), RwSignal::new(0_u32));
    let drawn = StoredValue::new_local(None);
    effect(move || {
        tries.track();
        stand.set(Stand::OnItsWay);
        let slow = Alarm::set(move || stand.set(Stand::Slow));
        let asked = ask();
        spawn_local_scoped_with_cancellation(async move {
            let told = asked.await;
            drop(slow);
            match told {
                Ok(view) => {
                    // The part was made by this effect, and what it provides to what is in it (`provide_context`) is found from here
                    // only. Drawn elsewhere, a row would find what the table before it provided, which is gone.
                    drawn.set_value(Some(OwnedView::new(view)));
                    stand.set(Stand::There);
                    request_animation_frame(focus);
                }
                Err(NotFetched { .. }) => stand.set(Stand::NotFetched),
            }
        });
    });
    let shown = move || {
        match stand.get() {
        Stand::OnItsWay => view! { <p class="p-5" aria-busy="true"></p> }.into_any(),
        Stand::Slow => view! { <p role="status" class="p-5 text-muted">{frame::fetching()}</p> }.into_any(),
        Stand::NotFetched => view! {
            <div class="p-5">
                <NotThere>
                    <Button autofocus=true on_press=move |()| tries.update(|tries| *tries += 1)>{frame::try_again()}</Button>
                </NotThere>
            </div>
        }
        .into_any(),
        Stand::There => drawn.try_update_value(Option::take).flatten().into_any(),
    }
    };
    view! { {move || shown()} }.into_any()
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

/// Says that a part could not be fetched, and what can be done.
#[component]
fn NotThere(
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

/// Goes off once something takes long, unless it is dropped before.
struct Alarm(Option<TimeoutHandle>);

impl Alarm {
    fn set(goes_off: impl FnOnce() + 'static) -> Self {
        Self(set_timeout_with_handle(goes_off, SLOW).ok())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(timeout) = &self.0 {
            timeout.clear();
        }
    }
}
