//! Every proposed access returns all documents that match the query.
//!
//! The test executes all proposals and not only the cheapest one, because in a small container the
//! cheapest is mostly the document scan.

use std::collections::BTreeSet;
use std::ops::Bound;

use orrery_exec::{DocumentPath, Predicate, SargableFilter, ValueRange, ValueType};
use orrery_json::{Object, Value, compare};
use proptest::prelude::*;

use super::container::{Container, KeyPosition, values_at};
use super::predicates::{holds, path};
use crate::access::candidate::Candidate;
use crate::access::filter::Filter;
use crate::access::planner::candidates;
use crate::access::{
    AccessPath, AccessRequest, AccessTag, EntryOutput, EntryScan, MinMax, OrderTerm, QueryShape,
    plan_access, resume_access,
};
use crate::decode;

const POLICIES: [&str; 4] = [
    "{}",
    r#"{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/b/*"}]}"#,
    r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b"}],
        [{"path":"/a","order":"descending"},{"path":"/b"},{"path":"/c","order":"descending"}]]}"#,
    r#"{"compositeIndexes":[[{"path":"/b","order":"descending"},{"path":"/a"}],
        [{"path":"/c"},{"path":"/a","order":"descending"}]]}"#,
];

const PATHS: [&str; 4] = ["a", "b", "c", "t/[]"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-3_i64..4).prop_map(|n| Value::from(n as f64 / 2.0)),
        "[ab]{0,3}".prop_map(Value::from),
        Just(Value::from("a\u{0}b")),
        ((120_usize..132), "[ab]{0,2}")
            .prop_map(|(length, end)| { Value::from("a".repeat(length) + &end) }),
        Just(Value::from(9_007_199_254_740_993_i64)),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Undefined),
        12 => scalar(),
        1 => Just(Value::Array(vec![Value::from(1)])),
        1 => Just(Value::Object(Object::default())),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    let elements = prop::collection::vec(scalar(), 0..4);
    (any_value(), any_value(), scalar(), elements).prop_map(|(a, b, c, t)| {
        let mut document = Object::default();
        for (name, value) in [("a", a), ("b", b), ("c", c), ("t", Value::Array(t))] {
            if !value.is_undefined() {
                document.insert(name.to_owned(), value);
            }
        }
        Value::Object(document)
    })
}

fn range() -> impl Strategy<Value = ValueRange> {
    prop_oneof![
        4 => scalar().prop_map(ValueRange::Equal),
        2 => (-3_i64..4, -3_i64..4, any::<(bool, bool)>()).prop_map(|(low, high, (l, h))| {
            ValueRange::Between {
                low: if l { Bound::Included(Value::from(low)) } else { Bound::Unbounded },
                high: if h || !l { Bound::Excluded(Value::from(high)) } else { Bound::Unbounded },
            }
        }),
        2 => scalar().prop_map(|low| ValueRange::Between {
            low: Bound::Excluded(low),
            high: Bound::Unbounded,
        }),
        1 => "[ab]{0,2}".prop_map(ValueRange::Prefix),
        1 => prop::sample::select(vec![
            ValueType::Null, ValueType::Bool, ValueType::Number,
            ValueType::String, ValueType::Array, ValueType::Object,
        ]).prop_map(ValueRange::OfType),
        1 => Just(ValueRange::Defined),
    ]
}

fn leaf() -> impl Strategy<Value = Predicate> {
    let ranges = prop::collection::vec(range(), 1..4);
    (prop::sample::select(&PATHS[..]), ranges).prop_map(|(at, ranges)| Predicate::Value {
        path: path(at),
        ranges,
    })
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let all = || prop::collection::vec(leaf(), 2..4).prop_map(Predicate::And);
    let any = || prop::collection::vec(leaf(), 2..4).prop_map(Predicate::Or);
    prop_oneof![
        1 => Just(Predicate::Anything),
        3 => leaf(),
        3 => all(),
        2 => any(),
        1 => prop::collection::vec(prop_oneof![leaf(), any()], 2..4).prop_map(Predicate::And),
        1 => prop::collection::vec(prop_oneof![leaf(), all()], 2..4).prop_map(Predicate::Or),
    ]
}

