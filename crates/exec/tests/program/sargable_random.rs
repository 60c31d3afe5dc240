//! Random filters against their predicates: every document with a row satisfies the predicate, and
//! an exact predicate admits no other document.

use std::cmp::Ordering;
use std::ops::Bound;

use orrery_exec::{CompileError, evaluate_function};
use orrery_exec::{DocumentPath, PathStep, Predicate, SpatialRelation, ValueRange, ValueType};
use orrery_json::{Value, compare, equal};
use proptest::prelude::*;

use super::support::{Scope, compile_calling, json};

fn values<'a>(value: &'a Value, steps: &[PathStep]) -> Vec<&'a Value> {
    match (steps, value) {
        ([], Value::Undefined) => Vec::new(),
        ([], value) => vec![value],
        ([PathStep::Name(name), rest @ ..], value) => values(value.get(name), rest),
        ([PathStep::Element, rest @ ..], Value::Array(elements)) => elements
            .iter()
            .flat_map(|element| values(element, rest))
            .collect(),
        _ => Vec::new(),
    }
}

fn is_of_type(value: &Value, value_type: ValueType) -> bool {
    matches!(
        (value, value_type),
        (Value::Null, ValueType::Null)
            | (Value::Bool(_), ValueType::Bool)
            | (Value::Number(_), ValueType::Number)
            | (Value::String(_), ValueType::String)
            | (Value::Array(_), ValueType::Array)
            | (Value::Object(_), ValueType::Object)
    )
}

fn is_in(value: &Value, range: &ValueRange) -> bool {
    let same_type = |end: &Value| value.type_name() == end.type_name();
    match range {
        ValueRange::Equal(other) => equal(value, other),
        ValueRange::Prefix(prefix) => {
            matches!(value, Value::String(text) if text.starts_with(prefix.as_str()))
        }
        ValueRange::OfType(value_type) => is_of_type(value, *value_type),
        ValueRange::Defined => true,
        ValueRange::Between { low, high } => {
            let above = match low {
                Bound::Unbounded => true,
                Bound::Included(end) => same_type(end) && compare(value, end) != Ordering::Less,
                Bound::Excluded(end) => same_type(end) && compare(value, end) == Ordering::Greater,
            };
            let below = match high {
                Bound::Unbounded => true,
                Bound::Included(end) => same_type(end) && compare(value, end) != Ordering::Greater,
                Bound::Excluded(end) => same_type(end) && compare(value, end) == Ordering::Less,
            };
            above && below
        }
    }
}

fn satisfies(document: &Value, predicate: &Predicate) -> bool {
    let at = |path: &DocumentPath| -> Vec<Value> {
        values(document, &path.0).into_iter().cloned().collect()
    };
    match predicate {
        Predicate::Anything => true,
        Predicate::Nothing => false,
        Predicate::And(terms) => {
            assert!(terms.len() > 1 && !terms.iter().any(|one| matches!(one, Predicate::And(_))));
            terms.iter().all(|term| satisfies(document, term))
        }
        Predicate::Or(terms) => {
            assert!(terms.len() > 1 && !terms.iter().any(|one| matches!(one, Predicate::Or(_))));
            terms.iter().any(|term| satisfies(document, term))
        }
        Predicate::Value { path, ranges } => {
            assert!(!ranges.is_empty());
            let values = at(path);
            values
                .iter()
                .any(|value| ranges.iter().any(|range| is_in(value, range)))
        }
        Predicate::Spatial {
            path,
            relation,
            geometry,
        } => at(path).into_iter().any(|value| {
            let arguments = [value, geometry.clone()];
            match relation {
                SpatialRelation::Within => {
                    evaluate_function("ST_WITHIN", &arguments) == Some(Value::Bool(true))
                }
                SpatialRelation::Intersects => {
                    evaluate_function("ST_INTERSECTS", &arguments) == Some(Value::Bool(true))
                }
                SpatialRelation::Distance { metres_max } => {
                    matches!(evaluate_function("ST_DISTANCE", &arguments),
                        Some(Value::Number(metres)) if metres.as_f64() <= *metres_max)
                }
            }
        }),
    }
}

