//! The URLs of the console, and the parsers for lock URLs and query strings.

use crate::domain::search::{Predicate, SearchQuery};
use crate::domain::{Fingerprint, LockId, LockKey, OwnerIdentity, Timestamp};

/// The lock list.
pub const LOCKS: &str = "/";
/// The nodes.
pub const NODES: &str = "/nodes";
/// The owners.
pub const OWNERS: &str = "/owners";
/// The lock waits.
pub const WAITS: &str = "/waits";
/// What happened over time.
pub const ACTIVITY: &str = "/activity";
/// The audit log.
pub const AUDIT: &str = "/audit";
/// The export of the audit log, from the API.
pub const AUDIT_EXPORT: &str = "/api/v1/audit/export";
/// The export of the lock list, from the API.
pub const LOCKS_EXPORT: &str = "/api/v1/locks/export";
/// The event stream of lock changes, from the API.
pub const EVENTS: &str = "/api/v1/events";
/// The locks acquired through this console.
pub const MINE: &str = "/mine";

/// The configured webhooks, for admins.
pub const WEBHOOKS: &str = "/webhooks";

/// The help page. It is rendered on the server only and is loaded as a document.
pub const HELP: &str = "/help";
/// The API reference.
pub const API_DOCS: &str = "/api/docs";

/// The UI kit in all its states. Release builds answer 404.
pub const KIT: &str = "/kit";

/// The sign-in page, and the target of its form.
pub const SIGN_IN: &str = "/sign-in";
/// Redirects to the sign-in provider.
pub const SIGN_IN_PROVIDER: &str = "/sign-in/provider";
/// Redirects to the sign-out of the provider.
pub const SIGN_OUT_PROVIDER: &str = "/sign-out/provider";
/// The target of the sign-out form.
pub const SIGN_OUT: &str = "/sign-out";
/// The target of the language form.
pub const LANGUAGE: &str = "/language";

/// The sign-in page, which redirects to this page afterwards.
pub fn sign_in(pathname: &str, search: &str) -> String {
    format!("{SIGN_IN}?next={}", segment(&address_of(pathname, search)))
}

/// The sign-in with the provider, which redirects to `next` afterwards.
pub fn sign_in_with_provider(next: &str) -> String {
    format!("{SIGN_IN_PROVIDER}?next={}", segment(next))
}

/// A path with its query string.
pub fn address_of(pathname: &str, search: &str) -> String {
    match search.trim_start_matches('?') {
        "" => pathname.to_owned(),
        search => format!("{pathname}?{search}"),
    }
}

/// The lock list, searched for this text in owners, names and fingerprints.
pub fn search_locks(name: &str) -> String {
    format!("{LOCKS}?q={}", segment(name))
}

/// The URL fragment that selects all locks of a list for a bulk release.
pub const SELECT_ALL: &str = "#select-all";

/// The locks of exactly this host. An empty name selects the locks of owners without a label.
pub fn locks_of_host(name: &str) -> String {
    let search = SearchQuery::default().with_term(Predicate::Host(name.to_owned()));
    format!("{LOCKS}?q={}", segment(&search.to_string()))
}

/// The locks of exactly this host, all selected.
pub fn select_all_of_host(name: &str) -> String {
    locks_of_host(name) + SELECT_ALL
}

/// The page of one owner, without the query string.
pub fn owner_pathname(owner: &OwnerIdentity) -> String {
    let name = owner.name();
    match name {
        name if is_dropped_segment(name) => format!("{OWNERS}/-"),
        name => format!("{OWNERS}/{}", segment(name)),
    }
}

/// The fields of the query string that name an owner, in addition to the path.
pub fn owner_fields(owner: &OwnerIdentity) -> Vec<(&'static str, String)> {
    match owner {
        OwnerIdentity::Host(name) if is_dropped_segment(name) => vec![("name", name.clone())],
        OwnerIdentity::Host(_) => Vec::new(),
        OwnerIdentity::Fingerprint(_) => vec![("by", "fingerprint".to_owned())],
    }
}

/// Whether browsers remove the text as a path segment, even if it is percent-encoded.
fn is_dropped_segment(text: &str) -> bool {
    matches!(text, "" | "." | "..")
}

/// The page of one owner.
pub fn owner(owner: &OwnerIdentity) -> String {
    with_fields(&owner_pathname(owner), owner_fields(owner))
}

/// Whether the path is that of the page of an owner.
pub fn is_owner(pathname: &str) -> bool {
    let owner = pathname.strip_prefix(OWNERS);
    owner.is_some_and(|owner| owner.starts_with('/'))
}

