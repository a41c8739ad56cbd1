//! The machine: compiled only with `ssr`. Builds the parts, starts the tasks, opens the doors.

pub mod access;
pub mod api;
mod assets;
pub mod audit;
pub mod cli;
pub mod clock;
pub mod config;
mod connections;
pub mod demo;
pub mod doctor;
mod elsewhere;
pub mod formats;
mod gate;
mod headers;
pub mod https;
pub mod index;
pub mod locking;
pub mod nodes;
pub mod operations;
mod reload;
pub mod restarts;
pub mod shared;
pub mod state;
pub mod storage;
pub mod telemetry;
mod threads;
pub mod tls;
mod webhooks;

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use leptos::WasmSplitManifest;
use leptos::config::LeptosOptions;
use leptos::nonce::use_nonce;
use leptos::prelude::{ArcStoredValue, provide_context, use_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes as _, ResponseOptions, generate_route_list};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tower::{Service as _, ServiceBuilder};
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;

use crate::domain::{Language, LockId};
use crate::otel;
use crate::ui::later::LOADER;
use crate::ui::{App, paths, shell};
use access::{Access, Actor};
use api::limits::Limits;
use audit::Audit;
use clock::Clock;
use config::Config;
use elsewhere::Suspect;
use index::Index;
use operations::Operations;
use operations::idempotency::Repeats;
use reload::{How, Running};
use restarts::RestartFile;
use shared::Shared;
use state::{AppState, Handles};
use threads::{ActsThread, Door};
use tls::ServerTls;
use webhooks::Webhooks;

/// How long open requests may take to end once the server was told to stop.
const GRACE: Duration = Duration::from_secs(3);

