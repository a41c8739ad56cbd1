//! The way of acts past the router.
//!
//! Which act is meant shows in the path, so an act is spared the boxes, copies and notes that a router makes of a request
//! for each of its layers.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::Request;
use axum::handler::Handler as _;
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};

use super::limits::Client;
use super::v1::acts;
use crate::server::state::AppState;
use crate::server::telemetry::traces;

/// The acts of owners. All else, and whatever is wrong with a path, is the router's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// `…/acquire`
    Acquire,
    /// `…/extend`
    Extend,
    /// `…/release`
    Release,
}

impl Act {
    /// The act that a request asks for, if it is one.
    pub fn of(request: &Request) -> Option<Self> {
        (*request.method() == Method::POST)
            .then(|| Self::at(request.uri().path()))
            .flatten()
    }

    fn at(path: &str) -> Option<Self> {
        let mut segments = path.strip_prefix("/api/v1/groups/")?.split('/');
        let group = segments.next()?;
        if group.is_empty() || segments.next()? != "locks" {
            return None;
        }
        let (_key, act) = (segments.next()?, segments.next()?);
        let act = match act {
            "acquire" => Self::Acquire,
            "extend" => Self::Extend,
            "release" => Self::Release,
            _ => return None,
        };
        segments.next().is_none().then_some(act)
    }

    /// How the router would name its route.
    fn pattern(self) -> &'static str {
        match self {
            Self::Acquire => "/api/v1/groups/{group}/locks/{key}/acquire",
            Self::Extend => "/api/v1/groups/{group}/locks/{key}/extend",
            Self::Release => "/api/v1/groups/{group}/locks/{key}/release",
        }
    }

    /// Does it, within the limits that stand before every route.
    pub async fn answer(self, request: Request, state: AppState) -> Response {
        let began = Instant::now();
        traces::for_route(request.method(), self.pattern());
        let operations = Arc::clone(&state.operations);
        let answer = self.answer_in_time(request, state).await;
        let route = operations.telemetry().requests.route(self.pattern());
        route.add(answer.status().as_u16(), began.elapsed());
        answer
    }

    async fn answer_in_time(self, request: Request, state: AppState) -> Response {
        let client = Client::in_extensions(request.extensions());
        let _until_it_is_answered = match state.limits.admit(client, &request).await {
            Ok(place) => place,
            Err(refused) => return refused.into_response(),
        };
        match self {
            Self::Acquire => acts::acquire.call(request, state).await,
            Self::Extend => acts::extend.call(request, state).await,
            Self::Release => acts::release.call(request, state).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_known_by_its_path_as_the_router_would_know_it() {
        let lock = "/api/v1/groups/default/locks";
        for (path, act) in [
            (format!("{lock}/lock%3Aa%2Fb/acquire"), Some(Act::Acquire)),
            (format!("{lock}/a/extend"), Some(Act::Extend)),
            (format!("{lock}/a/release"), Some(Act::Release)),
            (format!("{lock}//acquire"), Some(Act::Acquire)),
            (format!("{lock}/a/force-release"), None),
            (format!("{lock}/a/acquire/"), None),
            (format!("{lock}/a/b/acquire"), None),
            (format!("{lock}/acquire"), None),
            (format!("{lock}/a"), None),
            ("/api/v1/groups//locks/a/acquire".to_owned(), None),
            ("/api/v1/groups/default/lock/a/acquire".to_owned(), None),
            ("/x/api/v1/groups/default/locks/a/acquire".to_owned(), None),
        ] {
            assert_eq!(Act::at(&path), act, "{path}");
        }
    }
}
