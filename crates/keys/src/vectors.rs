//! Checks every row of `tests/data/epk-vectors.json`.

use orrery_json::{PropertyPath, Value, parse};

use crate::hash_v2::{epk_of_hash, epk_of_multi_hash, write_input};
use crate::murmur::{murmur3_32, murmur3_128};
use crate::{
    Epk, KeyComponent, PartitionKey, PartitionKeyDefinition, PartitionKeyKind, PartitionKeyVersion,
    hash_v1,
};

/// Rows with a reference value that no server should return, and the value that this crate returns.
///
/// - The JavaScript client hashes only the first of several version 1 components.
/// - The raw hash distinguishes `-0` from `0`, which are one key: see [`KeyComponent`].
const EXCEPTIONS: [(PartitionKeyVersion, &str, &str); 3] = [
    (
        PartitionKeyVersion::V1,
        r#"["redmond",50,5.5,true,false,null,"",12313.1221]"#,
        "05C1D54915FB0C087366656E706F650005C0498005C016030201080005C0C90723F50FC925D8",
    ),
    (PartitionKeyVersion::V1, "[-0.0]", "05C1BF6DA11560058000"),
    (
        PartitionKeyVersion::V2,
        "[-0.0]",
        "155B95BEDAC4B1E9EC1CDC9BB0DDDE58",
    ),
];

fn vectors() -> Value {
    parse(include_bytes!("../tests/data/epk-vectors.json")).unwrap()
}

fn rows<'a>(vectors: &'a Value, name: &str) -> &'a [Value] {
    vectors.get(name).as_array().unwrap()
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row.get(name).as_str().unwrap()
}

fn definition(kind: PartitionKeyKind, version: PartitionKeyVersion) -> PartitionKeyDefinition {
    let paths = match kind {
        PartitionKeyKind::Hash => vec![PropertyPath::of(["a"])],
        PartitionKeyKind::MultiHash => ["a", "b", "c"]
            .map(|name| PropertyPath::of([name]))
            .to_vec(),
    };
    PartitionKeyDefinition::new(paths, kind, version).unwrap()
}

fn definition_of(row: &Value) -> PartitionKeyDefinition {
    let kind = match text(row, "kind") {
        "Hash" => PartitionKeyKind::Hash,
        "MultiHash" => PartitionKeyKind::MultiHash,
        other => panic!("{other}"),
    };
    let version = match row.get("version").as_number().unwrap().as_i64().unwrap() {
        1 => PartitionKeyVersion::V1,
        2 => PartitionKeyVersion::V2,
        other => panic!("{other}"),
    };
    definition(kind, version)
}

#[test]
fn keys_have_their_published_and_derived_points() {
    let vectors = vectors();
    let mut exceptions = 0;
    let mut count = 0;
    for row in rows(&vectors, "published")
        .iter()
        .chain(rows(&vectors, "derived"))
    {
        let definition = definition_of(row);
        let key = PartitionKey::from_json(row.get("key")).unwrap();
        let expected = text(row, "epk");
        let found = definition.epk(&key).to_string();
        count += 1;
        if found == expected {
            continue;
        }
        let exception = EXCEPTIONS.iter().find(|(version, header, _)| {
            *version == definition.version()
                && PartitionKey::parse_header(header) == Ok(key.clone())
        });
        let (_, _, instead) = exception.unwrap_or_else(|| panic!("{key}: {found}, not {expected}"));
        assert_eq!(found, *instead, "{key}");
        exceptions += 1;
    }
    assert_eq!(count, 106 + 44);
    assert_eq!(exceptions, EXCEPTIONS.len());
}

#[test]
fn negative_zero_would_hash_as_derived_if_it_were_a_key() {
    let components = [KeyComponent::Number(-0.0)];
    let mut v1 = Vec::new();
    hash_v1::write_epk(&components, &mut v1);
    assert_eq!(Epk::from_bytes(v1).to_string(), "05C1E703ED99A0058000");
    for v2 in [epk_of_hash(&components), epk_of_multi_hash(&components)] {
        assert_eq!(
            Epk::from_bytes(v2).to_string(),
            "3D018BB1DF3DB27235766E81FD10406E"
        );
    }
}

