//! The byte order equals the value order, and byte ranges contain their values.

use std::cmp::Ordering;
use std::ops::Bound;

use orrery_exec::{ValueRange, ValueType};
use orrery_json::{Number, Object, Value, compare};
use orrery_model::SortOrder;
use proptest::prelude::*;

use super::*;

fn bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

fn text() -> impl Strategy<Value = String> {
    let letters = proptest::sample::select(vec![
        '\0',
        '\u{1}',
        'a',
        'b',
        'é',
        '\u{FFFF}',
        '\u{E000}',
        '\u{D7FF}',
        '\u{10000}',
        '\u{10FFFF}',
    ]);
    let short = proptest::collection::vec(letters.clone(), 0..4);
    let long = (120_usize..132, proptest::collection::vec(letters, 0..6));
    prop_oneof![
        short.prop_map(|letters| letters.into_iter().collect()),
        long.prop_map(|(length, letters)| {
            let mut text = "x".repeat(length);
            text.extend(letters);
            text
        }),
        // Lengths between the shortest and the longest truncated string.
        (
            proptest::sample::select(vec!["a", "b", "€"]),
            0_usize..6,
            proptest::collection::vec(proptest::sample::select(vec!["a", "€", "\u{10000}"]), 0..3)
        )
            .prop_map(|(first, more, rest)| format!(
                "{}{first}{}{}",
                "y".repeat(123),
                "a".repeat(more),
                rest.concat()
            )),
    ]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        (-3_i64..4).prop_map(Number::from),
        any::<i64>().prop_map(Number::from),
        any::<f64>()
            .prop_filter("documents have none", |number| number.is_finite())
            .prop_map(Number::from),
        ((1_i64 << 53) - 3..(1 << 53) + 4).prop_map(Number::from),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
        text().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => scalar(),
        1 => Just(Value::Undefined),
        1 => Just(Value::Array(vec![Value::Null])),
        1 => Just(Value::Object(Object::default())),
    ]
}