fn any_scalar() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "null",
        "false",
        "true",
        "-1",
        "0",
        "1",
        "1.5",
        "2",
        "\"\"",
        "\"a\"",
        "\"ab\"",
        "\"b\"",
        "9007199254740993",
        "9007199254740992",
        "9.007199254740994e15",
    ])
}

fn any_constant() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => any_scalar().prop_map(str::to_owned),
        1 => Just("undefined".to_owned()),
        1 => Just("[1]".to_owned()),
        1 => Just("{\"x\": 1}".to_owned()),
    ]
}

fn any_path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "c.a", "c.a", "c.b", "c.o.x", "c.t[0]", "c.t", "c.o", "c.t[1].x",
    ])
}

/// A condition on `path`, which is a property path or a bound name.
fn condition(path: &'static str) -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
    let check = prop::sample::select(vec![
        "IS_DEFINED",
        "IS_NULL",
        "IS_BOOL",
        "IS_NUMBER",
        "IS_STRING",
        "IS_ARRAY",
        "IS_OBJECT",
        "IS_PRIMITIVE",
        "IS_INTEGER",
    ]);
    let search = prop::sample::select(vec!["STARTSWITH", "CONTAINS", "ENDSWITH", "STRINGEQUALS"]);
    let pattern = prop::sample::select(vec!["a%", "a", "%b", "a_", "%", "", "a%b", "[ab]%"]);
    let flag = prop::sample::select(vec!["", ", true", ", false"]);
    prop_oneof![
        (operator.clone(), any_constant()).prop_map(move |(op, k)| format!("{path} {op} {k}")),
        (operator, any_constant()).prop_map(move |(op, k)| format!("{k} {op} {path}")),
        (any_constant(), any_constant(), any::<bool>()).prop_map(move |(low, high, negated)| {
            let not = if negated { "NOT" } else { "" };
            format!("({path} {not} BETWEEN {low} AND {high})")
        }),
        (prop::collection::vec(any_constant(), 1..4), any::<bool>()).prop_map(
            move |(list, negated)| {
                let not = if negated { "NOT" } else { "" };
                format!("{path} {not} IN ({})", list.join(", "))
            }
        ),
        check.prop_map(move |check| format!("{check}({path})")),
        (search, any_constant(), flag.clone())
            .prop_map(move |(search, k, flag)| format!("{search}({path}, {k}{flag})")),
        (pattern, any::<bool>()).prop_map(move |(pattern, negated)| {
            let not = if negated { "NOT" } else { "" };
            format!("{path} {not} LIKE '{pattern}'")
        }),
        (any_constant(), flag)
            .prop_map(move |(k, flag)| format!("ARRAY_CONTAINS({path}, {k}{flag})")),
        Just(path.to_owned()),
    ]
}

fn any_filter() -> impl Strategy<Value = String> {
    let subquery = (any_path(), condition("e")).prop_map(|(path, filter)| {
        format!("EXISTS(SELECT VALUE e FROM e IN {path} WHERE {filter})")
    });
    let first = (any_path(), condition("e.x"))
        .prop_map(|(path, filter)| format!("EXISTS(SELECT e.x FROM e IN {path} WHERE {filter})"));
    let leaf = prop_oneof![
        8 => any_path().prop_flat_map(condition),
        1 => subquery,
        1 => first,
        1 => (any_path(), any_path()).prop_map(|(a, b)| format!("{a} = {b}")),
        1 => (any_path(), any_constant()).prop_map(|(a, k)| format!("({a} ?? {k}) = {k}")),
        1 => (any_path(), any_constant()).prop_map(|(a, k)| format!("ARRAY_CONTAINS([{k}, 1], {a})")),
        1 => any_path().prop_map(|a| format!("ARRAY_CONTAINS_ANY({a}, 1, 'a')")),
        1 => any_path().prop_map(|a| format!("ARRAY_CONTAINS_ALL({a}, 1, 'a')")),
        1 => any_path().prop_map(|a| format!("udf.positive({a})")),
        1 => (any_path(), any_constant()).prop_map(|(a, k)| format!("udf.same({a}) = {k}")),
        1 => (any_path(), any_path()).prop_map(|(a, b)| format!("udf.same({a}) >= {b}")),
        1 => Just("true".to_owned()),
        1 => Just("false".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|term| format!("(NOT ({term}))")),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|terms| format!("({})", terms.join(" AND "))),
            prop::collection::vec(inner, 2..4)
                .prop_map(|terms| format!("({})", terms.join(" OR "))),
        ]
    })
}

