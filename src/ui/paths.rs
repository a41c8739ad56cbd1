//! Every URL of the console as a function, and the one way back: from a path to the lock that it names.

use crate::domain::search::{Ask, Search};
use crate::domain::{LockId, LockKey};

/// The table of locks.
pub const LOCKS: &str = "/";
/// The nodes.
pub const NODES: &str = "/nodes";
/// Who holds what.
pub const OWNERS: &str = "/owners";
/// Who waits for whom.
pub const WAITS: &str = "/waits";
/// Who did what.
pub const AUDIT: &str = "/audit";
/// All of that as a file, from the API.
pub const AUDIT_EXPORT: &str = "/api/v1/audit/export";
/// The locks as a file, from the API.
pub const LOCKS_EXPORT: &str = "/api/v1/locks/export";
/// The changes of the locks, from the API.
pub const EVENTS: &str = "/api/v1/events";
/// The locks acquired from here.
pub const MINE: &str = "/mine";

/// What the words mean, and what can be asked. The server's page, loaded whole.
pub const HELP: &str = "/help";
/// What programs can ask.
pub const API_DOCS: &str = "/api/docs";

/// The parts that know nothing about locks, in all their states; a server that is shipped has no such page.
pub const KIT: &str = "/kit";

/// Where people sign in; forms are sent there.
pub const SIGN_IN: &str = "/sign-in";
/// Where people are sent to the provider that they sign in with.
pub const SIGN_IN_PROVIDER: &str = "/sign-in/provider";
/// Where they are sent to sign out there.
pub const SIGN_OUT_PROVIDER: &str = "/sign-out/provider";
/// Where the form to sign out is sent.
pub const SIGN_OUT: &str = "/sign-out";
/// Where the choice of a language is sent.
pub const LANGUAGE: &str = "/language";

/// Where people sign in who want to go on to this page.
pub fn sign_in(pathname: &str, search: &str) -> String {
    format!("{SIGN_IN}?next={}", segment(&here(pathname, search)))
}

/// Where people sign in with the provider who want to go on to this address.
pub fn sign_in_with_provider(next: &str) -> String {
    format!("{SIGN_IN_PROVIDER}?next={}", segment(next))
}

/// A page as one address.
pub fn here(pathname: &str, search: &str) -> String {
    match search.trim_start_matches('?') {
        "" => pathname.to_owned(),
        search => format!("{pathname}?{search}"),
    }
}

/// The locks whose owner, name or fingerprint contains this.
pub fn owned_by(name: &str) -> String {
    format!("{LOCKS}?q={}", segment(name))
}

/// What follows the address of a list whose locks are all to be selected, to be released together.
pub const SELECT_ALL: &str = "#select-all";

/// The locks of this host and of no other, all selected.
pub fn select_all_of_host(name: &str) -> String {
    let search = Search::default().with(Ask::Host(name.to_owned()));
    format!("{LOCKS}?q={}{SELECT_ALL}", segment(&search.to_string()))
}

/// The page of one lock.
pub fn lock(id: &LockId) -> String {
    let group = segment(&id.group);
    let key = id.key.encoded();
    match key.as_str() {
        // Browsers take `.` and `..` (and `%2E`) out of a path before anybody sees them, so these two names go into the query.
        "" => format!("/groups/{group}/locks"),
        "." | ".." => format!("/groups/{group}/locks?key={key}"),
        _ => format!("/groups/{group}/locks/{key}"),
    }
}

/// The address of a lock in the API; what is done to it follows after another slash.
pub fn api_lock(id: &LockId) -> String {
    format!(
        "/api/v1/groups/{}/locks/{}",
        segment(&id.group),
        id.key.encoded()
    )
}

/// The lock that a path names.
///
/// The router's own parameters cannot be used: they decode to text, and names of locks are bytes.
pub fn parse_lock(pathname: &str, search: &str) -> Option<LockId> {
    let (group, key) = pathname.strip_prefix("/groups/")?.split_once("/locks")?;
    let group = String::from_utf8(LockKey::decode(group)?.as_bytes().to_vec()).ok()?;
    let key = match key.strip_prefix('/') {
        Some(key) if !key.is_empty() => LockKey::decode(key)?,
        Some(_) => from_query(search),
        None if key.is_empty() => from_query(search),
        None => return None,
    };
    Some(LockId { group, key })
}

/// A text as one segment of a path or value of a query.
pub fn segment(text: &str) -> String {
    LockKey::from(text).encoded()
}

/// A path with a query of these fields.
pub fn with_fields(path: &str, fields: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let pair = |(name, value): (&str, String)| format!("{name}={}", segment(&value));
    let fields: Vec<String> = fields.into_iter().map(pair).collect();
    match fields.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", fields.join("&")),
    }
}

/// The query of an address.
pub fn search_of(path: &str) -> String {
    let search = path.split_once('?').map(|(_, search)| search);
    search.unwrap_or_default().to_owned()
}

/// The fields of a query, as a form or [`with_fields`] wrote them. What cannot be read is left out.
pub fn fields(search: &str) -> impl Iterator<Item = (&str, String)> {
    let pairs = search.trim_start_matches('?').split('&');
    pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        // Forms write a space as `+`.
        let value = LockKey::decode(&value.replace('+', "%20"))?;
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        Some((name, text))
    })
}

/// One field of a query, unless it is left out or empty.
pub fn field(search: &str, wanted: &str) -> Option<String> {
    let mut found = fields(search).filter(|(name, value)| *name == wanted && !value.is_empty());
    found.next().map(|(_, value)| value)
}

fn from_query(search: &str) -> LockKey {
    value(search, "key").unwrap_or_else(|| LockKey::new([]))
}

/// One value of a query. The router's own reader decodes what is in it twice, which makes other names of names.
pub fn value(search: &str, name: &str) -> Option<LockKey> {
    let mut pairs = search.trim_start_matches('?').split('&');
    pairs.find_map(|pair| {
        let (known, value) = pair.split_once('=')?;
        (known == name).then(|| LockKey::decode(value))?
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
    fn the_empty_name_may_end_in_a_slash_or_not() {
        let empty = LockId {
            group: "g".into(),
            key: "".into(),
        };
        assert_eq!(parse_lock("/groups/g/locks/", ""), Some(empty.clone()));
        assert_eq!(parse_lock("/groups/g/locks", ""), Some(empty));
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
    fn who_signs_in_goes_on_to_the_very_page_they_wanted() {
        for (pathname, search) in [
            ("/", ""),
            ("/groups/g/locks/a%2Fb%25", ""),
            ("/", "?q=a%26b&verdict=held"),
        ] {
            let (_, query) = sign_in(pathname, search)
                .split_once('?')
                .map(|(path, query)| (path.to_owned(), query.to_owned()))
                .unwrap();
            let next = value(&query, "next").unwrap();
            assert_eq!(next.text(), format!("{pathname}{search}"));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_survive_the_address_bar(bytes in proptest::collection::vec(any::<u8>(), 0..100), group in "[a-z/ %-]{1,12}") {
            let id = LockId { group, key: LockKey::new(bytes) };
            prop_assert_eq!(round_trip(&id), Some(id.clone()));
        }
    }
}