fn order() -> impl Strategy<Value = Vec<OrderTerm>> {
    let terms = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3).prop_shuffle();
    (terms, any::<[bool; 3]>()).prop_map(|(paths, directions)| {
        let terms = paths.into_iter().zip(directions);
        terms
            .map(|(at, descending)| OrderTerm {
                path: path(at),
                descending,
            })
            .collect()
    })
}

fn shape() -> impl Strategy<Value = QueryShape> {
    prop::sample::select(vec![
        QueryShape::Stream,
        QueryShape::Sorted,
        QueryShape::Distinct,
        QueryShape::Grouped,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_proposal_is_right(
        documents in prop::collection::vec(document(), 0..25),
        policy in prop::sample::select(&POLICIES[..]),
        predicate in predicate(),
        shape in shape(),
        order in order(),
        min_max in prop::option::of(prop::sample::select(vec![MinMax::Min, MinMax::Max])),
        covering in prop::option::of(prop::sample::select(&PATHS[..])),
    ) {
        let container = Container::new(policy, documents);
        let covering = covering.map(path);
        let narrowing = SargableFilter { predicate, is_exact: true };
        let request = AccessRequest {
            shape,
            order: if shape == QueryShape::Sorted { &order } else { &[] },
            covering: covering.as_ref(),
            min_max,
            ..container.request(&narrowing)
        };
        let filter = Filter::of(&narrowing.predicate, &container.definition);
        let proposed = filter.map(|filter| candidates(&request, filter));
        for candidate in proposed.unwrap_or_default() {
            check(&container, &request, &candidate);
        }
        let plan = plan_access(&request);
        let resumed = resume_access(&request, plan.tag).unwrap();
        assert_eq!(resumed.tag, plan.tag);
        if plan.tag != AccessTag::KEY_ORDER {
            assert_eq!(resumed.access, plan.access);
        }
    }
}

/// Few distinct values, so that several documents share one.
fn few() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Undefined),
        1 => Just(Value::Null),
        3 => (0_i64..2).prop_map(Value::from),
        2 => prop::sample::select(vec!["", "a", "b"]).prop_map(Value::from),
    ]
}

fn few_documents() -> impl Strategy<Value = Vec<Value>> {
    let document = prop::array::uniform3(few()).prop_map(|values| {
        let named = ["a", "b", "c"].into_iter().zip(values);
        let defined = named.filter(|(_, value)| !value.is_undefined());
        let mut document = Object::default();
        for (name, value) in defined {
            document.insert(name.to_owned(), value);
        }
        Value::Object(document)
    });
    prop::collection::vec(document, 0..40)
}

