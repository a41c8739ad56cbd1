//! A sign-in in progress at the provider, stored in a cookie, so that it uses no memory here and
//! any instance can complete it. The cookie is encrypted with a key derived from `state`, which the
//! cookie does not contain.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

use crate::domain::Timestamp;
use crate::server::access::cookie::{self, CookieKind};
use crate::server::access::secret::SecretDigest;
use crate::server::seal::SealingKey;

/// How long a user may take to sign in at the provider.
pub const MAX_PENDING_AGE: Duration = Duration::from_mins(10);
/// The maximum number of pending sign-ins per browser (tabs). When one more starts, the others are
/// deleted: each adds up to 3 kB to every request.
const MAX_PENDING_PER_BROWSER: usize = 5;

/// The data stored from the start of a sign-in to its callback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSignIn {
    /// The nonce that the ID token must contain.
    pub nonce: String,
    /// The PKCE code verifier.
    pub verifier: String,
    /// The path to continue at.
    pub next: String,
    /// The start time.
    pub began: Timestamp,
}

impl PendingSignIn {
    /// The cookies to set at the start: its own, and deletions if there are too many. `None` if it
    /// cannot be encrypted.
    pub fn to_cookies(
        &self,
        state: &str,
        headers: &HeaderMap,
        is_https: bool,
    ) -> Option<Vec<HeaderValue>> {
        let text = serde_json::to_vec(self).ok()?;
        let sealed = BASE64URL_NOPAD.encode(&sealing_key(state).seal(&text)?);
        let own_cookie = cookie::set(
            CookieKind::PendingSignIn(&cookie_tag(state)),
            &sealed,
            MAX_PENDING_AGE,
            is_https,
        );
        let others: Vec<&str> = cookie::pending_sign_in_tags(headers, is_https).collect();
        let mut cookies = vec![own_cookie];
        // Abandoned sign-ins leave their cookie behind.
        if others.len() >= MAX_PENDING_PER_BROWSER {
            let end =
                |tag| cookie::set(CookieKind::PendingSignIn(tag), "", Duration::ZERO, is_https);
            cookies.extend(others.into_iter().map(end));
        }
        Some(cookies)
    }

    /// Reads the pending sign-in with this `state`, if the browser has it and it has not expired.
    pub fn from_cookie(
        state: &str,
        headers: &HeaderMap,
        is_https: bool,
        now: Timestamp,
    ) -> Option<Self> {
        let sealed = cookie::read(
            CookieKind::PendingSignIn(&cookie_tag(state)),
            headers,
            is_https,
        )?;
        let text = sealing_key(state).open(&BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?)?;
        let pending: Self = serde_json::from_slice(&text).ok()?;
        // The clock may have been set back since. A large difference in either direction counts as
        // expired.
        let age = now.since(pending.began).max(pending.began.since(now));
        (age < MAX_PENDING_AGE).then_some(pending)
    }

    /// The header that deletes the cookie.
    pub fn clear_cookie(state: &str, is_https: bool) -> HeaderValue {
        cookie::set(
            CookieKind::PendingSignIn(&cookie_tag(state)),
            "",
            Duration::ZERO,
            is_https,
        )
    }
}

fn sealing_key(state: &str) -> SealingKey {
    SealingKey::derive("pending sign-in", &[state.as_bytes()])
}

/// Distinguishes the pending sign-ins of a browser.
fn cookie_tag(state: &str) -> String {
    let mut digits = SecretDigest::of_secret(state).to_hex();
    // Only distinguishes the sign-ins of one browser; `state` itself must not be in the cookie's
    // name.
    digits.truncate(16);
    digits
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

    fn pending() -> PendingSignIn {
        PendingSignIn {
            nonce: "n".repeat(64),
            verifier: "v".repeat(64),
            next: "/".repeat(2048),
            began: BEGIN,
        }
    }

    /// Request headers with these cookies.
    fn headers_with(cookies: &[HeaderValue]) -> HeaderMap {
        let pairs = cookies.iter().map(|set| {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            (header::COOKIE, HeaderValue::from_str(pair).unwrap())
        });
        pairs.collect()
    }

    #[test]
    fn a_pending_sign_in_is_encrypted_and_requires_its_state_before_it_expires() {
        let cookies = pending().to_cookies("s", &HeaderMap::new(), true).unwrap();
        let text = cookies[0].to_str().unwrap();
        assert!(text.starts_with("__Host-lockkeeper-sign-in-") && text.len() < 4096);
        // Eight letters: four in a row occur by chance in base64 about once in 3,000 runs.
        assert!(
            !text.contains("nnnnnnnn") && !text.contains("vvvvvvvv"),
            "{text}"
        );
        let headers = headers_with(&cookies);
        for (seconds, is_valid) in [(0, true), (599, true), (600, false), (-600, false)] {
            let now = BEGIN.plus_millis(seconds * 1000);
            let read = PendingSignIn::from_cookie("s", &headers, true, now);
            assert_eq!(read, is_valid.then(pending), "{seconds}");
        }
        assert_eq!(
            PendingSignIn::from_cookie("another", &headers, true, BEGIN),
            None
        );
        assert_eq!(
            PendingSignIn::from_cookie("s", &headers, false, BEGIN),
            None
        );
    }

    #[test]
    fn the_number_of_pending_sign_ins_per_browser_is_limited() {
        let mut cookies_sent: Vec<HeaderValue> = Vec::new();
        for n in 0..MAX_PENDING_PER_BROWSER {
            let cookies = pending().to_cookies(&n.to_string(), &headers_with(&cookies_sent), false);
            let [own_cookie] = cookies.unwrap().try_into().unwrap();
            cookies_sent.push(own_cookie);
        }
        let cookies = pending()
            .to_cookies("more", &headers_with(&cookies_sent), false)
            .unwrap();
        assert_eq!(cookies.len(), 1 + MAX_PENDING_PER_BROWSER);
        let ends = cookies[1..].iter().map(|end| end.to_str().unwrap());
        assert!(ends.clone().all(|end| end.contains("Max-Age=0")));
    }
}
