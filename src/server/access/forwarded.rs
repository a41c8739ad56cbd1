//! Resolves the client's address. `X-Forwarded-For` and `Forwarded` are trusted only from
//! configured proxies.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use axum::http::header::FORWARDED;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;
use parking_lot::Mutex;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The addresses of a request's sender. Empty for requests made in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientAddress {
    /// The remote address of the connection.
    pub peer: Option<IpAddr>,
    /// The client: the peer, or the address that a trusted proxy reports.
    pub client: Option<IpAddr>,
}

impl ClientAddress {
    /// The addresses that [`TrustedProxies::resolve`] stored, or else the peer of the connection.
    pub fn from_extensions(extensions: &Extensions) -> Self {
        let resolved = extensions.get::<Self>().copied();
        resolved.unwrap_or_else(|| {
            let peer = extensions.get::<ConnectInfo<SocketAddr>>();
            let peer = peer.map(|peer| peer.0.ip().to_canonical());
            Self { peer, client: peer }
        })
    }
}

/// The maximum number of untrusted forwarding peers to remember for the warning.
const MAX_UNLISTED: usize = 16;

/// The configured proxies.
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    /// Other peers that sent forwarding headers: unconfigured proxies, or clients that forge the
    /// header.
    unlisted: Mutex<Vec<IpAddr>>,
}

impl TrustedProxies {
    /// Trusts proxies in these networks.
    pub fn new(listed: &[IpNet]) -> Self {
        Self {
            networks: listed.to_vec(),
            unlisted: Mutex::default(),
        }
    }

    /// Whether the address belongs to a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }

    /// Stores the [`ClientAddress`] in the request's extensions. Removes forwarding headers that do
    /// not come from a trusted proxy.
    pub fn resolve(&self, request: &mut Request) {
        let ClientAddress { peer, .. } = ClientAddress::from_extensions(request.extensions());
        if let Some(peer) = peer
            && [X_FORWARDED_FOR, FORWARDED]
                .iter()
                .any(|name| request.headers().contains_key(name))
            && !self.contains(peer)
        {
            self.record_unlisted(peer);
        }
        // Without trusted proxies the headers stay: `host` uses them to detect a proxy in front of
        // an open console.
        if self.networks.is_empty() {
            return;
        }
        let headers = request.headers_mut();
        let is_listed = peer.is_some_and(|peer| self.contains(peer));
        let caller = if is_listed {
            if let Some(proto) = forwarded_hops(headers)
                .last()
                .and_then(|last| last.proto.clone())
            {
                // Normalized, so that later checks read a single header.
                headers.insert(X_FORWARDED_PROTO, proto);
            }
            peer.map(|peer| self.resolve_client(peer, headers))
        } else {
            for name in [X_FORWARDED_FOR, X_FORWARDED_PROTO, FORWARDED] {
                headers.remove(name);
            }
            peer
        };
        request.extensions_mut().insert(ClientAddress {
            peer,
            client: caller,
        });
    }

    /// Untrusted peers that sent forwarding headers.
    pub fn unlisted(&self) -> Vec<IpAddr> {
        self.unlisted.lock().clone()
    }

    fn record_unlisted(&self, peer: IpAddr) {
        let mut unlisted = self.unlisted.lock();
        // Bounds the log: clients can forge the header from many addresses.
        if unlisted.len() < MAX_UNLISTED && !unlisted.contains(&peer) {
            unlisted.push(peer);
            tracing::warn!(
                %peer,
                "requests from {peer} have X-Forwarded-For or Forwarded headers, but {peer} is not in `trusted_proxies`. All clients behind it \
                 share one address for rate limits and sign-in throttling. If it is your reverse proxy, add it to `trusted_proxies`"
            );
        }
    }

