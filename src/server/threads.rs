//! Two runtimes: connections and acts on one thread of their own, everything else on the other.
//!
//! A page that is rendered, a list that is sorted or a snapshot that is packed keeps no act waiting, and an act hands nothing
//! from thread to thread.

use std::io;
use std::panic::resume_unwind;
use std::thread;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;
use tower::Service as _;

use super::api::short_way::Act;
use super::state::AppState;

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
            .spawn(move || runtime.block_on(ended.cancelled()))?;
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

/// Every request, served where it belongs.
#[derive(Clone)]
pub struct Door {
    state: AppState,
    router: Router,
    others: Handle,
}

impl Door {
    /// Acts are served by whoever calls, all others by this router on this runtime.
    pub fn new(state: AppState, router: Router, others: Handle) -> Self {
        Self {
            state,
            router,
            others,
        }
    }

    /// Answers a request.
    pub async fn answer(self, request: Request) -> Response {
        if let Some(act) = Act::of(&request) {
            return act.answer(request, self.state).await;
        }
        let answering = self.others.spawn(self.router.clone().call(request));
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