/// Equalities, and sometimes another predicate, on different paths.
fn conjunction() -> impl Strategy<Value = Predicate> {
    let one = prop_oneof![
        3 => few()
            .prop_filter("equal to something", |value| !value.is_undefined())
            .prop_map(|value| vec![ValueRange::Equal(value)]),
        1 => prop::collection::vec(range(), 1..3),
    ];
    let paths = prop::sample::subsequence(vec!["a", "b", "c"], 1..=3);
    (paths, prop::collection::vec(one, 3)).prop_map(|(paths, ranges)| {
        let all = paths.into_iter().zip(ranges);
        let all = all.map(|(at, ranges)| Predicate::Value {
            path: path(at),
            ranges,
        });
        Predicate::And(all.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_use_of_composite_indexes_is_right(
        documents in few_documents(),
        policy in prop::sample::select(&POLICIES[2..]),
        predicate in conjunction(),
        order in order(),
    ) {
        let container = Container::new(policy, documents);
        let narrowing = SargableFilter { predicate, is_exact: true };
        let request = AccessRequest {
            shape: QueryShape::Sorted,
            order: &order,
            ..container.request(&narrowing)
        };
        let filter = Filter::of(&narrowing.predicate, &container.definition);
        let proposed = filter.map(|filter| candidates(&request, filter));
        for candidate in proposed.unwrap_or_default() {
            check(&container, &request, &candidate);
        }
    }
}

fn check(container: &Container, request: &AccessRequest<'_>, candidate: &Candidate) {
    let matching: Vec<&(KeyPosition, Value)> = container
        .documents
        .iter()
        .filter(|(_, document)| holds(&request.sargable_filter.predicate, document))
        .collect();
    let met = container.met(&candidate.access);
    let set: BTreeSet<KeyPosition> = met.iter().copied().collect();
    let title = candidate.node.title();
    if let AccessPath::Entries(scan) = &candidate.access {
        match scan.output {
            EntryOutput::Documents { once } => {
                assert!(once || set.len() == met.len(), "{title}: some come twice");
                assert!(
                    !once || request.shape != QueryShape::Stream,
                    "{title}: a stream"
                );
                check_order(container, request, scan, &met);
            }
            EntryOutput::Values | EntryOutput::DistinctValues | EntryOutput::FirstValue => {
                check_values(container, request, scan, &matching);
                return;
            }
        }
    }
    for (key_position, document) in matching {
        assert!(
            set.contains(key_position),
            "{title} does not meet {document}"
        );
    }
}

/// Where entries are exact, documents arrive in the order of the query.
fn check_order(
    container: &Container,
    request: &AccessRequest<'_>,
    scan: &EntryScan,
    met: &[KeyPosition],
) {
    if scan.ordered_columns == 0 {
        return;
    }
    assert_eq!(scan.ordered_columns, request.order.len());
    let document = |key_position: &KeyPosition| {
        &container.documents[u32::from_be_bytes(*key_position) as usize].1
    };
    let keys: Vec<Vec<&Value>> = met
        .iter()
        .map(|key_position| {
            let terms = request.order.iter();
            terms
                .map(|term| value_at(document(key_position), &term.path))
                .collect()
        })
        .filter(|key: &Vec<&Value>| key.iter().all(|value| is_told(value)))
        .collect();
    for pair in keys.windows(2) {
        let order = request
            .order
            .iter()
            .zip(pair[0].iter().zip(&pair[1]))
            .map(|(term, (a, b))| {
                let order = compare(a, b);
                if term.descending {
                    order.reverse()
                } else {
                    order
                }
            })
            .find(|order| order.is_ne());
        assert!(order.is_none_or(std::cmp::Ordering::is_lt), "{pair:?}");
    }
}

/// The values of the entries equal the values of the matching documents.
fn check_values(
    container: &Container,
    request: &AccessRequest<'_>,
    scan: &EntryScan,
    matching: &[&(KeyPosition, Value)],
) {
    let path = request.covering.unwrap();
    let entries = container.scan(scan);
    let met: BTreeSet<KeyPosition> = entries
        .iter()
        .map(|(_, key_position)| *key_position)
        .collect();
    let expected: BTreeSet<KeyPosition> = matching
        .iter()
        .map(|(key_position, _)| *key_position)
        .collect();
    assert_eq!(met, expected);
    assert_eq!(met.len(), entries.len());
    for (value, key_position) in &entries {
        let (decoded, rest) = decode(value).unwrap();
        assert!(rest.is_empty());
        let document = &container.documents[u32::from_be_bytes(*key_position) as usize].1;
        assert!(!decoded.is_exact || decoded.value == *value_at(document, path));
    }
}

fn value_at<'a>(document: &'a Value, path: &DocumentPath) -> &'a Value {
    values_at(document, path)
        .first()
        .copied()
        .unwrap_or(&Value::Undefined)
}

fn is_told(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number.as_f64().abs() < 1e15,
        Value::String(text) => text.len() < 100,
        Value::Array(_) | Value::Object(_) => false,
    }
}