    /// The last address before the trusted proxies. If the two headers disagree, one of them was
    /// written by the client, and the peer is used.
    fn resolve_client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let x_forwarded_for = x_forwarded_for_hops(headers);
        let forwarded: Vec<_> = forwarded_hops(headers)
            .into_iter()
            .map(|hop| hop.client)
            .collect();
        match (x_forwarded_for.is_empty(), forwarded.is_empty()) {
            (true, true) => peer,
            (false, true) => self.last_untrusted_hop(peer, &x_forwarded_for),
            (true, false) => self.last_untrusted_hop(peer, &forwarded),
            (false, false) => {
                let (one, other) = (
                    self.last_untrusted_hop(peer, &x_forwarded_for),
                    self.last_untrusted_hop(peer, &forwarded),
                );
                // A proxy that writes both headers reports the same address in both. Usually it
                // writes one and passes the other on unchanged, as the client sent it. Which one is
                // unknown here.
                if one == other { one } else { peer }
            }
        }
    }

    /// Walks the hops from the end, because each proxy appends its peer, and stops at the first
    /// address that is not a trusted proxy. Earlier entries can be forged.
    fn last_untrusted_hop(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> IpAddr {
        let mut current = peer;
        for hop in hops.iter().rev() {
            if !self.contains(current) {
                break;
            }
            match hop {
                Some(address) => current = *address,
                None => break,
            }
        }
        current
    }
}

/// The addresses in `X-Forwarded-For`, in order. `None` for an entry that is not an address.
fn x_forwarded_for_hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(X_FORWARDED_FOR).iter();
    lines
        // An undecodable line counts as an unknown hop, at which the walk stops.
        .flat_map(|line| line.to_str().unwrap_or("?").split(','))
        .map(parse_address)
        .collect()
}

/// One element of `Forwarded` (RFC 7239).
struct ForwardedHop {
    client: Option<IpAddr>,
    proto: Option<HeaderValue>,
}

fn forwarded_hops(headers: &HeaderMap) -> Vec<ForwardedHop> {
    let lines = headers.get_all(FORWARDED).iter();
    let hops = lines.flat_map(|line| line.to_str().unwrap_or("?").split(','));
    let hop = |text: &str| {
        let value = |name: &str| {
            text.split(';').find_map(|pair| {
                let (current, value) = pair.trim().split_once('=')?;
                let matches = current.trim().eq_ignore_ascii_case(name);
                matches.then(|| value.trim().trim_matches('"'))
            })
        };
        ForwardedHop {
            client: value("for").and_then(parse_address),
            proto: value("proto").and_then(|proto| HeaderValue::from_str(proto).ok()),
        }
    };
    hops.map(hop).collect()
}

/// Parses an IP address with or without a port.
fn parse_address(text: &str) -> Option<IpAddr> {
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

    /// The client that is resolved from these headers. Trusted proxies are 10.0.0.0/24.
    fn caller(from: &str, headers: &[(&str, &str)]) -> String {
        let (caller, _) = resolve(from, headers);
        caller.unwrap().to_string()
    }

    fn resolve(from: &str, headers: &[(&str, &str)]) -> (Option<IpAddr>, HeaderMap) {
        let mut request = Request::get("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        let peer = SocketAddr::new(from.parse().unwrap(), 1);
        request.extensions_mut().insert(ConnectInfo(peer));
        TrustedProxies::new(&["10.0.0.0/24".parse().unwrap()]).resolve(&mut request);
        let origin = ClientAddress::from_extensions(request.extensions());
        assert_eq!(origin.peer, Some(from.parse().unwrap()));
        (origin.client, request.headers().clone())
    }

    #[test]
    fn only_trusted_proxies_may_report_the_client() {
        for (from, headers, expected) in [
            ("10.0.0.1", &[][..], "10.0.0.1"),
            ("10.0.0.1", &[("x-forwarded-for", "9.9.9.9")], "9.9.9.9"),
            ("8.8.8.8", &[("x-forwarded-for", "9.9.9.9")], "8.8.8.8"),
            ("8.8.8.8", &[("forwarded", "for=9.9.9.9")], "8.8.8.8"),
            // An entry forged by the client comes before the one that the proxy appended.
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
                &[("x-forwarded-for", "unknown, 10.0.0.7")],
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
            // The proxy wrote one header, the client the other.
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
    fn the_forwarded_protocol_is_accepted_only_from_trusted_proxies() {
        let https = [("x-forwarded-proto", "https")];
        let (_, headers) = resolve("10.0.0.1", &https);
        assert_eq!(headers["x-forwarded-proto"], "https");
        let (_, headers) = resolve("8.8.8.8", &https);
        assert!(headers.is_empty(), "{headers:?}");
        let (_, headers) = resolve("10.0.0.1", &[("forwarded", "for=9.9.9.9;proto=https")]);
        assert_eq!(headers["x-forwarded-proto"], "https");
    }
}
