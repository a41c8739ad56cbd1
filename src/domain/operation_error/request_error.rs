//! Why a request cannot be parsed.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::domain::SearchError;

use crate::domain::code_tag::json_with_code;

/// Why a request cannot be parsed. `text` is the error of the parser, without the values of the
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum RequestError {
    #[error("invalid request body: {text}")]
    InvalidBody { text: String },
    #[error("the body must be a JSON object")]
    NotAnObject,
    #[error("the body is incomplete")]
    IncompleteBody,
    #[error("invalid form data")]
    InvalidForm,
    #[error("invalid query: {text}")]
    InvalidQuery { text: String },
    /// The arguments of a server function.
    #[error("{text}")]
    InvalidArguments { text: String },
    #[error("the path contains a `%` that is not followed by two hex digits")]
    InvalidPath,
    #[error("`cursor` is invalid; use `next_cursor` of the previous page")]
    InvalidCursor,
    #[error("invalid search in `q`: {error}")]
    InvalidSearch { error: SearchError },
    #[error("`{parameter}` must be a whole number from {min} to {max}")]
    NotANumber {
        parameter: String,
        min: u64,
        max: u64,
    },
    #[error("`{parameter}` must be an RFC 3339 time such as 2026-11-20T18:48:05Z")]
    NotATime { parameter: String },
    #[error("`{parameter}` must be one of {}", choices.join(", "))]
    UnknownChoice {
        parameter: String,
        choices: Vec<String>,
    },
    #[error("`{parameter}` contains a `%` that is not followed by two hex digits")]
    InvalidEncoding { parameter: String },
    #[error(
        "`pinned` must be a comma-separated list of at most {max} percent-encoded `<group>/<key>`"
    )]
    InvalidPinned { max: usize },
}

json_with_code!(RequestError);
