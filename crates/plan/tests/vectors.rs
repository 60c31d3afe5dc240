//! Plans compared with recorded plans of the service.

mod common;

use common::{AnyFunction, Setting, definition};
use orrery_json::{PropertyPath, Value, parse, parse_bounded};
use orrery_plan::{
    Arity, BuiltinFunctions, DistanceFunction, Features, KeyScope, PlannedRange, QueryPlan,
    VectorEmbedding,
};

const DATA: &[u8] = include_bytes!("../../sql/tests/data/query-plan-vectors.json");

/// Vectors whose recorded plan differs from the plan of this crate, by index, with the reason. The
/// test fails if such a vector no longer differs, or differs in another part of its plan.
const OTHER_RANGES: &[(usize, &str)] = &[
    (92, HASH_OF_TWO),
    (231, HASH_OF_TWO),
    (224, RANGE_KEY),
    (225, RANGE_KEY),
    (226, RANGE_KEY),
    (227, RANGE_KEY),
    (228, RANGE_KEY),
    (229, RANGE_KEY),
    (234, PLANE),
    (246, PLANE),
];
const OTHER_INFO: &[(usize, &str)] = &[
    (12, ONE_KEY),
    (152, ONE_KEY),
    (153, ONE_KEY),
    (166, ONE_KEY),
    (168, ONE_KEY),
    (193, ONE_KEY),
    (342, ONE_KEY),
    (343, ONE_KEY),
    (345, ONE_KEY),
    (176, OVERFLOW),
    (177, OVERFLOW),
    (186, OVERFLOW),
    (187, OVERFLOW),
    (357, OVERFLOW),
];

const HASH_OF_TWO: &str = "a hash of two paths is planned as a hierarchical key, by its prefix";
const RANGE_KEY: &str = "there are no containers with range keys";
const PLANE: &str = "shapes on a plane are not measured when planning, so the filter may hold";
const ONE_KEY: &str = "a newer planner leaves a query of one key as it is";
const OVERFLOW: &str = "the recorded number of rows has overflowed 32 bits; ours is clamped";

/// The recording prints numbers with 17 digits, this crate prints the shortest text of the same
/// number.
const DIGITS: [usize; 3] = [362, 363, 364];

/// Like [`AnyFunction`], with values for the built-in functions.
struct BuiltIn;

impl BuiltinFunctions for BuiltIn {
    fn arity(&self, name: &str) -> Option<Arity> {
        AnyFunction.arity(name)
    }

    fn evaluate(&self, name: &str, arguments: &[Value]) -> Option<Value> {
        orrery_exec::evaluate_function(name, arguments)
    }
}

