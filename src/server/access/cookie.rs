//! The cookies that a browser has, for its session, for a sign-in that goes on elsewhere, and for being known here: which they are, and how they are set.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

/// Which cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// That of a session.
    Session,
    /// That of a sign-in which goes on at a provider.
    SignIn,
    /// What a browser keeps for long in which somebody signed in: guesses of others do not keep it out.
    Known,
}

/// The name of the cookie, over `https` or not.
///
/// Over `https` its name binds it to this very host: no neighbour below the same domain can set it. Only that name is read
/// there, so none can be put in its place.
pub fn name(which: Which, is_https: bool) -> &'static str {
    match (which, is_https) {
        (Which::Session, true) => "__Host-lockkeeper",
        (Which::Session, false) => "lockkeeper",
        (Which::SignIn, true) => "__Host-lockkeeper-sign-in",
        (Which::SignIn, false) => "lockkeeper-sign-in",
        (Which::Known, true) => "__Host-lockkeeper-known",
        (Which::Known, false) => "lockkeeper-known",
    }
}

/// What the browser has; nothing where it has none, or two of them.
pub fn read(which: Which, headers: &HeaderMap, is_https: bool) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let mut ours = pairs
        .filter(|(known, _)| *known == name(which, is_https))
        .map(|(_, value)| value);
    match (ours.next(), ours.next()) {
        (Some(value), None) => Some(value),
        (_, _) => None,
    }
}

/// Sets it for so long; an empty one takes it away.
pub fn set(which: Which, secret: &str, lasts: Duration, is_https: bool) -> HeaderValue {
    let (name, secure) = (
        name(which, is_https),
        if is_https { "; Secure" } else { "" },
    );
    let seconds = lasts.as_secs();
    // Lax: whoever follows a link to a lock from elsewhere is signed in, and who comes back from a provider is known. What changes something is a POST, and those of
    // other sites are refused.
    let cookie =
        format!("{name}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&cookie).expect("hex digits and plain words")
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
    }

    #[test]
    fn scripts_cannot_read_it_and_other_sites_cannot_send_it() {
        let hour = Duration::from_hours(1);
        assert_eq!(
            set(Which::Session, "ab", hour, true),
            "__Host-lockkeeper=ab; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure"
        );
        assert_eq!(
            set(Which::Session, "", Duration::ZERO, false),
            "lockkeeper=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"
        );
    }
}
