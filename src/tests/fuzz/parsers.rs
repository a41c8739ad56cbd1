//! Parsers of files, URLs and command output.

use lockkeeper::domain::{AuditFilter, LockKey, glob};
use lockkeeper::server::audit::verify_files;
use lockkeeper::server::config::parse;
use lockkeeper::server::index::event::EventId;
use lockkeeper::server::stores::redis::nodes::node_info::NodeInfo;
use lockkeeper::ui::audit_query::AuditQuery;
use lockkeeper::ui::locks_query::LocksQuery;
use proptest::prelude::*;

/// Every line of the configuration examples in the documentation.
fn documented_lines() -> Vec<&'static str> {
    let pages = concat!(
        include_str!("../../../docs/configuration.md"),
        include_str!("../../../docs/sign-in.md"),
        include_str!("../../../docs/topologies.md"),
    );
    let blocks = pages.split("```toml\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("\n```").next());
    blocks.flat_map(str::lines).collect()
}

/// A configuration with these lines in any order, some of them altered.
fn any_config() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => proptest::sample::select(documented_lines()).prop_map(str::to_owned),
        1 => (proptest::sample::select(documented_lines()), any::<proptest::sample::Index>(), ".{0,3}")
            .prop_map(|(line, at, replacement)| {
                let mut chars: Vec<char> = line.chars().collect();
                let at = if chars.is_empty() { 0 } else { at.index(chars.len()) };
                chars.splice(at..(at + 1).min(chars.len()), replacement.chars());
                chars.into_iter().collect()
            }),
        1 => "\\PC{0,40}",
    ];
    proptest::collection::vec(line, 0..25).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn an_arbitrary_configuration_is_accepted_or_rejected_with_its_file(text in any_config()) {
        // `parse` opens no other file and reads environment variables only through this function.
        let parsed = parse("lockkeeper.toml", &text, &|_| Some("a value".to_owned()));
        if let Err(error) = parsed {
            prop_assert!(error.to_string().contains("lockkeeper.toml"), "{error}");
        }
    }

    #[test]
    fn an_arbitrary_query_string_is_parsed_by_the_pages(search in "\\PC{0,60}|([a-z_]{1,10}=[^&]{0,10}&?){0,8}") {
        let query = LocksQuery::parse(&search);
        prop_assert_eq!(&LocksQuery::parse(query.path().split_once('?').map_or("", |(_, it)| it)), &query);
        let _ = AuditQuery::parse(&search).query_string();
        let _ = AuditFilter::default();
    }

    #[test]
    fn an_arbitrary_event_id_is_parsed_or_rejected(text in "\\PC{0,40}|-?[0-9]{1,22}-[0-9]{1,22}") {
        if let Some(id) = EventId::parse(&text) {
            prop_assert_eq!(EventId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn an_arbitrary_key_survives_encoding_and_decoding(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "\\PC{0,40}") {
        let key = LockKey::new(bytes);
        prop_assert_eq!(LockKey::decode(&key.encoded()), Some(key));
        let _ = LockKey::decode(&text);
    }

    #[test]
    fn an_arbitrary_pattern_is_matched_within_seconds(
        pattern in proptest::collection::vec(proptest::sample::select(b"*?[]^-\\a".to_vec()), 0..40),
        name in proptest::collection::vec(proptest::sample::select(b"a-]b".to_vec()), 0..200),
    ) {
        let started = std::time::Instant::now();
        let _ = glob::matches(&pattern, &name);
        prop_assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn arbitrary_info_output_is_parsed(info in "([a-z_]{0,12}:?\\PC{0,20}\r?\n?){0,12}") {
        let report = NodeInfo::parse(&info, std::collections::BTreeMap::new());
        let _ = report.info_number("maxmemory");
    }

    #[test]
    fn an_arbitrary_audit_file_is_verified_without_a_panic(lines in proptest::collection::vec(super::audit_files::any_line(), 0..12)) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("audit.jsonl");
        std::fs::write(&file, lines.concat()).unwrap();
        let verified = verify_files(&[file], &mut |_| {}).unwrap();
        let _ = verified.is_intact();
    }
}
