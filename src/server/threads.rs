//! Two runtimes: connections and acts on one thread of their own, everything else on the other.
//!
//! A page that is rendered, a list that is sorted or a snapshot that is packed keeps no act waiting, and an act hands nothing
//! from thread to thread.

use std::io;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};
use tokio::runtime::{Builder, Handle};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;
use tower::Service as _;

use super::api::probes::Probe;
use super::api::short_way::Act;
use super::state::AppState;
use super::telemetry::traces;

/// The thread for acts. It ends when this is dropped.
pub struct ActsThread {
    handle: Handle,
    _ends_it: DropGuard,
}

impl ActsThread {
    /// Starts it.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, end) = (runtime.handle().clone(), CancellationToken::new());
        let ended = end.clone();
        thread::Builder::new()
            .name("acts".to_owned())
            .spawn(move || runtime.block_on(ended.run_until_cancelled(wake_up_soon())))?;
        Ok(Self {
            handle,
            _ends_it: end.drop_guard(),
        })
    }

    /// Where acts run, and the connections to nodes that serve them.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// A timer that ends sooner than those of acts do.
///
/// A runtime that was to sleep for longer than a new timer lasts is woken to hear of that, also when the one that sets the
/// timer is the thread itself: each act would cost two system calls more.
async fn wake_up_soon() {
    let mut tick = interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
    }
}

/// Every request, served where it belongs.
#[derive(Clone)]
pub struct Door {
    state: AppState,
    elsewhere: Elsewhere,
}

impl Door {
    /// Acts and probes are served by whoever calls, all others by this router on this runtime.
    pub fn new(state: AppState, router: Router, others: Handle) -> Self {
        Self {
            state,
            elsewhere: Elsewhere { router, others },
        }
    }

    /// Answers a request.
    pub async fn answer(self, request: Request) -> Response {
        if let Some(probe) = Probe::of(&request) {
            return probe.answer(&self.state);
        }
        match Act::of(&request) {
            Some(act) => act.answer(request, self.state).await,
            None => self.elsewhere.answer(request).await,
        }
    }
}

/// What is served on the other runtime.
#[derive(Clone)]
struct Elsewhere {
    router: Router,
    others: Handle,
}

impl Elsewhere {
    async fn answer(self, request: Request) -> Response {
        let answering = traces::carried(self.router.clone().call(request));
        let answering = self.others.spawn(answering);
        match AbortOnDropHandle::new(answering).await {
            Ok(Ok(answer)) => answer.map(|body| self.made_there(body)),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_the_runtime_ends) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            },
        }
    }

    /// A body that is still to be made, as a page or a compressed answer is, is made chunk by chunk over there.
    fn made_there(&self, body: Body) -> Body {
        if HttpBody::size_hint(&body).exact().is_some() {
            return body;
        }
        let others = self.others.clone();
        let chunks = stream::unfold(Some(body.into_data_stream()), move |chunks| {
            let others = others.clone();
            async move {
                let mut chunks = chunks?;
                let making = others.spawn(async move { (chunks.next().await, chunks) });
                match AbortOnDropHandle::new(making).await {
                    Ok((chunk, chunks)) => Some((chunk?, Some(chunks))),
                    // It panicked: whoever reads it must not take what came so far for the whole.
                    Err(why) => Some((Err(axum::Error::new(why)), None)),
                }
            }
        });
        Body::from_stream(chunks)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::routing::get;
    use futures::TryStreamExt as _;
    use tower::{ServiceBuilder, ServiceExt as _};
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    fn asked_for(path: &str) -> Request {
        Request::get(path).body(Body::empty()).unwrap()
    }

    async fn breaks() -> StatusCode {
        panic!("while a page is made (this one is meant to)")
    }

    fn breaks_off() -> Body {
        let chunks = stream::iter(0..2).map(|n| match n {
            0 => Ok::<_, Infallible>("some"),
            _ => panic!("in the middle of a page (this one is meant to)"),
        });
        Body::from_stream(chunks)
    }

    #[tokio::test]
    async fn a_panic_over_there_is_answered_here_and_ends_nothing_else() {
        let router = Router::new()
            .route("/broken", get(breaks))
            .route("/half", get(|| async { breaks_off() }))
            .route("/whole", get(|| async { "whole" }));
        let elsewhere = Elsewhere {
            router,
            others: Handle::current(),
        };
        let service = ServiceBuilder::new()
            .layer(CatchPanicLayer::new())
            .service_fn(move |request| {
                let elsewhere = elsewhere.clone();
                async move { Ok::<_, Infallible>(elsewhere.answer(request).await) }
            });
        let answer = async |path| service.clone().oneshot(asked_for(path)).await.unwrap();
        let broken = answer("/broken").await;
        assert_eq!(broken.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let half = answer("/half").await;
        assert_eq!(half.status(), StatusCode::OK);
        let mut chunks = Body::new(half.into_body()).into_data_stream();
        assert_eq!(chunks.try_next().await.unwrap().unwrap(), "some");
        assert!(chunks.try_next().await.is_err(), "it must not seem whole");
        let whole = answer("/whole").await;
        let whole = axum::body::to_bytes(Body::new(whole.into_body()), 100).await;
        assert_eq!(whole.unwrap(), "whole");
    }
}