/// Parses the URL of the page of an owner; `None` for another page or a malformed name.
pub fn parse_owner(pathname: &str, search: &str) -> Option<OwnerIdentity> {
    let path = pathname.strip_prefix(OWNERS)?.strip_prefix('/')?;
    let name = fields(search).find_map(|(field, value)| (field == "name").then_some(value));
    let name = match name {
        Some(name) => name,
        None => String::from_utf8(LockKey::decode(path)?.as_bytes().to_vec()).ok()?,
    };
    match field(search, "by").as_deref() {
        Some("fingerprint") => Fingerprint::parse(&name).map(OwnerIdentity::Fingerprint),
        Some(_) => None,
        None => Some(OwnerIdentity::Host(name)),
    }
}

/// The locks of exactly this owner.
pub fn locks_of_owner(owner: &OwnerIdentity) -> String {
    match owner {
        OwnerIdentity::Host(name) => locks_of_host(name),
        OwnerIdentity::Fingerprint(fingerprint) => {
            let term = Predicate::Owner(fingerprint.as_str().to_owned());
            let search = SearchQuery::default().with_term(term);
            format!("{LOCKS}?q={}", segment(&search.to_string()))
        }
    }
}

/// The locks of exactly this owner, all selected.
pub fn select_all_of_owner(owner: &OwnerIdentity) -> String {
    locks_of_owner(owner) + SELECT_ALL
}

/// The page of one lock.
pub fn lock(id: &LockId) -> String {
    id.page_path()
}

/// The page of one lock as it was at a time.
pub fn pinned_lock(id: &LockId, at: Timestamp) -> String {
    let path = lock(id);
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}at={at}")
}

/// The time of a page of a lock as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinnedTime {
    /// A time.
    At(Timestamp),
    /// A value that is not an RFC 3339 time.
    Invalid,
}

/// The time in the query string of a lock page; `None` for the current state.
pub fn pinned_time(search: &str) -> Option<PinnedTime> {
    let text = field(search, "at")?;
    // A time zone of `+02:00` is not supported: `+` is a space in a query string.
    Some(Timestamp::try_from(text).map_or(PinnedTime::Invalid, PinnedTime::At))
}

/// The API path of a lock. Operations are appended as a further segment.
pub fn api_lock(id: &LockId) -> String {
    format!(
        "/api/v1/groups/{}/locks/{}",
        segment(&id.group),
        id.key.encoded()
    )
}

/// Parses the path of a lock page.
///
/// The parameters of the router cannot be used: they are decoded as UTF-8, and lock names are
/// bytes.
pub fn parse_lock(pathname: &str, search: &str) -> Option<LockId> {
    let (group, key) = pathname.strip_prefix("/groups/")?.split_once("/locks")?;
    let group = String::from_utf8(LockKey::decode(group)?.as_bytes().to_vec()).ok()?;
    let key = match key.strip_prefix('/') {
        Some(key) if !key.is_empty() => LockKey::decode(key)?,
        Some(_) => key_from_query(search),
        None if key.is_empty() => key_from_query(search),
        None => return None,
    };
    Some(LockId { group, key })
}

/// Percent-encodes a text as one path segment or query value.
pub fn segment(text: &str) -> String {
    LockKey::from(text).encoded()
}

/// A path with these query parameters.
pub fn with_fields(path: &str, fields: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let pair = |(name, value): (&str, String)| format!("{name}={}", segment(&value));
    let fields: Vec<String> = fields.into_iter().map(pair).collect();
    match fields.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", fields.join("&")),
    }
}

/// The query string of a URL, without `?`.
pub fn query_string(path: &str) -> String {
    let search = path.split_once('?').map(|(_, search)| search);
    search.unwrap_or_default().to_owned()
}

/// The fields of a query string, as encoded by a form or by [`with_fields`]. Malformed fields are
/// skipped.
pub fn fields(search: &str) -> impl Iterator<Item = (&str, String)> {
    let pairs = search.trim_start_matches('?').split('&');
    pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        // Forms encode a space as `+`.
        let value = LockKey::decode(&value.replace('+', "%20"))?;
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        Some((name, text))
    })
}

/// One field of a query string; `None` if it is missing or empty.
pub fn field(search: &str, field: &str) -> Option<String> {
    let mut values = fields(search).filter(|(name, value)| *name == field && !value.is_empty());
    values.next().map(|(_, value)| value)
}

fn key_from_query(search: &str) -> LockKey {
    decoded_value(search, "key").unwrap_or_else(|| LockKey::new([]))
}

