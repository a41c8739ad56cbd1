//! Reading and setting the console's cookies.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use axum_extra::extract::cookie::{Cookie, SameSite};

/// The console's cookies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieKind<'a> {
    /// The session.
    Session,
    /// A sign-in in progress at a provider, with a tag that distinguishes several in one browser.
    PendingSignIn(&'a str),
    /// Marks a browser in which the user has signed in before. Failed attempts of others do not
    /// throttle it.
    KnownBrowser,
}

/// Over HTTPS the name has the prefix `__Host-`, which binds the cookie to this host: other hosts
/// of the same domain cannot set it. Only the prefixed name is read then, so they cannot replace it
/// either.
fn cookie_name(kind: CookieKind<'_>, is_https: bool) -> String {
    let prefix = if is_https { "__Host-" } else { "" };
    match kind {
        CookieKind::Session => format!("{prefix}lockkeeper"),
        CookieKind::PendingSignIn(tag) => format!("{prefix}lockkeeper-sign-in-{tag}"),
        CookieKind::KnownBrowser => format!("{prefix}lockkeeper-known"),
    }
}

fn all_cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        // Some clients and proxies send several `Cookie` headers.
        .flat_map(Cookie::split_parse)
        .filter_map(|cookie| {
            let cookie = cookie.ok()?;
            Some((cookie.name_raw()?, cookie.value_raw()?))
        })
}

/// The value of a cookie. `None` if it is missing or sent twice: another host of the domain may
/// have set one of the two.
pub fn read<'a>(kind: CookieKind<'_>, headers: &'a HeaderMap, is_https: bool) -> Option<&'a str> {
    let name = cookie_name(kind, is_https);
    let mut matching = all_cookies(headers).filter(|(other, _)| *other == name);
    match (matching.next(), matching.next()) {
        (Some((_, value)), None) => Some(value),
        (_, _) => None,
    }
}

/// The tags of the sign-ins in progress in this browser.
pub fn pending_sign_in_tags(headers: &HeaderMap, is_https: bool) -> impl Iterator<Item = &str> {
    let prefix = cookie_name(CookieKind::PendingSignIn(""), is_https);
    all_cookies(headers).filter_map(move |(other, _)| other.strip_prefix(&prefix))
}

/// The `Set-Cookie` header for this value and lifetime. A lifetime of zero deletes the cookie.
pub fn set(kind: CookieKind<'_>, value: &str, max_age: Duration, is_https: bool) -> HeaderValue {
    // `Lax`: users who follow a link from another site, or return from a provider, stay signed in.
    // All state-changing requests are POSTs, and cross-site POSTs are rejected.
    let cookie = Cookie::build((cookie_name(kind, is_https), value))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(is_https)
        .max_age(time::Duration::try_from(max_age).unwrap_or(time::Duration::MAX));
    HeaderValue::from_str(&cookie.to_string()).expect("cookie values are hex digits or base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn having(cookies: &[&str]) -> HeaderMap {
        let lines = cookies
            .iter()
            .map(|line| HeaderValue::from_str(line).unwrap());
        lines.map(|line| (header::COOKIE, line)).collect()
    }

    #[test]
    fn a_cookie_is_read_only_under_its_own_name() {
        for (lines, plain, secure) in [
            (&["lockkeeper=a"][..], Some("a"), None),
            (&["x=1; lockkeeper=a; y=2"], Some("a"), None),
            (&["__Host-lockkeeper=b; lockkeeper=a"], Some("a"), Some("b")),
            (&["x=1", "lockkeeper=a"], Some("a"), None),
            // One of the two was set by another host.
            (&["lockkeeper=a; lockkeeper=b"], None, None),
            (&["notlockkeeper=a"], None, None),
            (&["lockkeeper"], None, None),
            (&[], None, None),
        ] {
            let headers = having(lines);
            assert_eq!(
                read(CookieKind::Session, &headers, false),
                plain,
                "{lines:?}"
            );
            assert_eq!(
                read(CookieKind::Session, &headers, true),
                secure,
                "{lines:?}"
            );
        }
        let headers = having(&["lockkeeper-sign-in-a=1; lockkeeper=2; lockkeeper-sign-in-b=3"]);
        assert_eq!(
            pending_sign_in_tags(&headers, false).collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn cookies_are_http_only_and_same_site() {
        let hour = Duration::from_hours(1);
        assert_eq!(
            set(CookieKind::Session, "ab", hour, true),
            "__Host-lockkeeper=ab; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=3600"
        );
        assert_eq!(
            set(CookieKind::Session, "", Duration::ZERO, false),
            "lockkeeper=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0"
        );
    }
}