fn any_property() -> impl Strategy<Value = Value> {
    let element = prop_oneof![
        any_scalar().prop_map(json),
        any_scalar().prop_map(|x| json(&format!("{{\"x\":{x}}}"))),
    ];
    prop_oneof![
        2 => Just(Value::Undefined),
        6 => any_scalar().prop_map(json),
        2 => prop::collection::vec(element, 0..3).prop_map(Value::Array),
        2 => any_scalar().prop_map(|x| json(&format!("{{\"x\":{x}}}"))),
    ]
}

fn any_document() -> impl Strategy<Value = Value> {
    [
        any_property(),
        any_property(),
        any_property(),
        any_property(),
    ]
    .prop_map(|properties| {
        let named = ["a", "b", "o", "t"].into_iter().zip(properties);
        let defined = named.filter(|(_, value)| !value.is_undefined());
        Value::Object(
            defined
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    })
}

fn check(text: &str, documents: &[Value]) -> Result<(), TestCaseError> {
    let program = match compile_calling(text) {
        Err(CompileError::TooMany { .. }) => return Ok(()),
        program => program.expect(text),
    };
    let narrowing = program.sargable_filter();
    for document in documents {
        let scope = Scope::of(vec![document.clone()]);
        let rows = scope.pages(&program, 100, 1 << 20).expect("rows");
        let holds = satisfies(document, &narrowing.predicate);
        prop_assert!(
            rows.is_empty() || holds,
            "{} gives a row for {}: {:?}",
            text,
            document,
            narrowing
        );
        prop_assert!(
            !narrowing.is_exact || holds != rows.is_empty(),
            "{} is not exact for {}: {:?}",
            text,
            document,
            narrowing
        );
        let fields = program.fields().map(|fields| {
            orrery_json::parse_fields(document.to_string().as_bytes(), fields).expect("a document")
        });
        if let Some(part) = fields {
            let scope = Scope::of(vec![part]);
            prop_assert_eq!(
                scope.pages(&program, 100, 1 << 20).expect("rows"),
                rows,
                "{} over parts of {}",
                text,
                document
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_filters_imply_their_predicates(
        filter in any_filter(),
        documents in prop::collection::vec(any_document(), 1..8),
    ) {
        check(&format!("SELECT VALUE 1 FROM c WHERE {filter}"), &documents)?;
    }

    #[test]
    fn random_joins_imply_their_predicates(
        filter in any_filter(),
        (path, more) in (any_path(), prop_oneof![condition("t"), condition("t.x")]),
        documents in prop::collection::vec(any_document(), 1..8),
    ) {
        let text = format!("SELECT VALUE 1 FROM c JOIN t IN {path} WHERE {filter} AND {more}");
        check(&text, &documents)?;
        let text = format!("SELECT VALUE t FROM c JOIN (SELECT VALUE t FROM t IN {path} WHERE {more}) AS t \
             WHERE {filter}");
        check(&text, &documents)?;
    }

    #[test]
    fn resume_filters_imply_their_predicates(
        filter in any_filter(),
        value in any_scalar(),
        descending: bool,
        documents in prop::collection::vec(any_document(), 1..8),
    ) {
        let direction = if descending { "DESC" } else { "ASC" };
        let text = format!("SELECT VALUE 1 FROM c WHERE {filter} ORDER BY c.a {direction}");
        let program = match compile_calling(&text) {
            Err(CompileError::TooMany { .. }) => return Ok(()),
            program => program.expect(&text),
        };
        let program = program.with_resume_filter(&[json(value)], None, false).expect("a filter");
        let narrowing = program.sargable_filter();
        for document in &documents {
            let rows = Scope::of(vec![document.clone()]).pages(&program, 100, 1 << 20).expect("rows");
            prop_assert!(
                rows.is_empty() || satisfies(document, &narrowing.predicate),
                "{} from {} gives a row for {}: {:?}", text, value, document, narrowing
            );
        }
    }
}
