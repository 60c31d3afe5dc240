//! Programs against the plain reading of the language: collect all rows, then sort, group, or
//! remove duplicates.

use std::cmp::Ordering;

use orrery_exec::DistinctHash;
use orrery_json::Value;
use proptest::prelude::*;

use super::paging::any_scope;
use super::support::{Scope, program, sorted};

fn rank(value: &Value) -> usize {
    let ranks = [
        "undefined",
        "null",
        "boolean",
        "number",
        "string",
        "array",
        "object",
    ];
    ranks
        .iter()
        .position(|name| *name == value.type_name())
        .expect("a type")
}

fn total_order(a: &Value, b: &Value) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.as_f64().total_cmp(&b.as_f64()),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (a, b) => DistinctHash::of(a)
            .bytes()
            .cmp(&DistinctHash::of(b).bytes()),
    })
}

fn run(scope: &Scope, text: &str) -> Vec<Value> {
    scope
        .pages(&program(text), 2, 1 << 20)
        .expect("a result within limits")
}

fn distinct(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !value.is_undefined() && !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn order_by_is_a_sort(scope in any_scope(), first_down: bool, second_down: bool) {
        let direction = |down| if down { "DESC" } else { "ASC" };
        let text = format!(
            "SELECT VALUE c.id FROM c ORDER BY c.a {}, c.b {}",
            direction(first_down),
            direction(second_down)
        );
        let mut documents: Vec<&Value> = scope.values().collect();
        if first_down {
            documents.reverse();
        }
        let turn = |order: Ordering, down| if down { order.reverse() } else { order };
        documents.sort_by(|x, y| {
            turn(total_order(x.get("a"), y.get("a")), first_down)
                .then(turn(total_order(x.get("b"), y.get("b")), second_down))
        });
        let expected: Vec<Value> = documents.iter().map(|one| one.get("id").clone()).collect();
        prop_assert_eq!(run(&scope, &text), expected);
    }

    #[test]
    fn distinct_is_a_set(scope in any_scope()) {
        let expected = distinct(scope.values().map(|document| document.get("a").clone()));
        let rows = run(&scope, "SELECT DISTINCT VALUE c.a FROM c");
        prop_assert_eq!(sorted(&rows), sorted(&expected));

        let mut expected = expected;
        expected.sort_by(total_order);
        prop_assert_eq!(run(&scope, "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a"), expected);
    }

    #[test]
    fn distinct_rows_stand_where_the_first_copy_does(scope in any_scope()) {
        let ordered = run(&scope, "SELECT VALUE c.a FROM c ORDER BY c.b");
        let expected = distinct(ordered.into_iter());
        prop_assert_eq!(run(&scope, "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.b"), expected);
    }

    #[test]
    fn groups_are_classes_of_equal_keys(scope in any_scope()) {
        let mut groups: Vec<(Value, Vec<&Value>)> = Vec::new();
        for document in scope.values() {
            let key = document.get("a");
            match groups.iter_mut().find(|(known, _)| known == key) {
                Some((_, members)) => members.push(document),
                None => groups.push((key.clone(), vec![document])),
            }
        }
        let rows = groups.into_iter().map(|(key, members)| {
            let b: Vec<&Value> = members.iter().map(|one| one.get("b")).filter(|b| !b.is_undefined()).collect();
            let mut row = orrery_json::Object::default();
            row.insert("k".to_owned(), key);
            row.insert("n".to_owned(), count(members.len()));
            row.insert("d".to_owned(), count(b.len()));
            row.insert("s".to_owned(), sum(&b));
            row.insert("m".to_owned(), least(&b));
            row.retain(|_, value| !value.is_undefined());
            Value::Object(row)
        });
        let expected: Vec<Value> = rows.collect();
        let text = "SELECT c.a AS k, COUNT(1) AS n, COUNT(c.b) AS d, SUM(c.b) AS s, MIN(c.b) AS m FROM c GROUP BY c.a";
        prop_assert_eq!(sorted(&run(&scope, text)), sorted(&expected));
    }

    #[test]
    fn joins_are_nested_loops(scope in any_scope()) {
        let mut expected = Vec::new();
        for document in scope.values() {
            let elements = document.get("t").as_array().unwrap();
            for t in elements {
                for s in elements {
                    if t != s {
                        expected.push(Value::Array(vec![t.clone(), s.clone()]));
                    }
                }
            }
        }
        let text = "SELECT VALUE [t, s] FROM c JOIN t IN c.t JOIN s IN c.t WHERE t != s";
        prop_assert_eq!(run(&scope, text), expected);
    }
}

fn count(count: usize) -> Value {
    Value::from(i64::try_from(count).expect("a small number"))
}

fn sum(values: &[&Value]) -> Value {
    let mut total = 0.0;
    for value in values {
        match value {
            Value::Number(number) => total += number.as_f64(),
            _ => return Value::Undefined,
        }
    }
    Value::from(total)
}

fn least(values: &[&Value]) -> Value {
    if values.iter().any(|value| rank(value) > 4) {
        return Value::Undefined;
    }
    values
        .iter()
        .min_by(|a, b| total_order(a, b))
        .map_or(Value::Undefined, |value| (*value).clone())
}
