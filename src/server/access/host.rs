//! Under which name a browser reached the console, and over what.
//!
//! Where nobody needs to sign in, the address is the wall. A page of somebody else's can get past it: it has its own
//! name resolve to the console's address ("DNS rebinding"), and then its scripts are of the same origin as the console. They
//! cannot do so with an address or with `localhost`, so only these are answered then, and the names that the operator lists.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, header};

/// Headers that reverse proxies add, and browsers do not send.
const OF_PROXIES: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];

/// Whether the request was sent to an address, to this machine by name, or to one of these names; not to a name that somebody
/// else may have given.
pub fn is_known(headers: &HeaderMap, hosts: &[String]) -> bool {
    let mut sent_to = headers.get_all(header::HOST).iter();
    match (sent_to.next(), sent_to.next()) {
        // No browser leaves it out.
        (None, _) => true,
        (Some(host), None) => host.to_str().is_ok_and(|host| is_known_host(host, hosts)),
        (Some(_), Some(_)) => false,
    }
}

/// The header that shows that a reverse proxy passed the request on.
pub fn proxy_header(headers: &HeaderMap) -> Option<&'static str> {
    let mut names = OF_PROXIES.into_iter();
    names.find(|name| headers.contains_key(*name))
}

fn is_known_host(host: &str, hosts: &[String]) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest
            .split_once(']')
            .is_some_and(|(address, _port)| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.split_once(':').map_or(host, |(name, _port)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<Ipv4Addr>().is_ok()
        || hosts.contains(&name)
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
    fn only_addresses_this_machine_and_listed_names_are_known() {
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
            assert_eq!(is_known_host(host, &hosts), is_known, "{host}");
        }
    }
}