/// One value of a query string. The query map of the router decodes values twice, which would
/// change lock names that contain `%`.
pub fn decoded_value(search: &str, name: &str) -> Option<LockKey> {
    let mut pairs = search.trim_start_matches('?').split('&');
    pairs.find_map(|pair| {
        let (field, value) = pair.split_once('=')?;
        (field == name).then(|| LockKey::decode(value))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(id: &LockId) -> Option<LockId> {
        let path = lock(id);
        let (pathname, search) = path.split_once('?').unwrap_or((&path, ""));
        parse_lock(pathname, search)
    }

    #[test]
    fn a_path_names_exactly_one_lock() {
        for key in [
            "lock:a/b",
            "%41",
            "",
            ".",
            "..",
            "it's \"quoted\"",
            "🔒",
            "<b>",
            "locks",
            "/locks/",
        ] {
            let id = LockId {
                group: "orders".into(),
                key: key.into(),
            };
            assert_eq!(round_trip(&id), Some(id.clone()), "{}", lock(&id));
        }
    }

    #[test]
    fn the_url_of_an_owner_names_exactly_one() {
        for name in [
            "web-2",
            "",
            ".",
            "..",
            "-",
            "a/b?c#d%41&name=x",
            "\u{202e}evil \u{0}<script>",
            "d3c19a0b77e04fd2",
            "主机",
        ] {
            let host = OwnerIdentity::Host(name.into());
            let path = owner(&host);
            let (pathname, search) = path.split_once('?').unwrap_or((&path, ""));
            assert_eq!(parse_owner(pathname, search), Some(host), "{path}");
            assert!(path.is_ascii() && !path.contains(['<', '"', '#']), "{path}");
        }
        let fingerprint = Fingerprint::parse("d3c19a0b77e04fd2").unwrap();
        let unlabelled = OwnerIdentity::Fingerprint(fingerprint);
        let path = owner(&unlabelled);
        let (pathname, search) = path.split_once('?').unwrap();
        assert_eq!(parse_owner(pathname, search), Some(unlabelled));
        for (pathname, search) in [
            ("/owners", ""),
            ("/owners/%ff", ""),
            ("/owners/web-2", "by=fingerprint"),
            ("/nodes/x", ""),
        ] {
            assert_eq!(parse_owner(pathname, search), None, "{pathname}");
        }
    }

    #[test]
    fn the_empty_name_may_end_in_a_slash_or_not() {
        let empty = LockId {
            group: "g".into(),
            key: "".into(),
        };
        assert_eq!(parse_lock("/groups/g/locks/", ""), Some(empty.clone()));
        assert_eq!(parse_lock("/groups/g/locks", ""), Some(empty));
    }

    #[test]
    fn a_pinned_link_names_the_lock_and_the_time() {
        let at = Timestamp::from_millis(1_795_200_485_556);
        for key in ["lock:a/b", ""] {
            let id = LockId {
                group: "orders".into(),
                key: key.into(),
            };
            let path = pinned_lock(&id, at);
            let (pathname, search) = path.split_once('?').unwrap();
            assert_eq!(parse_lock(pathname, search), Some(id));
            assert_eq!(pinned_time(search), Some(PinnedTime::At(at)));
        }
        for (search, expected) in [
            ("", None),
            ("?at=", None),
            ("?at=03:07", Some(PinnedTime::Invalid)),
            ("?at=2026-11-20T18%3A48%3A05.556Z", Some(PinnedTime::At(at))),
        ] {
            assert_eq!(pinned_time(search), expected, "{search}");
        }
    }

    #[test]
    fn other_paths_name_no_lock() {
        for path in [
            "/",
            "/nodes",
            "/groups/g",
            "/groups/g/locksmith",
            "/groups/g/locks/%f",
        ] {
            assert_eq!(parse_lock(path, ""), None, "{path}");
        }
    }

    #[test]
    fn sign_in_redirects_to_the_requested_page() {
        for (pathname, search) in [
            ("/", ""),
            ("/groups/g/locks/a%2Fb%25", ""),
            ("/", "?q=a%26b&verdict=held"),
        ] {
            let (_, query) = sign_in(pathname, search)
                .split_once('?')
                .map(|(path, query)| (path.to_owned(), query.to_owned()))
                .unwrap();
            let next = decoded_value(&query, "next").unwrap();
            assert_eq!(next.text(), format!("{pathname}{search}"));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_round_trip_through_the_url(bytes in proptest::collection::vec(any::<u8>(), 0..100), group in "[a-z/ %-]{1,12}") {
            let id = LockId { group, key: LockKey::new(bytes) };
            prop_assert_eq!(round_trip(&id), Some(id.clone()));
        }
    }
}
