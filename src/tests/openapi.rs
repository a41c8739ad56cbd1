//! The OpenAPI document is a contract: changing it is a decision.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::programs;

#[test]
fn the_openapi_document_is_the_one_that_was_agreed() {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_json_snapshot!("openapi", document);
    });
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    let mut wanted = BTreeSet::new();
    collect(&document, &mut wanted);
    assert!(!wanted.is_empty());
    for reference in wanted {
        let pointer = reference.trim_start_matches('#');
        assert!(
            document.pointer(pointer).is_some(),
            "{reference} leads nowhere"
        );
    }
}

#[test]
fn the_document_is_valid_openapi() {
    let document = lockkeeper::server::api::document().to_json().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, document).unwrap();
    let said = Command::new(programs::openapi_spec_validator())
        .args(["--schema", "3.1", "--validation-errors", "all"])
        .arg(&file)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr),
    );
    assert!(said.status.success(), "{out}{err}");
}

fn collect(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            found.extend(
                map.get("$ref")
                    .and_then(|text| text.as_str())
                    .map(str::to_owned),
            );
            map.values().for_each(|value| collect(value, found));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
