//! `POST /language`: sets the language of the pages. It is a form, so that it works without scripts
//! and before sign-in.

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::problem::ApiError;
use super::sign_in::{is_local_path, read_form, with_cookie};
use crate::domain::{Locale, locale};
use crate::server::state::AppState;

pub const PATH: &str = "/language";

/// One year.
const COOKIE_MAX_AGE_SECONDS: u32 = 31_536_000;

#[derive(Deserialize)]
struct LanguageForm {
    #[serde(default)]
    language: String,
    #[serde(default)]
    next: String,
}

/// Stores the language in a cookie and redirects back. Unsupported languages are ignored.
pub async fn set_language(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let (_, choice) = read_form::<LanguageForm>(&state, request).await?;
    let next = Some(choice.next.as_str()).filter(|next| is_local_path(next));
    let back = Redirect::to(next.unwrap_or("/"));
    let Some(chosen) = Locale::from_tag(&choice.language) else {
        return Ok(back.into_response());
    };
    let cookie = format!(
        "{}={}; Path=/; Max-Age={COOKIE_MAX_AGE_SECONDS}; SameSite=Lax",
        locale::COOKIE,
        chosen.tag()
    );
    let cookie = HeaderValue::from_str(&cookie).expect("language tags are ASCII");
    Ok((with_cookie(cookie), back).into_response())
}
