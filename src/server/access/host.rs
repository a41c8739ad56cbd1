//! Under which name a browser reached the console, and over what.
//!
//! Where nobody needs to sign in, the loopback address is the wall. A page of somebody else's can get past it: it has its own
//! name resolve to 127.0.0.1 ("DNS rebinding"), and then its scripts are of the same origin as the console. They cannot do so
//! with an address or with `localhost`, so only these are answered then.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, header};

/// Whether the request was sent to an address or to this machine by name, not to a name that somebody else may have given.
pub fn is_plain(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        // No browser leaves it out.
        (None, _) => true,
        (Some(host), None) => host.to_str().is_ok_and(is_plain_host),
        (Some(_), Some(_)) => false,
    }
}

fn is_plain_host(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest
            .split_once(']')
            .is_some_and(|(address, _port)| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.split_once(':').map_or(host, |(name, _port)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name.parse::<Ipv4Addr>().is_ok()
}

/// Whether a proxy says that the browser reached it over `https`. Where proxies are listed, others' word was taken out before;
/// where none are, believing it harms nobody but who says it.
pub fn is_https(headers: &HeaderMap) -> bool {
    let said = headers.get("x-forwarded-proto");
    said.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_this_machine_are_plain() {
        for (host, is_plain) in [
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
            assert_eq!(is_plain_host(host), is_plain, "{host}");
        }
    }
}
