//! `POST /language`: which language the pages speak. A form of theirs, so that it works before and without any script, and
//! for those who have not signed in yet.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::problem::ApiError;
use super::sign_in::{is_here, read, with_cookie};
use crate::domain::{Language, language};
use crate::server::state::AppState;

/// Where the choice is sent.
pub const PATH: &str = "/language";

/// A year, in seconds.
const REMEMBERED: u32 = 31_536_000;

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    language: String,
    #[serde(default)]
    next: String,
}

/// Remembers the language in a cookie, and sends whoever chose it back to their page. One that is not spoken here changes
/// nothing.
pub async fn choose(State(state): State<AppState>, request: Request) -> Result<Response, ApiError> {
    let (_, choice) = read::<Choice>(&state, request).await?;
    let next = Some(choice.next.as_str()).filter(|next| is_here(next));
    let back = Redirect::to(next.unwrap_or("/"));
    let Some(chosen) = Language::from_tag(&choice.language) else {
        return Ok(back.into_response());
    };
    let cookie = format!(
        "{}={}; Path=/; Max-Age={REMEMBERED}; SameSite=Lax",
        language::COOKIE,
        chosen.tag()
    );
    let cookie = HeaderValue::from_str(&cookie).expect("tags are plain letters");
    Ok((with_cookie(cookie), back).into_response())
}
