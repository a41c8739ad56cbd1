//! The cookies of a browser: their names, and how they are read and set.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use axum_extra::extract::cookie::{Cookie, SameSite};

/// Which cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// That of a session.
    Session,
    /// That of a sign-in which goes on at a provider, with what tells it from others of the same browser.
    SignIn(&'a str),
    /// What a browser keeps for long in which somebody signed in: guesses of others do not keep it out.
    Known,
}

/// The name of the cookie, over `https` or not.
///
/// Over `https` its name binds it to this very host: no neighbour below the same domain can set it. Only that name is read
/// there, so none can be put in its place.
fn name(which: Which<'_>, is_https: bool) -> String {
    let prefix = if is_https { "__Host-" } else { "" };
    match which {
        Which::Session => format!("{prefix}lockkeeper"),
        Which::SignIn(tag) => format!("{prefix}lockkeeper-sign-in-{tag}"),
        Which::Known => format!("{prefix}lockkeeper-known"),
    }
}

fn all(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(header::COOKIE).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(Cookie::split_parse)
        .filter_map(|cookie| {
            let cookie = cookie.ok()?;
            Some((cookie.name_raw()?, cookie.value_raw()?))
        })
}

/// What the browser has; nothing where it has none, or two of them: a neighbour may have set one of the two.
pub fn read<'a>(which: Which<'_>, headers: &'a HeaderMap, is_https: bool) -> Option<&'a str> {
    let name = name(which, is_https);
    let mut ours = all(headers).filter(|(known, _)| *known == name);
    match (ours.next(), ours.next()) {
        (Some((_, value)), None) => Some(value),
        (_, _) => None,
    }
}

/// What tells the sign-ins from each other that go on in this browser.
pub fn sign_ins(headers: &HeaderMap, is_https: bool) -> impl Iterator<Item = &str> {
    let begins = name(Which::SignIn(""), is_https);
    all(headers).filter_map(move |(known, _)| known.strip_prefix(&begins))
}

/// Sets it for so long; an empty one takes it away.
pub fn set(which: Which<'_>, value: &str, lasts: Duration, is_https: bool) -> HeaderValue {
    // Lax: whoever follows a link to a lock from elsewhere is signed in, and who comes back from a provider is known. What changes
    // something is a POST, and those of other sites are refused.
    let cookie = Cookie::build((name(which, is_https), value))
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(is_https)
        .max_age(time::Duration::try_from(lasts).unwrap_or(time::Duration::MAX));
    HeaderValue::from_str(&cookie.to_string()).expect("values are hex digits or base64")
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
    fn the_cookie_is_read_under_its_own_name_alone() {
        for (lines, plain, secure) in [
            (&["lockkeeper=a"][..], Some("a"), None),
            (&["x=1; lockkeeper=a; y=2"], Some("a"), None),
            (&["__Host-lockkeeper=b; lockkeeper=a"], Some("a"), Some("b")),
            (&["x=1", "lockkeeper=a"], Some("a"), None),
            // One of them is somebody else's.
            (&["lockkeeper=a; lockkeeper=b"], None, None),
            (&["notlockkeeper=a"], None, None),
            (&["lockkeeper"], None, None),
            (&[], None, None),
        ] {
            let headers = having(lines);
            assert_eq!(read(Which::Session, &headers, false), plain, "{lines:?}");
            assert_eq!(read(Which::Session, &headers, true), secure, "{lines:?}");
        }
        let headers = having(&["lockkeeper-sign-in-a=1; lockkeeper=2; lockkeeper-sign-in-b=3"]);
        assert_eq!(sign_ins(&headers, false).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn scripts_cannot_read_it_and_other_sites_cannot_send_it() {
        let hour = Duration::from_hours(1);
        assert_eq!(
            set(Which::Session, "ab", hour, true),
            "__Host-lockkeeper=ab; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=3600"
        );
        assert_eq!(
            set(Which::Session, "", Duration::ZERO, false),
            "lockkeeper=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0"
        );
    }
}
