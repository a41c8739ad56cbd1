//! Checks of the `Host` header and of headers that proxies add.
//!
//! Without authentication, access is limited only by the network. A page of another site can bypass
//! that with DNS rebinding: its host name resolves to the console's address, which makes its
//! scripts same-origin. This does not work with an IP address or `localhost`, so only those and the
//! names in `allowed_hosts` are accepted.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, header};

/// Headers that reverse proxies add and browsers do not send.
const PROXY_HEADERS: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];

/// Whether `Host` is an IP address, a name of this machine, or one of these names.
pub fn is_allowed(headers: &HeaderMap, hosts: &[String]) -> bool {
    let mut host_values = headers.get_all(header::HOST).iter();
    match (host_values.next(), host_values.next()) {
        // Browsers always send `Host`, so this is not DNS rebinding.
        (None, _) => true,
        (Some(host), None) => host.to_str().is_ok_and(|host| is_allowed_name(host, hosts)),
        (Some(_), Some(_)) => false,
    }
}

/// The first header that shows that the request came through a reverse proxy.
pub fn proxy_header(headers: &HeaderMap) -> Option<&'static str> {
    let mut names = PROXY_HEADERS.into_iter();
    names.find(|name| headers.contains_key(*name))
}

fn is_allowed_name(host: &str, hosts: &[String]) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest
            .split_once(']')
            .is_some_and(|(address, _port)| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.split_once(':').map_or(host, |(name, _port)| name);
    // A trailing dot denotes the same host name.
    let name = name.strip_suffix('.').unwrap_or(name);
    let name = name.to_ascii_lowercase();
    name == "localhost"
        // RFC 6761 reserves these names for the loopback interface.
        || name.ends_with(".localhost")
        || name.parse::<Ipv4Addr>().is_ok()
        || hosts.contains(&name)
}

/// Whether `X-Forwarded-Proto` is `https`. If trusted proxies are configured, the header was
/// removed from requests of others; if not, a client that forges it only harms itself.
pub fn is_https(headers: &HeaderMap) -> bool {
    let proto = headers.get("x-forwarded-proto");
    proto.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_localhost_and_listed_names_are_allowed() {
        let hosts = ["locks.example.org".to_owned()];
        for (host, is_known) in [
            ("locks.example.org", true),
            ("Locks.Example.org.:7878", true),
            ("locks.example.org.evil.example", false),
            ("evil.locks.example.org", false),
            ("127.0.0.1", true),
            ("127.0.0.1:7878", true),
            ("[::1]:7878", true),
            ("[::1]", true),
            ("192.168.1.4:7878", true),
            ("localhost", true),
            ("LOCALHOST:7878", true),
            ("localhost.:7878", true),
            ("console.localhost:7878", true),
            ("evil.example", false),
            ("evil.example:7878", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("127.0.0.1.nip.io:7878", false),
            ("evillocalhost", false),
            ("[evil.example]:1", false),
            ("[::1", false),
            ("", false),
        ] {
            assert_eq!(is_allowed_name(host, &hosts), is_known, "{host}");
        }
    }
}
