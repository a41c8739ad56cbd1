//! The machine: compiled only with `ssr`. Builds the parts, starts the tasks, opens the doors.

pub mod api;
mod assets;
pub mod cli;
pub mod clock;
pub mod config;
mod connections;
pub mod demo;
pub mod formats;
pub mod index;
pub mod locking;
pub mod nodes;
pub mod operations;
pub mod state;
mod telemetry;
mod threads;

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use leptos::config::LeptosOptions;
use leptos_axum::{AxumRouteListing, LeptosRoutes as _, generate_route_list};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;

use crate::ui::{App, shell};
use api::limits::Limits;
use clock::Clock;
use config::{GroupConfig, LimitsConfig};
use index::Index;
use nodes::Group;
use operations::Operations;
use operations::idempotency::Repeats;
use state::{AppState, Handles};
use threads::{ActsThread, Door};

/// How long open requests may take to end once the server was told to stop.
const GRACE: Duration = Duration::from_secs(3);

/// Serves console and API on `listener` until `stop` is cancelled; then ends every stream and task.
pub async fn serve(
    listener: TcpListener,
    groups: Vec<GroupConfig>,
    clock: Clock,
    stop: CancellationToken,
) -> io::Result<()> {
    serve_within(listener, groups, LimitsConfig::default(), clock, stop).await
}

/// Like [`serve`], within other limits than the usual ones.
pub async fn serve_within(
    listener: TcpListener,
    groups: Vec<GroupConfig>,
    limits: LimitsConfig,
    clock: Clock,
    stop: CancellationToken,
) -> io::Result<()> {
    let acts = ActsThread::start()?;
    let tasks = TaskTracker::new();
    let groups: Vec<Arc<Group>> = groups
        .into_iter()
        .map(|group| Group::start_acting_on(acts.handle(), group, clock.clone(), stop.clone()))
        .collect();
    let index = Index::start(&groups, clock, &stop, &tasks);
    let operations = Arc::new(Operations::new(groups, index));
    let handles = Handles {
        leptos: leptos_options(),
        operations,
        repeats: Repeats::new(limits.remembered_answers),
        limits: Arc::new(Limits::new(limits.clone())),
        stop: stop.clone(),
    };
    let state = AppState::from(handles);
    let door = Door::new(state.clone(), router(state), Handle::current());
    let service = ServiceBuilder::new()
        .layer(CatchPanicLayer::new())
        .map_response(with_headers)
        .layer(CsrfLayer::new())
        .service_fn(move |request| {
            let door = door.clone();
            async move { Ok::<_, Infallible>(door.answer(request).await) }
        });

    // A listener belongs to the runtime that it is made on, and its connections with it.
    let listener = listener.into_std()?;
    let stop_there = stop.clone();
    let graceful = AbortOnDropHandle::new(acts.handle().spawn(async move {
        let listener = TcpListener::from_std(listener)?;
        connections::serve(listener, service, limits, stop_there).await;
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
    tasks.close();
    // Tasks end at the next point where they look at `stop`; one that hangs in a dead node is not waited for.
    let _late = tokio::time::timeout(GRACE, tasks.wait()).await;
    Ok(())
}

/// The pages. Listed once: while it does so, leptos holds back the data of every page in this process.
static PAGES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| generate_route_list(App));

/// Every route: API, pages, files.
fn router(state: AppState) -> Router {
    let options = state.leptos.clone();
    let console = Router::new()
        .leptos_routes(&state, PAGES.clone(), move || shell(options.clone()))
        .fallback(file_or_page)
        .layer(CompressionLayer::new());
    api::routes(Arc::clone(&state.limits))
        .merge(console)
        .with_state(state)
}

/// What every answer carries unless it says otherwise. All in one go: a layer for each would cost every request more than
/// the headers do.
fn with_headers(mut answer: Response) -> Response {
    const HEADERS: [(HeaderName, HeaderValue); 5] = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
    ];
    for (name, value) in HEADERS {
        answer.headers_mut().entry(name).or_insert(value);
    }
    answer
}

/// A file of the site, else the console's own page for addresses that do not exist.
async fn file_or_page(State(state): State<AppState>, request: Request) -> Response {
    if *request.method() == Method::GET
        && let Some(file) = assets::find(request.uri().path(), request.headers())
    {
        return file;
    }
    let options = state.leptos.clone();
    let context = state.clone();
    let render = leptos_axum::render_app_to_stream_with_context(
        move || leptos::prelude::provide_context(context.clone()),
        move || shell(options.clone()),
    );
    let (parts, _body) = request.into_parts();
    let mut page = render(Request::from_parts(parts, Body::empty()))
        .await
        .into_response();
    *page.status_mut() = axum::http::StatusCode::NOT_FOUND;
    page
}

/// Built in code: reading them from the environment would let a user's variables break the console.
fn leptos_options() -> LeptosOptions {
    LeptosOptions::builder()
        .output_name("lockkeeper")
        .site_pkg_dir("pkg")
        .build()
}
