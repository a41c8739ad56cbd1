//! Views of the lock list that all users of the console share.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Timestamp;
use super::operation_error::InvalidValue;

/// A named state of the lock list: filters, sort order and grouping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamView {
    /// The unique name.
    pub name: String,
    /// The path and query of the lock list, such as `/?q=held%3E10m&sort=lease`.
    pub path: String,
    /// Who saved the view last.
    pub saved_by: String,
    /// When the view was saved last.
    pub saved_at: Timestamp,
}

impl TeamView {
    /// The maximum length of a name in characters.
    pub const MAX_NAME_CHARS: usize = 80;
    /// The maximum length of a path in bytes.
    pub const MAX_PATH_BYTES: usize = 2_000;
    /// The maximum number of views.
    pub const MAX_VIEWS: usize = 200;

    /// Checks a name: 1 to 80 characters that are not all spaces, without control characters.
    pub fn check_name(name: &str) -> Result<(), InvalidValue> {
        let max = Self::MAX_NAME_CHARS;
        if name.trim().is_empty() {
            return Err(InvalidValue::Empty);
        }
        if name.chars().count() > max {
            return Err(InvalidValue::TooManyCharacters { max });
        }
        match name.chars().any(char::is_control) {
            true => Err(InvalidValue::ControlCharacter),
            false => Ok(()),
        }
    }

    /// Checks a path: `/`, or `/?` and a query. Nothing else is accepted, so that a view cannot lead
    /// to another page or site.
    pub fn check_path(path: &str) -> Result<(), InvalidValue> {
        let max = Self::MAX_PATH_BYTES;
        if path.len() > max {
            return Err(InvalidValue::TooManyBytes { max });
        }
        let query = path.strip_prefix("/?");
        match path == "/" || query.is_some_and(|query| query.bytes().all(is_query_byte)) {
            true => Ok(()),
            false => Err(InvalidValue::NotALockListPath),
        }
    }
}

/// Whether a URL may contain the byte in its query (RFC 3986).
fn is_query_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:@/?".contains(&byte)
}

/// The contents of a view to be saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamViewContents {
    /// The path and query of the lock list, at most 2,000 bytes: `/`, or `/?` and a query.
    pub path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_1_to_80_characters_without_control_characters() {
        let too_long = InvalidValue::TooManyCharacters { max: 80 };
        for (name, expected) in [
            ("stuck ones", Ok(())),
            ("../..//\u{202e}<b>\"'%00", Ok(())),
            (&"锁".repeat(80), Ok(())),
            (&"x".repeat(81), Err(too_long)),
            ("", Err(InvalidValue::Empty)),
            (" \u{a0}", Err(InvalidValue::Empty)),
            ("a\0b", Err(InvalidValue::ControlCharacter)),
            ("a\nb", Err(InvalidValue::ControlCharacter)),
            ("a\u{85}b", Err(InvalidValue::ControlCharacter)),
        ] {
            assert_eq!(TeamView::check_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_path_is_the_lock_list_with_a_query_and_nothing_else() {
        for path in [
            "/",
            "/?",
            "/?q=held%3E10m&sort=lease",
            "/?q=https%3A%2F%2Fexample.com%2F%3Fa",
            "/?q=//example.com",
            &format!("/?q={}", "x".repeat(1_996)),
        ] {
            assert_eq!(TeamView::check_path(path), Ok(()), "{path:?}");
        }
        let long = format!("/?q={}", "x".repeat(1_997));
        let too_long = InvalidValue::TooManyBytes { max: 2_000 };
        assert_eq!(TeamView::check_path(&long), Err(too_long));
        for path in [
            "",
            "?q=a",
            "q=a",
            " /?q=a",
            "//example.com",
            "//example.com/?q=a",
            "/\\example.com",
            "/\t/example.com",
            "https://example.com/?q=a",
            "javascript:alert(1)",
            "/sign-in?next=/",
            "/audit",
            "/./?q=a",
            "/?q=a b",
            "/?q=a\n",
            "/?q=a#b",
            "/?q=\"<script>",
            "/?q=锁",
        ] {
            let expected = Err(InvalidValue::NotALockListPath);
            assert_eq!(TeamView::check_path(path), expected, "{path:?}");
        }
    }
}