/// The baseline writes numbers that JSON lacks as strings. Its NaN has the sign bit set.
const NAN_OF_BASELINE: u64 = 0xFFF8 << 48;

/// The components of a row of raw hashes, without truncation or normalisation.
fn raw_components(row: &Value) -> Vec<KeyComponent> {
    let repeat = row.get("repeat");
    if repeat.as_object().is_some() {
        let count = repeat.get("count").as_number().unwrap().as_i64().unwrap();
        let repeated = text(repeat, "char").repeat(usize::try_from(count).unwrap());
        return vec![KeyComponent::String(repeated)];
    }
    match text(row, "json") {
        "UNDEFINED" => vec![KeyComponent::Undefined],
        "-0" => vec![KeyComponent::Number(-0.0)],
        r#""NaN""# => vec![KeyComponent::Number(f64::from_bits(NAN_OF_BASELINE))],
        r#""Infinity""# => vec![KeyComponent::Number(f64::INFINITY)],
        r#""-Infinity""# => vec![KeyComponent::Number(f64::NEG_INFINITY)],
        json => match parse(json.as_bytes()).unwrap() {
            Value::Array(values) => values
                .iter()
                .map(|value| KeyComponent::from_value(value).unwrap())
                .collect(),
            value => vec![KeyComponent::from_value(&value).unwrap()],
        },
    }
}

/// The 32-bit hash and the 128-bit hash use different bytes to end a string.
fn input_32(component: &KeyComponent) -> Vec<u8> {
    let mut input = Vec::new();
    write_input(component, &mut input);
    if matches!(component, KeyComponent::String(_)) {
        *input.last_mut().unwrap() = 0;
    }
    input
}

fn input_128(component: &KeyComponent) -> Vec<u8> {
    let mut input = Vec::new();
    write_input(component, &mut input);
    input
}

#[test]
fn components_have_their_bare_hashes() {
    let vectors = vectors();
    let rows = rows(&vectors, "raw_hashes");
    assert_eq!(rows.len(), 29);
    for row in rows {
        let components = raw_components(row);
        let hashes = |hash: &dyn Fn(&KeyComponent) -> u128| -> String {
            components.iter().fold(String::new(), |text, component| {
                format!("{text}{:032X}", hash(component))
            })
        };
        let description = text(row, "description");
        assert_eq!(
            hashes(&|component| u128::from(murmur3_32(&input_32(component)))),
            text(row, "murmur32_hex_per_component"),
            "{description}"
        );
        assert_eq!(
            hashes(&|component| murmur3_128(&input_128(component))),
            text(row, "murmur128_hex_per_component_unmasked"),
            "{description}"
        );
    }
}

#[test]
fn prefixes_have_their_ranges() {
    let vectors = vectors();
    let rows = rows(&vectors, "ranges");
    assert_eq!(rows.len(), 2);
    for row in rows {
        let key = PartitionKey::from_json(row.get("prefix")).unwrap();
        let range =
            definition(PartitionKeyKind::MultiHash, PartitionKeyVersion::V2).prefix_range(&key);
        assert_eq!(range.min.to_string(), text(row, "min"));
        assert_eq!(range.max.to_string(), text(row, "max"));
    }
}

#[test]
fn new_containers_have_their_boundaries() {
    let vectors = vectors();
    for (name, version) in [
        ("initial_boundaries_v1", PartitionKeyVersion::V1),
        ("initial_boundaries_v2", PartitionKeyVersion::V2),
    ] {
        let object = vectors.get(name).as_object().unwrap();
        for (count, expected) in object.iter().filter(|(count, _)| *count != "note") {
            let ranges =
                definition(PartitionKeyKind::Hash, version).initial_ranges(count.parse().unwrap());
            let found: Vec<_> = ranges[1..]
                .iter()
                .map(|range| range.min.to_string())
                .collect();
            let expected: Vec<_> = expected.as_array().unwrap().iter().collect();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert_eq!(Some(found.as_str()), expected.as_str(), "{name} {count}");
            }
        }
    }
}