fn bound(value: Value, kind: usize) -> Bound<Value> {
    match kind {
        0 => Bound::Included(value),
        1 => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}

fn rank(value: &Value) -> u8 {
    bytes(value)[0] & 0xF0
}

/// Whether the bytes of the value sort exactly like the value.
fn is_ordered(value: &Value) -> bool {
    is_exact(value) || matches!(value, Value::Array(_) | Value::Object(_))
}

/// The meaning of a range, computed by comparison of values.
fn has(range: &ValueRange, value: &Value) -> bool {
    let type_is = |value_type: ValueType| match value_type {
        ValueType::Null => matches!(value, Value::Null),
        ValueType::Bool => matches!(value, Value::Bool(_)),
        ValueType::Number => matches!(value, Value::Number(_)),
        ValueType::String => matches!(value, Value::String(_)),
        ValueType::Array => matches!(value, Value::Array(_)),
        ValueType::Object => matches!(value, Value::Object(_)),
    };
    match range {
        ValueRange::Equal(other) => value == other,
        ValueRange::Between { low, high } => {
            let within = |bound: &Bound<Value>, side: Ordering| match bound {
                Bound::Unbounded => true,
                Bound::Included(other) => {
                    rank(value) == rank(other) && compare(value, other) != side.reverse()
                }
                Bound::Excluded(other) => {
                    rank(value) == rank(other) && compare(value, other) == side
                }
            };
            within(low, Ordering::Greater) && within(high, Ordering::Less)
        }
        ValueRange::Prefix(text) => value.as_str().is_some_and(|value| value.starts_with(text)),
        ValueRange::OfType(value_type) => type_is(*value_type),
        ValueRange::Defined => !value.is_undefined(),
    }
}

fn range() -> impl Strategy<Value = ValueRange> {
    let same_type = prop_oneof![
        (any::<bool>(), any::<bool>()).prop_map(|(a, b)| (Value::from(a), Value::from(b))),
        (number(), number()).prop_map(|(a, b)| (Value::from(a), Value::from(b))),
        (text(), text()).prop_map(|(a, b)| (Value::from(a), Value::from(b))),
        (text(), text()).prop_map(|(a, b)| (Value::from(a), Value::from(b))),
    ];
    prop_oneof![
        3 => scalar().prop_map(ValueRange::Equal),
        6 => (same_type, 0_usize..3, 0_usize..3)
            .prop_filter("a side has a bound", |(_, low, high)| (*low, *high) != (2, 2))
            .prop_map(|((a, b), low, high)| ValueRange::Between {
                low: bound(a, low),
                high: bound(b, high),
            }),
        3 => text().prop_map(ValueRange::Prefix),
        2 => proptest::sample::select(vec![
            ValueType::Null,
            ValueType::Bool,
            ValueType::Number,
            ValueType::String,
            ValueType::Array,
            ValueType::Object,
        ])
        .prop_map(ValueRange::OfType),
        1 => Just(ValueRange::Defined),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn byte_order_is_value_order(
        a in value().prop_filter("is kept as it is", is_ordered),
        b in value().prop_filter("is kept as it is", is_ordered),
        tail in 0_u8..=255,
    ) {
        let with_tail = |value: &Value, order| {
            let mut out = Vec::new();
            encode_ordered(value, order, &mut out);
            out.push(tail);
            out
        };
        let order = compare(&a, &b);
        let ascending = |value: &Value| with_tail(value, SortOrder::Ascending);
        let descending = |value: &Value| with_tail(value, SortOrder::Descending);
        prop_assert_eq!(ascending(&a).cmp(&ascending(&b)), order);
        prop_assert_eq!(descending(&a).cmp(&descending(&b)), order.reverse());
    }

    #[test]
    fn values_come_back(value in value(), tail in proptest::collection::vec(any::<u8>(), 0..4)) {
        for order in [SortOrder::Ascending, SortOrder::Descending] {
            let mut out = Vec::new();
            encode_ordered(&value, order, &mut out);
            out.extend_from_slice(&tail);
            prop_assert_eq!(skip(&out), Some(&tail[..]));
            let (decoded, rest) = decode(&out).unwrap();
            prop_assert_eq!(rest, &tail[..]);
            prop_assert_eq!(decoded.is_exact, is_exact(&value));
            if decoded.is_exact {
                prop_assert_eq!(decoded.value, value.clone());
            } else if let (Value::String(cut), Value::String(text)) = (&decoded.value, &value) {
                prop_assert!(text.starts_with(cut.as_str()) && cut.len() >= STRING_BYTES_CUT_MIN);
            } else {
                prop_assert_eq!(rank(&decoded.value), rank(&value));
            }
        }
    }

    #[test]
    fn ranges_have_their_values(
        range in range(),
        value in value(),
        tail in proptest::collection::vec(any::<u8>(), 0..3),
    ) {
        let found = byte_range(&range);
        let expected = has(&range, &value);
        let with_tail = |mut bytes: Vec<u8>| { bytes.extend_from_slice(&tail); bytes };
        let key = with_tail(bytes(&value));
        let is_in = found.from <= key && key < found.to;
        prop_assert!(!expected || is_in, "{range:?} misses {value}");
        prop_assert!(expected || !is_in || !found.is_exact, "{range:?} has {value}");
        if found.is_point && is_in {
            prop_assert_eq!(&bytes(&value), &found.from);
        }
        let reversed = found.reversed();
        let inverted: Vec<u8> = bytes(&value).iter().map(|byte| !byte).collect();
        let key = with_tail(inverted.clone());
        prop_assert_eq!(reversed.from <= key && key < reversed.to, is_in);
        if reversed.is_point && is_in {
            prop_assert_eq!(inverted, reversed.from);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
        if let Some((_, rest)) = decode(&bytes) {
            prop_assert_eq!(skip(&bytes), Some(rest));
        }
    }
}

#[test]
fn a_cut_string_is_behind_its_beginning_and_before_what_goes_on() {
    let beginning = "a".repeat(STRING_BYTES_MAX);
    let cut = bytes(&Value::from(format!("{beginning}b")));
    assert!(bytes(&Value::from(beginning.as_str())) < cut);
    let shorter = "a".repeat(STRING_BYTES_MAX - 1);
    let wide = bytes(&Value::from(format!("{shorter}é")));
    assert!(bytes(&Value::from(shorter.as_str())) < wide);
    assert!(wide < bytes(&Value::from(format!("{shorter}\0"))));
}

#[test]
fn types_follow_each_other() {
    let types = [
        ValueType::Null,
        ValueType::Bool,
        ValueType::Number,
        ValueType::String,
        ValueType::Array,
        ValueType::Object,
    ];
    for pair in types.windows(2) {
        assert!(type_start(pair[0]) < type_end(pair[0]));
        assert!(type_end(pair[0]) <= type_start(pair[1]));
    }
}

#[test]
fn the_bytes_are_part_of_the_format() {
    for (value, expected) in [
        (Value::Undefined, &[0x10][..]),
        (Value::Bool(true), &[0x31]),
        (Value::from(1), &[0x40, 0xBF, 0xF0, 0, 0, 0, 0, 0, 0]),
        (
            Value::from("a\0\u{E000}"),
            &[0x50, b'a', 0, 0xFF, 0xFD, 0x80, 0x80, 0, 0],
        ),
    ] {
        assert_eq!(bytes(&value), expected, "{value}");
    }
}