#[test]
fn plan_vectors() {
    let vectors = section("planVectors");
    assert_eq!(vectors.len(), 403);
    let mut failures = Vec::new();
    for (index, vector) in vectors.iter().enumerate() {
        let Compared { info, ranges } = compare(vector, DIGITS.contains(&index));
        for (outcome, exceptions) in [(info, OTHER_INFO), (ranges, OTHER_RANGES)] {
            let exception = exceptions.iter().find(|(listed, _)| *listed == index);
            match (outcome, exception) {
                (Ok(()), None) | (Err(_), Some(_)) => {}
                (Err(difference), None) => failures.push(format!("{index}: {difference}")),
                (Ok(()), Some((_, reason))) => {
                    failures.push(format!("{index}: equal in spite of this: {reason}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn gateway_acceptance() {
    for vector in section("gatewayAcceptance") {
        let query = text(&vector, "query");
        let paths = vector
            .get("partitionKeyPaths")
            .as_array()
            .expect("recorded data");
        let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
        let outcome = Setting::with_key(&paths).plan(query);
        let accepted = vector.get("status").is_undefined();
        assert_eq!(outcome.is_ok(), accepted, "{query}: {outcome:?}");
    }
}

/// The differences between a plan or an error and the recording.
struct Compared {
    info: Result<(), String>,
    ranges: Result<(), String>,
}

fn compare(vector: &Value, compare_trees: bool) -> Compared {
    let query = text(vector, "query");
    let expected = vector.get("expected");
    let only = |info| Compared {
        info,
        ranges: Ok(()),
    };
    let plan = match (setting(vector).plan(query), expected.get("error")) {
        (Ok(plan), Value::Undefined) => plan,
        (Ok(_), error) => return only(Err(format!("{query}: a plan instead of {error}"))),
        (Err(error), Value::Undefined) => return only(Err(format!("{query}: {error}"))),
        (Err(error), expected) => {
            let found = parse(error.to_string().as_bytes()).expect("an error is JSON");
            return only(same(&found, expected, query));
        }
    };
    let expected = match expected.get("rawPlan") {
        Value::Undefined => expected,
        raw => raw,
    };
    let found = plan.to_json();
    let info = ["queryInfo", "hybridSearchQueryInfo"]
        .into_iter()
        .try_for_each(|part| same_info(found.get(part), expected.get(part), query, compare_trees));
    let ranges = match expected.get("queryRanges") {
        Value::Undefined => Ok(()),
        ranges => same(&as_set(&components(&plan)), &as_set(ranges), query),
    };
    Compared { info, ranges }
}

/// Every recorded field must be equal; texts are compared without white space.
fn same_info(
    found: &Value,
    expected: &Value,
    query: &str,
    compare_trees: bool,
) -> Result<(), String> {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, expected) in expected {
                let found = found.get(name).unwrap_or(&Value::Undefined);
                same_info(found, expected, query, compare_trees)?;
            }
            Ok(())
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => found
            .iter()
            .zip(expected)
            .try_for_each(|(found, expected)| same_info(found, expected, query, compare_trees)),
        (Value::String(found), Value::String(expected)) => {
            let form = |text: &str| {
                if compare_trees {
                    canonical(text)
                } else {
                    // A newer planner prints the worst score with all of its digits.
                    folded(text).replace("1.7976900000000001e+308", "1.79769e+308")
                }
            };
            if form(found) == form(expected) {
                return Ok(());
            }
            Err(format!("{query}:\n{found}\ninstead of\n{expected}"))
        }
        // The recording engine writes booleans as numbers.
        (Value::Bool(found), Value::Number(_)) => {
            same(&Value::from(i64::from(*found)), expected, query)
        }
        (found, expected) => same(found, expected, query),
    }
}

fn same(found: &Value, expected: &Value, query: &str) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{query}: {found} instead of {expected}"))
}

/// The ranges as key components, in the format of the recording.
fn components(plan: &QueryPlan) -> Value {
    let range = |range: &PlannedRange| {
        let (min, max) = match &range.key {
            KeyScope::All => ("[]".to_owned(), r#""Infinity""#.to_owned()),
            KeyScope::Nothing => ("[]".to_owned(), "[]".to_owned()),
            KeyScope::Point(key) => (key.to_json(), key.to_json()),
            KeyScope::Prefix(key) => (key.to_json(), r#""prefix""#.to_owned()),
        };
        let inclusive = range.is_max_inclusive;
        let text = format!(
            r#"{{"min":{min},"max":{max},"isMinInclusive":true,"isMaxInclusive":{inclusive}}}"#
        );
        parse(text.as_bytes()).expect("JSON of a test")
    };
    Value::Array(plan.ranges.iter().map(range).collect())
}

/// The recording sorts ranges by a hash that is neither of the two supported versions.
fn as_set(ranges: &Value) -> Value {
    let mut texts: Vec<String> = ranges
        .as_array()
        .expect("a list of ranges")
        .iter()
        .map(ToString::to_string)
        .collect();
    texts.sort();
    Value::Array(texts.into_iter().map(Value::from).collect())
}

fn setting(vector: &Value) -> Setting {
    let skip = vector.get("hybridSearchSkipOrderByRewrite").as_bool() == Some(true);
    let short_form = if skip {
        Features::HYBRID_SEARCH_SKIP_ORDER_BY_REWRITE
    } else {
        Features::NONE
    };
    let paths = vector
        .get("partitionKey")
        .get("paths")
        .as_array()
        .expect("recorded data");
    let paths: Vec<&str> = paths.iter().filter_map(Value::as_str).collect();
    let list = |value: &Value| value.as_array().unwrap_or_default().to_vec();
    let functions: &'static dyn BuiltinFunctions = match vector.get("geospatialType").as_str() {
        Some("Geometry") => &AnyFunction,
        _ => &BuiltIn,
    };
    Setting {
        functions,
        key: definition(&paths),
        parameters: list(vector.get("parameters"))
            .iter()
            .map(|parameter| {
                let name = text(parameter, "name").to_owned();
                (name, parameter.get("value").clone())
            })
            .collect(),
        features: Some(all_but_short_form().with(short_form)),
        vectors: list(vector.get("vectorEmbeddingPolicy").get("vectorEmbeddings"))
            .iter()
            .map(|embedding| VectorEmbedding {
                path: PropertyPath::parse(text(embedding, "path")).expect("recorded data"),
                distance_function: DistanceFunction::parse(text(embedding, "distanceFunction"))
                    .expect("recorded data"),
            })
            .collect(),
    }
}

fn all_but_short_form() -> Features {
    Features::parse(
        "Aggregate,CompositeAggregate,Distinct,GroupBy,MultipleAggregates,MultipleOrderBy,\
         OffsetAndLimit,OrderBy,Top,NonValueAggregate,DCount,NonStreamingOrderBy,\
         ListAndSetAggregate,CountIf,HybridSearch,WeightedRankFusion",
    )
}

fn section(name: &str) -> Vec<Value> {
    let data = parse_bounded(DATA, 128).expect("recorded data");
    data.get(name).as_array().expect("recorded data").to_vec()
}

fn text<'a>(vector: &'a Value, name: &str) -> &'a str {
    vector.get(name).as_str().expect("recorded data")
}

fn folded(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace("( ", "(").replace(" )", ")")
}

/// Parses the text as a query or an expression and prints it again.
fn canonical(text: &str) -> String {
    let text = text.replace("{documentdb-formattableorderbyquery-filter}", "true");
    let query =
        orrery_sql::parse(&text).or_else(|_| orrery_sql::parse(&format!("SELECT VALUE {text}")));
    query.map_or(text, |query| query.to_string())
}
