//! Where a request comes from: the address that calls, or the one for which a listed proxy calls. The word of others does not
//! count.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::header::FORWARDED;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;
use parking_lot::Mutex;

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Where a request comes from. Nothing is known of one that was made in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Who calls.
    pub peer: Option<IpAddr>,
    /// For whom: the same, unless a listed proxy says otherwise.
    pub caller: Option<IpAddr>,
}

impl Origin {
    /// Of a request with these extensions.
    pub fn of(extensions: &Extensions) -> Self {
        let noted = extensions.get::<Self>().copied();
        noted.unwrap_or_else(|| {
            let peer = extensions.get::<ConnectInfo<SocketAddr>>();
            let peer = peer.map(|peer| peer.0.ip().to_canonical());
            Self { peer, caller: peer }
        })
    }
}

/// So many peers that speak for others and are not listed are told of.
const MOST_UNLISTED: usize = 16;

/// The proxies whose word counts.
pub struct Proxies {
    listed: Vec<IpNet>,
    /// Others that said for whom they call: proxies that somebody forgot to list, or clients that made it up.
    unlisted: Mutex<Vec<IpAddr>>,
}

impl Proxies {
    /// These.
    pub fn new(listed: &[IpNet]) -> Self {
        Self {
            listed: listed.to_vec(),
            unlisted: Mutex::default(),
        }
    }

    /// Whether this is one of them.
    pub fn has(&self, address: IpAddr) -> bool {
        self.listed.iter().any(|network| network.contains(&address))
    }

    /// Notes where a request comes from. What others than listed proxies say of it is taken out of its headers.
    pub fn see(&self, request: &mut Request) {
        let Origin { peer, .. } = Origin::of(request.extensions());
        if let Some(peer) = peer
            && [FOR, FORWARDED]
                .iter()
                .any(|said| request.headers().contains_key(said))
            && !self.has(peer)
        {
            self.note_unlisted(peer);
        }
        if self.listed.is_empty() {
            return;
        }
        let headers = request.headers_mut();
        let is_listed = peer.is_some_and(|peer| self.has(peer));
        let caller = if is_listed {
            if let Some(proto) = forwarded(headers)
                .last()
                .and_then(|last| last.proto.clone())
            {
                headers.insert(PROTO, proto);
            }
            peer.map(|peer| self.caller(peer, headers))
        } else {
            for said in [FOR, PROTO, FORWARDED] {
                headers.remove(said);
            }
            peer
        };
        request.extensions_mut().insert(Origin { peer, caller });
    }

    /// Whoever said for whom it calls and is not listed.
    pub fn unlisted(&self) -> Vec<IpAddr> {
        self.unlisted.lock().clone()
    }

    fn note_unlisted(&self, peer: IpAddr) {
        let mut unlisted = self.unlisted.lock();
        if unlisted.len() < MOST_UNLISTED && !unlisted.contains(&peer) {
            unlisted.push(peer);
            tracing::warn!(
                %peer,
                "requests from {peer} say for whom they are (X-Forwarded-For or Forwarded), and {peer} is not in `trusted_from`: all \
                 who call through it are one client, for limits and for failed sign-ins. If it is your reverse proxy, list it"
            );
        }
    }

    /// The last address before the listed proxies. Where the two headers name different ones, somebody else wrote one of them.
    fn caller(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let plain = said_for(headers);
        let forwarded: Vec<_> = forwarded(headers).into_iter().map(|hop| hop.by).collect();
        match (plain.is_empty(), forwarded.is_empty()) {
            (true, true) => peer,
            (false, true) => self.before(peer, &plain),
            (true, false) => self.before(peer, &forwarded),
            (false, false) => {
                let (one, other) = (self.before(peer, &plain), self.before(peer, &forwarded));
                if one == other { one } else { peer }
            }
        }
    }

    /// Each proxy adds who called it at the end: from there, as far as listed ones go. What stands before that, anybody may have
    /// written.
    fn before(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> IpAddr {
        let mut known = peer;
        for hop in hops.iter().rev() {
            if !self.has(known) {
                break;
            }
            match hop {
                Some(address) => known = *address,
                None => break,
            }
        }
        known
    }
}

/// The addresses of `X-Forwarded-For`, the first caller first; nothing for what is none.
fn said_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(FOR).iter();
    lines
        .flat_map(|line| line.to_str().unwrap_or("?").split(','))
        .map(address)
        .collect()
}

/// One `for=…;proto=…` of `Forwarded` (RFC 7239).
struct Hop {
    by: Option<IpAddr>,
    proto: Option<HeaderValue>,
}

