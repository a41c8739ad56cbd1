//! The OpenAPI document is a contract: a change must be accepted in the snapshot.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::programs;

#[test]
fn the_openapi_document_equals_the_accepted_snapshot() {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_json_snapshot!("openapi", document);
    });
}

#[test]
fn every_reference_in_the_document_can_be_resolved() {
    let document = serde_json::to_value(lockkeeper::server::api::document()).unwrap();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.trim_start_matches('#');
        assert!(
            document.pointer(pointer).is_some(),
            "{reference} has no target"
        );
    }
}

#[test]
fn the_document_is_valid_openapi() {
    let document = lockkeeper::server::api::document().to_json().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("openapi.json");
    std::fs::write(&file, document).unwrap();
    let output = Command::new(programs::openapi_spec_validator())
        .args(["--schema", "3.1", "--validation-errors", "all"])
        .arg(&file)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}{err}");
}

fn collect_references(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            found.extend(
                map.get("$ref")
                    .and_then(|text| text.as_str())
                    .map(str::to_owned),
            );
            map.values()
                .for_each(|value| collect_references(value, found));
        }
        serde_json::Value::Array(list) => list
            .iter()
            .for_each(|value| collect_references(value, found)),
        _ => {}
    }
}
