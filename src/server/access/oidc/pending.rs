//! A sign-in that began and has not ended: its browser keeps it in a cookie of its own, so beginning one takes no memory here and
//! any console can end it. The cookie is sealed with the `state` that the provider is told, which is not kept beside it.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

use crate::domain::Timestamp;
use crate::server::access::cookie::{self, Which};
use crate::server::access::secret::SecretDigest;
use crate::server::seal::Seal;

/// So long somebody may take at the provider.
pub const LASTS: Duration = Duration::from_mins(10);
/// So many sign-ins may go on in one browser, in several tabs; the others are forgotten when one more begins. Each is up to 3 kB
/// in every request.
const MAX_IN_BROWSER: usize = 5;

/// What a browser keeps of a sign-in from its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// What the provider's word has to repeat.
    pub nonce: String,
    /// What proves to the provider that it is the same sign-in.
    pub verifier: String,
    /// Where somebody wants to go afterwards.
    pub next: String,
    /// When it began.
    pub began: Timestamp,
}

impl Pending {
    /// The cookies to set where this sign-in begins under this `state`: its own, and the ends of those that are too many. Nothing
    /// if it cannot be sealed.
    pub fn cookies(
        &self,
        state: &str,
        headers: &HeaderMap,
        is_https: bool,
    ) -> Option<Vec<HeaderValue>> {
        let text = serde_json::to_vec(self).ok()?;
        let sealed = BASE64URL_NOPAD.encode(&seal(state).close(&text)?);
        let own = cookie::set(Which::SignIn(&tag(state)), &sealed, LASTS, is_https);
        let others: Vec<&str> = cookie::sign_ins(headers, is_https).collect();
        let mut cookies = vec![own];
        if others.len() >= MAX_IN_BROWSER {
            let end = |tag| cookie::set(Which::SignIn(tag), "", Duration::ZERO, is_https);
            cookies.extend(others.into_iter().map(end));
        }
        Some(cookies)
    }

    /// What the browser kept under this `state`, if it did and it is not too old.
    pub fn read(state: &str, headers: &HeaderMap, is_https: bool, now: Timestamp) -> Option<Self> {
        let sealed = cookie::read(Which::SignIn(&tag(state)), headers, is_https)?;
        let text = seal(state).open(&BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?)?;
        let pending: Self = serde_json::from_slice(&text).ok()?;
        // A clock that went back makes it unknown how old it is.
        let age = now.since(pending.began).max(pending.began.since(now));
        (age < LASTS).then_some(pending)
    }

    /// The cookie that takes it away.
    pub fn end(state: &str, is_https: bool) -> HeaderValue {
        cookie::set(Which::SignIn(&tag(state)), "", Duration::ZERO, is_https)
    }
}

fn seal(state: &str) -> Seal {
    Seal::of("pending sign-in", &[state.as_bytes()])
}

/// What a sign-in is told by from others of its browser.
fn tag(state: &str) -> String {
    let mut digits = SecretDigest::of(state).digits();
    digits.truncate(16);
    digits
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    const BEGIN: Timestamp = Timestamp::from_millis(1_000_000_000);

    fn pending() -> Pending {
        Pending {
            nonce: "n".repeat(64),
            verifier: "v".repeat(64),
            next: "/".repeat(2048),
            began: BEGIN,
        }
    }

    /// The headers of a browser that has these cookies.
    fn having(cookies: &[HeaderValue]) -> HeaderMap {
        let pairs = cookies.iter().map(|set| {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            (header::COOKIE, HeaderValue::from_str(pair).unwrap())
        });
        pairs.collect()
    }

    #[test]
    fn it_is_read_under_its_state_in_time_and_says_nothing_to_who_reads_the_cookie() {
        let cookies = pending().cookies("s", &HeaderMap::new(), true).unwrap();
        let text = cookies[0].to_str().unwrap();
        assert!(text.starts_with("__Host-lockkeeper-sign-in-") && text.len() < 4096);
        assert!(!text.contains("nnnn") && !text.contains("vvvv"), "{text}");
        let headers = having(&cookies);
        for (after, is_there) in [(0, true), (599, true), (600, false), (-600, false)] {
            let now = BEGIN.plus_millis(after * 1000);
            let read = Pending::read("s", &headers, true, now);
            assert_eq!(read, is_there.then(pending), "{after}");
        }
        assert_eq!(Pending::read("another", &headers, true, BEGIN), None);
        assert_eq!(Pending::read("s", &headers, false, BEGIN), None);
    }

    #[test]
    fn a_browser_keeps_a_few_and_those_of_before_make_room() {
        let mut kept: Vec<HeaderValue> = Vec::new();
        for n in 0..MAX_IN_BROWSER {
            let cookies = pending().cookies(&n.to_string(), &having(&kept), false);
            let [own] = cookies.unwrap().try_into().unwrap();
            kept.push(own);
        }
        let cookies = pending().cookies("more", &having(&kept), false).unwrap();
        assert_eq!(cookies.len(), 1 + MAX_IN_BROWSER);
        let ends = cookies[1..].iter().map(|end| end.to_str().unwrap());
        assert!(ends.clone().all(|end| end.contains("Max-Age=0")));
    }
}