fn forwarded(headers: &HeaderMap) -> Vec<Hop> {
    let lines = headers.get_all(FORWARDED).iter();
    let hops = lines.flat_map(|line| line.to_str().unwrap_or("?").split(','));
    let hop = |text: &str| {
        let value = |name: &str| {
            text.split(';').find_map(|pair| {
                let (known, value) = pair.trim().split_once('=')?;
                let is_it = known.trim().eq_ignore_ascii_case(name);
                is_it.then(|| value.trim().trim_matches('"'))
            })
        };
        Hop {
            by: value("for").and_then(address),
            proto: value("proto").and_then(|proto| HeaderValue::from_str(proto).ok()),
        }
    };
    hops.map(hop).collect()
}

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let address = if let Some(rest) = text.strip_prefix('[') {
        rest.split_once(']')?.0.parse().ok()?
    } else if let Ok(address) = text.parse::<IpAddr>() {
        address
    } else {
        text.parse::<SocketAddr>().ok()?.ip()
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    /// Who calls, by these headers, from 10.0.0.1; the proxies are 10.0.0.0/24.
    fn caller(from: &str, headers: &[(&str, &str)]) -> String {
        let (caller, _) = seen(from, headers);
        caller.unwrap().to_string()
    }

    fn seen(from: &str, headers: &[(&str, &str)]) -> (Option<IpAddr>, HeaderMap) {
        let mut request = Request::get("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        let peer = SocketAddr::new(from.parse().unwrap(), 1);
        request.extensions_mut().insert(ConnectInfo(peer));
        Proxies::new(&["10.0.0.0/24".parse().unwrap()]).see(&mut request);
        let origin = Origin::of(request.extensions());
        assert_eq!(origin.peer, Some(from.parse().unwrap()));
        (origin.caller, request.headers().clone())
    }

    #[test]
    fn a_listed_proxy_says_for_whom_it_calls_and_nobody_else_does() {
        for (from, headers, expected) in [
            ("10.0.0.1", &[][..], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "9.9.9.9")], "9.9.9.9"),
            ("8.8.8.8", &[("x-forwarded-for", "9.9.9.9")], "8.8.8.8"),
            ("8.8.8.8", &[("forwarded", "for=9.9.9.9")], "8.8.8.8"),
            // What the client wrote itself stands before what the proxy added.
            (
                "10.0.0.1",
                &[("x-forwarded-for", "1.1.1.1, 9.9.9.9")],
                "9.9.9.9",
            ),
            (
                "10.0.0.1",
                &[
                    ("x-forwarded-for", "1.1.1.1"),
                    ("x-forwarded-for", "9.9.9.9"),
                ],
                "9.9.9.9",
            ),
            // Through two proxies.
            (
                "10.0.0.1",
                &[("x-forwarded-for", "1.1.1.1, 9.9.9.9, 10.0.0.7")],
                "9.9.9.9",
            ),
            (
                "10.0.0.1",
                &[("x-forwarded-for", "nobody, 10.0.0.7")],
                "10.0.0.7",
            ),
            ("10.0.0.1", &[("x-forwarded-for", "unknown")], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "")], "10.0.0.1"),
            (
                "10.0.0.1",
                &[("x-forwarded-for", "[2001:db8::1]:80")],
                "2001:db8::1",
            ),
            (
                "10.0.0.1",
                &[("x-forwarded-for", "9.9.9.9:1234")],
                "9.9.9.9",
            ),
            (
                "10.0.0.1",
                &[(
                    "forwarded",
                    "for=1.1.1.1, For=\"[2001:db8::1]:80\";proto=https",
                )],
                "2001:db8::1",
            ),
            ("10.0.0.1", &[("forwarded", "for=_hidden")], "10.0.0.1"),
            // The proxy writes one of them, and the client the other.
            (
                "10.0.0.1",
                &[("x-forwarded-for", "1.1.1.1"), ("forwarded", "for=9.9.9.9")],
                "10.0.0.1",
            ),
            (
                "10.0.0.1",
                &[("x-forwarded-for", "9.9.9.9"), ("forwarded", "for=9.9.9.9")],
                "9.9.9.9",
            ),
        ] {
            assert_eq!(caller(from, headers), expected, "{from} {headers:?}");
        }
    }

    #[test]
    fn over_what_the_browser_came_is_believed_of_listed_proxies_alone() {
        let https = [("x-forwarded-proto", "https")];
        let (_, headers) = seen("10.0.0.1", &https);
        assert_eq!(headers["x-forwarded-proto"], "https");
        let (_, headers) = seen("8.8.8.8", &https);
        assert!(headers.is_empty(), "{headers:?}");
        let (_, headers) = seen("10.0.0.1", &[("forwarded", "for=9.9.9.9;proto=https")]);
        assert_eq!(headers["x-forwarded-proto"], "https");
    }
}
