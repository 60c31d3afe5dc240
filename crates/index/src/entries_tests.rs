//! The entries of documents, the differences between versions, and the charged terms.

use std::collections::HashSet;

use orrery_exec::{DocumentPath, PathStep};
use orrery_json::{Value, parse, write_value};
use orrery_model::{DocumentStep, IndexingPolicy};
use proptest::prelude::*;

use crate::definition_tests::policy;
use crate::{Entries, IndexDefinition, IndexHash, decode};

const KEY_POSITION: &[u8] = b"place";

fn entries(indexing: &str, document: &str) -> Entries {
    let document = parse(document.as_bytes()).unwrap();
    IndexDefinition::new(&policy(indexing)).entries(7, &document, KEY_POSITION)
}

/// A line `path value` for each entry, sorted.
fn lines(indexing: &str, document: &str) -> Vec<String> {
    let definition = IndexDefinition::new(&policy(indexing));
    let document = parse(document.as_bytes()).unwrap();
    let entries = definition.entries(7, &document, KEY_POSITION);
    let mut lines: Vec<String> = entries
        .values()
        .map(|(index, mut value)| {
            let mut line = definition.path_text(&document, index).unwrap();
            while !value.is_empty() {
                let (decoded, rest) = decode(value).unwrap();
                line = match decoded.value {
                    Value::Undefined => format!("{line} undefined"),
                    value => format!("{line} {value}"),
                };
                value = rest;
            }
            line
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn every_node_has_an_entry() {
    let document = r#"{"id":"x","a":[1,2,1],"b":{"c":null},"d":{},"_etag":"e"}"#;
    let all = r#"{"includedPaths":[{"path":"/*"}]}"#;
    assert_eq!(
        lines(all, document),
        [
            "/?",
            "/a/? []",
            "/a/[]/? 1",
            "/a/[]/? 2",
            "/b/? {}",
            "/b/c/? null",
            "/d/? {}",
            r#"/id/? "x""#,
        ]
    );
    let some = r#"{"includedPaths":[{"path":"/b/c/?"}],"excludedPaths":[{"path":"/*"}]}"#;
    assert_eq!(lines(some, document), ["/?", "/b/c/? null", r#"/id/? "x""#]);
}

#[test]
fn composites_always_have_an_entry() {
    let indexing = r#"{
        "includedPaths":[],"excludedPaths":[{"path":"/*"}],
        "compositeIndexes":[[{"path":"/a"},{"path":"/b/c","order":"descending"}]]}"#;
    for (document, expected) in [
        (r#"{"a":1,"b":{"c":"x"}}"#, r#"/a ASC, /b/c DESC 1 "x""#),
        (r#"{"a":null}"#, "/a ASC, /b/c DESC null undefined"),
        (r#"{"a":{},"b":[]}"#, "/a ASC, /b/c DESC {} undefined"),
    ] {
        assert_eq!(lines(indexing, document), ["/?", expected], "{document}");
    }
}

#[test]
fn a_geometry_has_cells() {
    let indexing = r#"{
        "includedPaths":[],"excludedPaths":[{"path":"/*"}],
        "spatialIndexes":[{"path":"/g/*","types":["Point"]}]}"#;
    for (geometry, count) in [
        (r#"{"type":"Point","coordinates":[1,2]}"#, 1),
        (r#"{"type":"Point","coordinates":[1,200]}"#, 0),
        (
            r#"[{"type":"Point","coordinates":[1,2]},{"type":"Point","coordinates":[3,2]}]"#,
            2,
        ),
        (r#""none""#, 0),
    ] {
        let found = entries(indexing, &format!(r#"{{"g":{geometry}}}"#));
        assert_eq!(found.len(), count + 1, "{geometry}");
    }
}

#[test]
fn keys_have_all_their_parts_and_are_sorted() {
    let found = entries("{}", r#"{"a":[3,1,2],"b":"x"}"#);
    let keys: Vec<_> = found.iter().collect();
    assert!(keys.is_sorted_by(|(_, a), (_, b)| a < b));
    assert_eq!(keys.len(), found.len());
    for ((index, key), (same, value)) in keys.iter().zip(found.values()) {
        assert_eq!(*index, same);
        let parts = [
            &7_u32.to_be_bytes()[..],
            &index.0.to_be_bytes(),
            value,
            KEY_POSITION,
        ];
        assert_eq!(key, &parts.concat());
    }
    let path = DocumentPath(vec![PathStep::Name("a".to_owned()), PathStep::Element]);
    let elements = keys
        .iter()
        .filter(|(index, _)| *index == IndexHash::of_path(&path));
    assert_eq!(elements.count(), 3);
}

#[test]
fn a_difference_is_what_changed() {
    let (old, new) = (r#"{"a":1,"b":[1,2]}"#, r#"{"a":1,"b":[2,3],"c":{}}"#);
    let (old, new) = (entries("{}", old), entries("{}", new));
    let difference = Entries::difference(&old, &new);
    assert_eq!(difference.removed.len(), 1);
    assert_eq!(difference.added.len(), 2);
    assert_eq!(Entries::charged_difference(&old, &new), 2);
    let all = Entries::difference(&Entries::default(), &new);
    assert_eq!(all.added, new.iter().collect::<Vec<_>>());
    assert_eq!(all.removed, []);
}

/// The path and the text of each indexed scalar.
fn terms(policy: &IndexingPolicy, document: &Value) -> HashSet<(String, Vec<u8>)> {
    fn walk<'a>(
        policy: &IndexingPolicy,
        path: &mut Vec<DocumentStep<'a>>,
        value: &'a Value,
        terms: &mut HashSet<(String, Vec<u8>)>,
    ) {
        match value {
            Value::Object(object) => {
                for (name, property) in object {
                    path.push(DocumentStep::Property(name));
                    walk(policy, path, property, terms);
                    path.pop();
                }
            }
            Value::Array(array) => {
                for element in array {
                    path.push(DocumentStep::Element);
                    walk(policy, path, element, terms);
                    path.pop();
                }
            }
            scalar => {
                if policy.covers(path) {
                    let mut text = Vec::new();
                    write_value(scalar, &mut text);
                    terms.insert((format!("{path:?}"), text));
                }
            }
        }
    }
    let mut terms_found = HashSet::new();
    walk(policy, &mut Vec::new(), document, &mut terms_found);
    terms_found
}

fn document() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_i64..3).prop_map(Value::from),
        ((1_i64 << 53) - 1..(1 << 53) + 4).prop_map(Value::from),
        Just(Value::from(0.5)),
        proptest::sample::select(vec!["a", "b", "c"])
            .prop_map(|end| Value::from(format!("{}{end}", "x".repeat(64)))),
        proptest::sample::select(vec!["", "a"]).prop_map(Value::from),
    ];
    let value = scalar.prop_recursive(3, 20, 4, |inner| {
        let name = proptest::sample::select(vec!["a", "b", "id", "_etag"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((name, inner), 0..4).prop_map(|properties| {
                let properties = properties.into_iter();
                Value::Object(
                    properties
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    });
    proptest::collection::vec(value, 0..4).prop_map(|values| {
        let names = ["a", "b", "c", "id"].map(str::to_owned);
        Value::Object(names.into_iter().zip(values).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn charges_count_scalars(a in document(), b in document()) {
        for indexing in [
            "{}",
            r#"{"includedPaths":[{"path":"/a/*"},{"path":"/b/[]/?"}],"excludedPaths":[{"path":"/*"}]}"#,
            r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/b/*"}]}"#,
            r#"{"indexingMode":"none"}"#,
        ] {
            let policy = policy(indexing);
            let definition = IndexDefinition::new(&policy);
            let (old, new) = (definition.entries(1, &a, KEY_POSITION), definition.entries(1, &b, KEY_POSITION));
            let (old_terms, new_terms) = (terms(&policy, &a), terms(&policy, &b));
            prop_assert_eq!(old.charged_terms(), old_terms.len());
            prop_assert_eq!(
                Entries::charged_difference(&old, &new),
                old_terms.symmetric_difference(&new_terms).count()
            );
            let difference = Entries::difference(&old, &new);
            let mut keys: Vec<_> = old.iter().filter(|key| !difference.removed.contains(key)).collect();
            keys.extend(difference.added);
            keys.sort();
            prop_assert_eq!(keys, new.iter().collect::<Vec<_>>());
        }
    }
}

/// Run alone and optimised: `cargo test --release -p orrery-index -- --ignored time`.
#[test]
#[ignore = "a measurement"]
fn time_of_a_typical_document() {
    let filler = "lorem ipsum dolor sit amet ".repeat(5);
    let text = format!(
        r#"{{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","pk":"customer-4711","name":"Ada Lovelace",
        "email":"ada@example.com","age":36,"active":true,"score":98.6,"tags":["red","green","blue"],
        "address":{{"street":"12 St James Square","city":"London","zip":"SW1Y"}},"notes":"{filler}",
        "bio":"{filler}","created":"2024-05-01T12:00:00Z","count":12345,"parent":null,
        "description":"{filler}","_rid":"5PwKAJ1ZAAABAAAAAAAAAA==","_self":"dbs/5PwKAA==/colls/5PwKAJ1ZAAA=/docs/5PwKAJ1ZAAABAAAAAAAAAA==/",
        "_etag":"\"00000000-0000-0000-0000-000000000000\"","_attachments":"attachments/","_ts":1714564800}}"#
    );
    let document = parse(text.as_bytes()).unwrap();
    let definition = IndexDefinition::new(&policy("{}"));
    let key_position = [7; 48];
    let rounds = 200_000_u32;
    let mut bytes = 0;
    let start = std::time::Instant::now();
    for _ in 0..rounds {
        bytes += std::hint::black_box(definition.entries(1, &document, &key_position)).len();
    }
    let each = start.elapsed() / rounds;
    let count = bytes / rounds as usize;
    eprintln!(
        "{} bytes, {count} entries: {each:?} for a document",
        text.len()
    );
}