/// Serves console and API on `listener` until `stop` is cancelled; then ends every stream and task.
pub async fn serve(
    listener: TcpListener,
    config: Config,
    clock: Clock,
    stop: CancellationToken,
) -> io::Result<()> {
    let is_in_clear = config.is_in_clear();
    let Config {
        listen,
        tls,
        limits,
        audit,
        groups,
        state: shared,
        restarts,
        access,
        webhooks,
        later,
        otlp,
        ..
    } = config;
    let traces = otlp.as_ref().and_then(otel::start);
    let shared = shared.map(Shared::new);
    let audit = Audit::new(&audit, shared.as_ref(), clock.clone());
    match audit.place() {
        Some(place) => tracing::info!(file = place, "acts are written to the audit"),
        None => tracing::warn!("the audit is off: nobody will know who did what"),
    }
    if is_in_clear {
        tracing::warn!(
            "passwords and tokens cross the network unencrypted at {listen}: name `tls_certificate_file` and `tls_key_file`, or listen on \
             127.0.0.1 behind a proxy that ends TLS"
        );
    }
    let tls = match tls {
        Some(files) => Some(Arc::new(ServerTls::new(files).map_err(io::Error::other)?)),
        None => None,
    };
    let access = Access::new(
        &access,
        listen.ip(),
        shared.as_ref(),
        clock.clone(),
        audit.clone(),
    );
    let acts = ActsThread::start()?;
    let tasks = TaskTracker::new();
    let restarts = restarts.map(|path| RestartFile::new(path, clock.clone()));
    let (last, leaving) = (CancellationToken::new(), TaskTracker::new());
    // However this ends, the nodes are let go.
    let _let_go = last.clone().drop_guard();
    let running = Running::start(
        groups,
        How {
            acts: acts.handle().clone(),
            clock: clock.clone(),
            stop: stop.clone(),
            last: last.clone(),
            tasks: tasks.clone(),
            leaving: leaving.clone(),
            restarts: restarts.clone(),
        },
    );
    let groups = running.groups();
    let index = Index::quiet(&groups, clock.clone(), &stop, &tasks);
    running.watch(&index);
    let webhooks = Webhooks::new(webhooks);
    webhooks.start(&index, &clock, &stop, &tasks);
    let operations = Arc::new(Operations::new(groups, index, audit.clone()).telling(webhooks));
    if let Some(restarts) = restarts {
        tasks.spawn(restarts::keep(
            restarts,
            Arc::clone(&operations),
            last.clone(),
        ));
    }
    let begun = Arc::clone(&operations);
    let (left, over) = (Arc::clone(&operations), stop.clone());
    tasks.spawn(async move {
        over.run_until_cancelled(left.close_what_was_left()).await;
    });
    let (told, over) = (audit.clone(), stop.clone());
    tasks.spawn(async move {
        told.check_place().await;
        over.run_until_cancelled(told.tell_heads()).await;
    });
    if let Some(tls) = tls.clone() {
        tasks.spawn(stop.clone().run_until_cancelled_owned(tls.follow()));
    }
    let (counting, over) = (audit.clone(), stop.clone());
    tasks.spawn(async move {
        over.run_until_cancelled(counting.write_what_is_counted())
            .await;
    });
    let handles = Handles {
        leptos: leptos_options(),
        operations,
        access,
        repeats: Repeats::new(limits.remembered_answers, shared.clone()),
        limits: Arc::new(Limits::new(limits.clone(), shared)),
        stop: stop.clone(),
    };
    let state = AppState::from(handles);
    let (looking, over) = (state.clone(), stop.clone());
    tasks.spawn(async move {
        over.run_until_cancelled(looking.access.look_at_provider())
            .await;
    });
    let (revoking, over) = (state.clone(), stop.clone());
    tasks.spawn(async move {
        over.run_until_cancelled(stop_renewing_for_revoked(revoking))
            .await;
    });
    if let Some(later) = later {
        let following = running.follow(state.clone(), later);
        tasks.spawn(stop.clone().run_until_cancelled_owned(following));
    }
    let door = Door::new(state.clone(), router(state.clone()), Handle::current());
    let answered = ServiceBuilder::new()
        .layer(CsrfLayer::new().with_rejection_response(|_| elsewhere::refusal()))
        .service_fn(move |request| {
            let door = door.clone();
            async move { Ok::<_, Infallible>(door.answer(request).await) }
        });
    let asked = state.clone();
    let service = ServiceBuilder::new()
        .layer(CatchPanicLayer::new())
        .service_fn(move |mut request: Request| {
            state.access.see_where_from(&mut request);
            let is_https = state.access.is_https(request.headers());
            let suspect = Suspect::of(&request).map(|suspect| (suspect, state.clone()));
            let is_fetched = elsewhere::is_fetched_from_there(&request);
            let answering = (!is_fetched).then(|| answered.clone().call(request));
            async move {
                let mut answer = match answering {
                    Some(answering) => answering.await?,
                    None => elsewhere::refusal(),
                };
                if let Some((suspect, state)) = suspect
                    && elsewhere::is_from_there(&answer)
                {
                    suspect.write_down(&state).await;
                }
                headers::complete(&mut answer, is_https);
                Ok::<_, Infallible>(answer)
            }
        });

    // A listener belongs to the runtime that it is made on, and its connections with it.
    let listener = listener.into_std()?;
    let stop_there = stop.clone();
    let graceful = AbortOnDropHandle::new(acts.handle().spawn(async move {
        let listener = TcpListener::from_std(listener)?;
        let is_proxy = move |address| asked.access.is_proxy(address);
        connections::serve(listener, tls, service, limits, is_proxy, stop_there).await;
        io::Result::Ok(())
    }));
    let forced = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
        tracing::warn!("some requests did not end in time and were cut off");
    };
    tokio::select! {
        ended = graceful => ended.map_err(io::Error::other)??,
        () = forced => {}
    }
    // What failed is taken back, and nodes are told of releases, before the connections to them end.
    leaving.close();
    let groups = begun.running_groups();
    let errands = futures::future::join_all(groups.iter().map(|group| group.errands().wait()));
    let ending = async { tokio::join!(errands, leaving.wait()) };
    if tokio::time::timeout(GRACE, ending).await.is_err() {
        tracing::warn!(
            "some nodes were not told in time to release what is not held any more: it ends with its lease"
        );
    }
    last.cancel();
    tasks.close();
    // Tasks end at the next point where they look at `stop`; one that hangs in a dead node is not waited for.
    let _late = tokio::time::timeout(GRACE, tasks.wait()).await;
    audit.settle().await;
    audit.tell_last_head().await;
    if let Some(traces) = traces {
        traces.end().await;
    }
    Ok(())
}

