//! Lazily loaded routes: every page except the lock list.

use leptos::prelude::*;
use leptos_router::LazyRoute;

use super::lazy::{lazy, lazy_page};
use super::pages::activity::ActivityPage;
use super::pages::audit::AuditPage;
use super::pages::help::HelpPage;
use super::pages::kit::KitPage;
use super::pages::lock::LockPage;
use super::pages::mine::MinePage;
use super::pages::nodes::NodesPage;
use super::pages::owner::OwnerPage;
use super::pages::owners::OwnersPage;
use super::pages::sign_in::SignInPage;
use super::pages::waits::WaitsPage;
use super::pages::webhooks::WebhooksPage;

/// Routes: the name, the function that draws the page, the chunk that its code goes into, and the
/// page.
macro_rules! lazy_routes {
    ($($name:ident: $draw:ident in $chunk:ident, $page:path;)*) => {
        $(
            #[doc = concat!("The lazy route of [`", stringify!($page), "`].")]
            #[derive(Debug)]
            pub struct $name;

            lazy! { $chunk: fn $draw() -> $page() }

            impl LazyRoute for $name {
                fn data() -> Self {
                    Self
                }

                async fn view(_: Self) -> AnyView {
                    lazy_page(stringify!($chunk), $draw()).await
                }
            }
        )*
    };
}

lazy_routes! {
    LockRoute: lock in details, LockPage;
    NodesRoute: nodes in details, NodesPage;
    OwnersRoute: owners in lists, OwnersPage;
    OwnerRoute: owner in lists, OwnerPage;
    WaitsRoute: waits in lists, WaitsPage;
    ActivityRoute: activity in lists, ActivityPage;
    MineRoute: mine in lists, MinePage;
    AuditRoute: audit in lists, AuditPage;
    WebhooksRoute: webhooks in lists, WebhooksPage;
    HelpRoute: help in lists, HelpPage;
    KitRoute: kit in kit, KitPage;
    SignInRoute: sign_in in lists, SignInPage;
}
