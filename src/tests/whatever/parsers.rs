//! What people write into files and addresses.

use lockkeeper::domain::{AuditFilter, LockKey, glob};
use lockkeeper::server::audit::verify_files;
use lockkeeper::server::config::parse;
use lockkeeper::server::index::event::EventId;
use lockkeeper::server::nodes::self_report::SelfReport;
use lockkeeper::ui::audit_query::AuditQuery;
use lockkeeper::ui::query::Query;
use proptest::prelude::*;

/// Every line that is shown of a configuration.
fn lines() -> Vec<&'static str> {
    let page = include_str!("../../../.github/configuration.md");
    let blocks = page.split("```toml\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("\n```").next());
    blocks.flat_map(str::lines).collect()
}

/// A configuration with such lines in any order, some of them spoilt.
fn any_config() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => proptest::sample::select(lines()).prop_map(str::to_owned),
        1 => (proptest::sample::select(lines()), any::<proptest::sample::Index>(), ".{0,3}")
            .prop_map(|(line, at, put)| {
                let mut letters: Vec<char> = line.chars().collect();
                let at = if letters.is_empty() { 0 } else { at.index(letters.len()) };
                letters.splice(at..(at + 1).min(letters.len()), put.chars());
                letters.into_iter().collect()
            }),
        1 => "\\PC{0,40}",
    ];
    proptest::collection::vec(line, 0..25).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn whatever_a_configuration_says_it_is_accepted_or_refused_at_a_place(text in any_config()) {
        // Files are read when the configuration is put to use, and variables only through this.
        let read = parse("lockkeeper.toml", &text, &|_| Some("a value".to_owned()));
        if let Err(why) = read {
            prop_assert!(why.to_string().contains("lockkeeper.toml"), "{why}");
        }
    }

    #[test]
    fn whatever_an_address_asks_for_the_pages_read_something(search in "\\PC{0,60}|([a-z_]{1,10}=[^&]{0,10}&?){0,8}") {
        let query = Query::parse(&search);
        prop_assert_eq!(&Query::parse(query.path().split_once('?').map_or("", |(_, it)| it)), &query);
        let _ = AuditQuery::parse(&search).search();
        let _ = AuditFilter::default();
    }

    #[test]
    fn whatever_an_event_was_called_it_is_a_place_or_none(text in "\\PC{0,40}|-?[0-9]{1,22}-[0-9]{1,22}") {
        if let Some(place) = EventId::parse(&text) {
            prop_assert_eq!(EventId::parse(&place.to_string()), Some(place));
        }
    }

    #[test]
    fn whatever_a_path_names_it_is_the_same_key_again(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "\\PC{0,40}") {
        let key = LockKey::new(bytes);
        prop_assert_eq!(LockKey::decode(&key.encoded()), Some(key));
        let _ = LockKey::decode(&text);
    }

    #[test]
    fn whatever_a_pattern_looks_like_it_is_matched_soon(
        pattern in proptest::collection::vec(proptest::sample::select(b"*?[]^-\\a".to_vec()), 0..40),
        name in proptest::collection::vec(proptest::sample::select(b"a-]b".to_vec()), 0..200),
    ) {
        let began = std::time::Instant::now();
        let _ = glob::matches(&pattern, &name);
        prop_assert!(began.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn whatever_a_node_says_of_itself_is_kept_as_text(info in "([a-z_]{0,12}:?\\PC{0,20}\r?\n?){0,12}") {
        let report = SelfReport::read(&info, std::collections::BTreeMap::new());
        let _ = report.number("maxmemory");
    }

    #[test]
    fn whatever_stands_in_an_audit_it_is_judged(lines in proptest::collection::vec(super::audit_files::any_line(), 0..12)) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("audit.jsonl");
        std::fs::write(&file, lines.concat()).unwrap();
        let verified = verify_files(&[file], &mut |_| {}).unwrap();
        let _ = verified.is_whole();
    }
}