/// Whether there is a page of the kit: while the console is worked on, not where it is shipped.
const HAS_KIT: bool = cfg!(debug_assertions);

/// How often it is checked whether those still may have locks renewed for whom that is done.
const REVOCATION_INTERVAL: Duration = Duration::from_secs(1);

/// Ends the auto-renewal of locks whose owner's token or rights were revoked.
async fn stop_renewing_for_revoked(state: AppState) {
    let mut tick = interval(REVOCATION_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let is_out = |actor: &Actor, id: &LockId| !state.access.still_renews_for(actor, id);
        state.operations.stop_renewing_for(is_out);
    }
}

/// The pages. Listed once: while it does so, leptos holds back the data of every page in this process.
static PAGES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| {
    let mut pages = generate_route_list(App);
    pages.retain(|page| HAS_KIT || page.path() != paths::KIT);
    pages
});

/// Every route: API, pages, files.
fn router(state: AppState) -> Router {
    let options = state.leptos.clone();
    let console = Router::new()
        .leptos_routes_with_context(&state, PAGES.clone(), before_painting, move || {
            shell(options.clone(), assets::folder())
        })
        .fallback(file_or_page)
        .layer(from_fn_with_state(state.clone(), gate::before_pages))
        // A tenth smaller than as it is otherwise, for 0.2 ms of a page of 130 kB.
        .layer(CompressionLayer::new().quality(CompressionLevel::Precise(5)));
    api::routes(&state)
        .merge(console)
        .layer(from_fn_with_state(state.clone(), api::metrics::timed))
        .with_state(state)
}

/// What a page is painted with, beside what it shows.
fn before_painting() {
    say_what_a_page_may();
    speak_as_asked();
    if let Some(state) = use_context::<AppState>() {
        provide_context(state.access.ways_in());
    }
    if let Some(parts) = PARTS.clone() {
        provide_context(parts);
    }
}

/// What a page has the browser fetch early of the parts that it is made of; nothing in a build that has no parts.
static PARTS: LazyLock<Option<WasmSplitManifest>> = LazyLock::new(|| {
    let parts = assets::parts();
    let below = format!("{}/pkg", assets::folder());
    (!parts.is_empty())
        .then(|| WasmSplitManifest(ArcStoredValue::new((below, parts, LOADER.to_owned()))))
});

/// Has the page speak the language of the request.
fn speak_as_asked() {
    if let Some(asked) = use_context::<Parts>() {
        let text = |name| {
            let value = asked.headers.get(name);
            value.and_then(|value: &HeaderValue| value.to_str().ok())
        };
        provide_context(Language::asked_for(
            text(header::COOKIE).unwrap_or_default(),
            text(header::ACCEPT_LANGUAGE).unwrap_or_default(),
        ));
    }
}

/// Has the browser told what a page may do; the answer of a server function is no page.
fn say_what_a_page_may() {
    if let (Some(answer), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) {
        for (name, value) in headers::for_page(&nonce) {
            answer.insert_header(name, value);
        }
    }
}

/// A file of the site, else the console's own page for addresses that do not exist.
async fn file_or_page(State(state): State<AppState>, request: Request) -> Response {
    if *request.method() == Method::GET
        && let Some(file) = assets::find(request.uri().path(), request.headers())
    {
        return file;
    }
    // The console's own page would wake up as the page of the kit, which its program has.
    if !HAS_KIT && request.uri().path().trim_end_matches('/') == paths::KIT {
        return (StatusCode::NOT_FOUND, "There is no such page.\n").into_response();
    }
    let options = state.leptos.clone();
    let context = state.clone();
    let render = leptos_axum::render_app_to_stream_with_context(
        move || {
            provide_context(context.clone());
            before_painting();
        },
        move || shell(options.clone(), assets::folder()),
    );
    let (parts, _body) = request.into_parts();
    let mut page = render(Request::from_parts(parts, Body::empty()))
        .await
        .into_response();
    *page.status_mut() = StatusCode::NOT_FOUND;
    page
}

/// Built in code: reading them from the environment would let a user's variables break the console.
fn leptos_options() -> LeptosOptions {
    LeptosOptions::builder()
        .output_name("lockkeeper")
        .site_pkg_dir("pkg")
        .build()
}
