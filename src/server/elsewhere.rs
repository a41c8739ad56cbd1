//! Acts that a page of another site has a visitor's browser ask for. The door refuses them, by what the browser says of where they
//! come from; here they get their line in the audit, with the name of whom the console would have taken for the one who acts.

use axum::extract::{FromRequestParts as _, Request};
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::response::{IntoResponse as _, Response};
use tower_http::csrf::ProtectionError;

use super::api::ApiError;
use super::api::extract::LockPath;
use super::state::AppState;
use crate::domain::{ActKind, Fault};

/// An act of a browser, kept until it is known whether it came from elsewhere.
pub struct Suspect {
    act: ActKind,
    asked: Box<Parts>,
}

impl Suspect {
    /// What is kept of a request; nothing of one that is no act, or that no browser sent.
    pub fn of(request: &Request) -> Option<Self> {
        let headers = request.headers();
        let is_of_browser =
            headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
        if !is_of_browser || request.method() != Method::POST {
            return None;
        }
        let act = act(request.uri().path())?;
        let (mut asked, ()) = Request::new(()).into_parts();
        asked.method = request.method().clone();
        asked.uri = request.uri().clone();
        asked.headers = headers.clone();
        asked.extensions = request.extensions().clone();
        let asked = Box::new(asked);
        Some(Self { act, asked })
    }

    /// Writes it down as refused. Who is nobody here could not have acted from here either.
    pub async fn write_down(mut self, state: &AppState) {
        let Ok(actor) = state.access.admit_request(&self.asked).await else {
            return;
        };
        let lock = LockPath::from_request_parts(&mut self.asked, state).await;
        let lock = lock.ok().map(|LockPath(id)| id);
        let operations = &state.operations;
        operations.refused_from_elsewhere(&actor, self.act, lock.as_ref(), &fault());
    }
}

/// Whether a browser says that a page of another site has it ask for this, other than by leading somebody to a page. Programs say
/// nothing of that kind. What another site cannot read it can still cause: load, and open streams.
pub fn is_fetched_from_there(request: &Request) -> bool {
    let says = |name: &str| {
        let value = request.headers().get(name);
        value.map(|value| value.as_bytes())
    };
    let is_from_there = matches!(says("sec-fetch-site"), Some(b"cross-site" | b"same-site"));
    // Other methods are the CSRF layer's, which also knows browsers that tell less.
    let is_read = *request.method() == Method::GET || *request.method() == Method::HEAD;
    if !is_from_there || !is_read {
        return false;
    }
    let leads_to_a_page = says("sec-fetch-mode") == Some(b"navigate")
        && says("sec-fetch-dest") == Some(b"document")
        && !is_data(request.uri().path());
    !leads_to_a_page
}

/// Whether programs read it, and not people.
fn is_data(path: &str) -> bool {
    ["/api/v1/", "/_fn/", "/metrics"]
        .iter()
        .any(|data| path.starts_with(data))
}

/// Whether an answer refuses what came from another site.
pub fn is_from_there(answer: &Response) -> bool {
    answer.extensions().get::<ProtectionError>().is_some()
}

/// What such a page is told.
pub fn refusal() -> Response {
    ApiError::from(fault()).into_response()
}

fn fault() -> Fault {
    let why = "a page of another site sent this, and only the console's own pages act for who visits them";
    Fault::Forbidden {
        why: why.to_owned(),
    }
}

/// The act that a path is about: the last word of a route, or the name of a server function and digits behind it.
fn act(path: &str) -> Option<ActKind> {
    let (_, last) = path.rsplit_once('/')?;
    let name = last.trim_end_matches(|digit: char| digit.is_ascii_digit());
    Some(match name {
        "acquire" => ActKind::Acquire,
        "extend" | "extend_mine" => ActKind::Extend,
        "release" | "release_mine" => ActKind::Release,
        "force-release" | "force_release" | "force-releases" => ActKind::ForceRelease,
        "vouch" | "vouch_for_node" => ActKind::Vouch,
        "take_token" => ActKind::TakeToken,
        "monitor-sample" | "monitor_sample" => ActKind::Sample,
        _ => return None,
    })
}
