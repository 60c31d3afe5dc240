//! Any page size gives the same rows in the same order.

use orrery_json::Value;
use proptest::prelude::*;

use super::support::{Scope, json, program};

const QUERIES: &[&str] = &[
    "SELECT * FROM c",
    "SELECT VALUE c.a FROM c WHERE IS_DEFINED(c.a)",
    "SELECT TOP 3 c.a, c.b FROM c",
    "SELECT VALUE c.id FROM c OFFSET 2 LIMIT 4",
    "SELECT VALUE [c.id, t] FROM c JOIN t IN c.t",
    "SELECT VALUE [c.id, t, s] FROM c JOIN t IN c.t JOIN s IN c.t OFFSET 1 LIMIT 5",
    "SELECT VALUE t FROM t IN c.t",
    "SELECT VALUE c.id FROM c ORDER BY c.a",
    "SELECT VALUE c.id FROM c ORDER BY c.a DESC",
    "SELECT * FROM c ORDER BY c.a, c.b",
    "SELECT c.id, c.a FROM c ORDER BY c.a DESC, c.b",
    "SELECT TOP 4 VALUE c.id FROM c ORDER BY c.b",
    "SELECT VALUE c.id FROM c ORDER BY c.b DESC OFFSET 2 LIMIT 3",
    "SELECT VALUE [c.id, t] FROM c JOIN t IN c.t ORDER BY c.a DESC",
    "SELECT DISTINCT VALUE c.a FROM c",
    "SELECT DISTINCT c.a, c.b FROM c OFFSET 1 LIMIT 4",
    "SELECT DISTINCT VALUE t FROM c JOIN t IN c.t",
    "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a",
    "SELECT DISTINCT c.b, c.a FROM c ORDER BY c.a DESC, c.b OFFSET 1 LIMIT 5",
    "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.b",
    "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a",
    "SELECT c.a, c.b, MAX(c.id) AS m FROM c GROUP BY c.a, c.b OFFSET 1 LIMIT 3",
    "SELECT VALUE t FROM c JOIN t IN c.t GROUP BY t",
    "SELECT VALUE AVG(c.a) FROM c GROUP BY c.b",
    "SELECT c.a, MIN(c.b) AS m FROM c GROUP BY c.a ORDER BY c.a DESC",
    "SELECT DISTINCT COUNT(1) AS n FROM c GROUP BY c.a",
    "SELECT COUNT(1), SUM(c.a), MAX(c.b) FROM c",
];

pub(super) fn any_value() -> impl Strategy<Value = Value> {
    let long = "l".repeat(600);
    prop_oneof![
        3 => Just(Value::Undefined),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        3 => (-2_i64..3).prop_map(Value::from),
        1 => Just(Value::from(1.5)),
        2 => "[ab]{0,2}".prop_map(Value::from),
        2 => "[ab]{0,2}".prop_map(move |end| Value::from(format!("{long}{end}"))),
        1 => Just(json("[1]")),
        1 => Just(json("[]")),
        1 => (0_i64..2).prop_map(|n| json(&format!(r#"{{"x":{n}}}"#))),
    ]
}

pub(super) fn any_scope() -> impl Strategy<Value = Scope> {
    let values = prop::collection::vec(any_value(), 0..3);
    let document = (any_value(), any_value(), values);
    prop::collection::vec(document, 0..9).prop_map(|documents| {
        let documents = documents.into_iter().enumerate();
        Scope::of(
            documents
                .map(|(index, (a, b, t))| {
                    let t: Vec<Value> = t.into_iter().filter(|t| !t.is_undefined()).collect();
                    let properties = [
                        ("id", Value::from(index.to_string())),
                        ("a", a),
                        ("b", b),
                        ("t", Value::Array(t)),
                    ];
                    let defined = properties
                        .into_iter()
                        .filter(|(_, value)| !value.is_undefined())
                        .map(|(name, value)| (name.to_owned(), value));
                    Value::Object(defined.collect())
                })
                .collect(),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_agree(scope in any_scope(), items_max in 1_usize..5, bytes_max in 1_usize..2000) {
        for text in QUERIES {
            let program = program(text);
            let all = scope.pages(&program, usize::MAX, usize::MAX).unwrap();
            let pages = scope.pages(&program, items_max, usize::MAX).unwrap();
            prop_assert_eq!(&pages, &all, "{} in pages of {}", text, items_max);
            let short = scope.pages(&program, 100, bytes_max).unwrap();
            prop_assert_eq!(&short, &all, "{} in pages of {} bytes", text, bytes_max);
        }
    }
}
