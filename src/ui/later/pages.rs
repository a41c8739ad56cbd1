//! The pages that are fetched when somebody first goes to them: all but the table of locks, which is what people come for. Of that page
//! the table of bundles is fetched too.

use std::future::poll_fn;
use std::task::Poll;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::ChooseView;

use super::{Alarm, NotFetched, NotThere, Part, later};
use crate::domain::By;
use crate::ui::components::bundle_table::BundleTable;
use crate::ui::pages::audit::AuditPage;
use crate::ui::pages::help::HelpPage;
use crate::ui::pages::kit::KitPage;
use crate::ui::pages::lock::LockPage;
use crate::ui::pages::mine::MinePage;
use crate::ui::pages::nodes::NodesPage;
use crate::ui::pages::owners::OwnersPage;
use crate::ui::pages::sign_in::SignInPage;
use crate::ui::pages::waits::WaitsPage;
use crate::ui::paths;
use crate::ui::query::Query;
use crate::ui::words::frame;

/// Pages: what each is called here, what draws it, what fetches it, and which file it becomes a part of.
macro_rules! fetched {
    ($($(#[$doc:meta])* $name:ident: $draw:ident, $fetch:ident in $file:ident, $page:path;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            part! { $file fetched by $fetch: fn $draw() -> $page() }

            impl ChooseView for $name {
                async fn choose(self) -> AnyView {
                    page(stringify!($file), Box::pin($draw())).await
                }

                async fn preload(&self) {}
            }
        )*
    };
}

fetched! {
    /// One lock.
    Lock: lock, fetch_lock in details, LockPage;
    /// The nodes.
    Nodes: nodes, fetch_nodes in details, NodesPage;
    /// Who holds what.
    Owners: owners, fetch_owners in lists, OwnersPage;
    /// Who waits for whom.
    Waits: waits, fetch_waits in lists, WaitsPage;
    /// The locks acquired from here.
    Mine: mine, fetch_mine in lists, MinePage;
    /// Who did what.
    Audit: audit, fetch_audit in lists, AuditPage;
    /// What the words mean.
    Help: help, fetch_help in lists, HelpPage;
    /// Every part that knows nothing about locks.
    Kit: kit, fetch_kit in kit, KitPage;
    /// Where people sign in.
    SignIn: sign_in, fetch_sign_in in lists, SignInPage;
}

part! { bundles fetched by fetch_bundles: fn bundles(query: Memo<Query>, by: By, on_acquire: Callback<()>) -> view! { <BundleTable query by on_acquire /> } }

/// The table of bundles.
#[component]
pub fn Bundles(
    /// What is shown.
    query: Memo<Query>,
    /// What makes a bundle.
    by: By,
    /// Asks for a lock to be acquired.
    on_acquire: Callback<()>,
) -> impl IntoView {
    leptos::prefetch_lazy_fn_on_server("bundles");
    later(move || Box::pin(bundles(query, by, on_acquire)))
}

/// Fetches what the page at this path, asked for this, is made of, so that it wakes up in one go: what would run in between could change
/// the page before it is awake.
pub async fn fetch_page(path: &str, search: &str) -> Result<(), NotFetched> {
    match path.trim_end_matches('/') {
        paths::NODES => fetch_nodes().await,
        paths::OWNERS => fetch_owners().await,
        paths::WAITS => fetch_waits().await,
        paths::MINE => fetch_mine().await,
        paths::AUDIT => fetch_audit().await,
        paths::HELP => fetch_help().await,
        paths::SIGN_IN => fetch_sign_in().await,
        paths::KIT => fetch_kit().await,
        path if path.starts_with("/groups/") => fetch_lock().await,
        "" if Query::parse(search).by.is_some() => fetch_bundles().await,
        // The table of locks, and what stands where no page is.
        _ => Ok(()),
    }
}

/// Whether a page that somebody wants to go to takes long to fetch. A handle: copy it freely.
#[derive(Clone, Copy)]
pub struct Fetching(RwSignal<bool>);

impl Fetching {
    /// Provides it to the pages.
    pub fn provide() {
        provide_context(Self(RwSignal::new(false)));
    }
}

/// Says that the next page takes long to fetch, while it does.
#[component]
pub fn FetchingPage() -> impl IntoView {
    let Fetching(is_slow) = expect_context();
    let told = move || {
        is_slow
            .get()
            .then(|| view! { <p class="mb-4 text-muted">{frame::fetching()}</p> }.into_any())
    };
    view! { <div aria-live="polite">{move || told()}</div> }
}

async fn page(file: &'static str, mut asked: Part) -> AnyView {
    // So that the page's own head has the browser fetch it early.
    leptos::prefetch_lazy_fn_on_server(file);
    let at_once = poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await;
    let told = match at_once {
        Poll::Ready(told) => told,
        Poll::Pending => {
            let Fetching(is_slow) = expect_context();
            let alarm = Alarm::set(move || is_slow.set(true));
            let told = asked.await;
            drop(alarm);
            is_slow.set(false);
            told
        }
    };
    match told {
        Ok(view) => view,
        Err(NotFetched { .. }) => view! {
            <Title text=format!("{} · Lockkeeper", frame::not_fetched()) />
            <NotThere />
        }
        .into_any(),
    }
}
