//! Which constants a filter pins a property to, so that a query can go where the key says.

use orrery_json::Value;
use orrery_sql::ast::BinaryOp;

use crate::scalar::{Scalar, Step};

/// The values `path` may have where `filter` is true; `None` when there is no such list.
pub(crate) fn values(filter: &Scalar, path: &[String]) -> Option<Vec<Value>> {
    match filter {
        Scalar::Constant(value) if value.as_bool() != Some(true) => Some(Vec::new()),
        Scalar::Binary(BinaryOp::Equal, left, right) => {
            equality(left, right, path).or_else(|| equality(right, left, path))
        }
        Scalar::In {
            needle,
            list,
            negated: false,
        } if is_path(needle, path) => list
            .iter()
            .map(constant)
            .collect::<Option<Vec<_>>>()
            .map(|list| distinct(&list)),
        Scalar::And(terms) => {
            terms
                .iter()
                .filter_map(|term| values(term, path))
                .reduce(|some, other| {
                    some.into_iter()
                        .filter(|value| other.contains(value))
                        .collect()
                })
        }
        Scalar::Or(terms) => {
            let lists = terms
                .iter()
                .map(|term| values(term, path))
                .collect::<Option<Vec<_>>>()?;
            Some(distinct(&lists.concat()))
        }
        _ => None,
    }
}

fn equality(property: &Scalar, value: &Scalar, path: &[String]) -> Option<Vec<Value>> {
    if !is_path(property, path) {
        return None;
    }
    constant(value).map(|value| distinct(&[value]))
}

fn constant(scalar: &Scalar) -> Option<Value> {
    match scalar {
        Scalar::Constant(value) => Some(value.clone()),
        _ => None,
    }
}

fn is_path(scalar: &Scalar, path: &[String]) -> bool {
    let Scalar::Path(0, steps) = scalar else {
        return false;
    };
    steps.len() == path.len()
        && steps
            .iter()
            .zip(path)
            .all(|(step, name)| matches!(step, Step::Name(step) if step == name))
}

/// Each value once; nothing equals `Undefined`.
fn distinct(values: &[Value]) -> Vec<Value> {
    let mut kept = Vec::with_capacity(values.len());
    for value in values {
        if !value.is_undefined() && !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use orrery_json::{Path, parse};

    use crate::FilterQuery;

    #[test]
    fn filters_pin_a_path() {
        for (filter, expected) in [
            ("c.a.b = 1", "[1]"),
            ("'x' = c.a.b", r#"["x"]"#),
            ("c[\"a\"][\"b\"] = @p", "[7]"),
            ("c.a.b IN (1, 2, 1.0)", "[1,2]"),
            ("c.a.b = 1 AND c.x > 2", "[1]"),
            ("c.a.b IN (1, 2) AND c.a.b IN (2, 3)", "[2]"),
            ("c.a.b = 1 AND c.a.b = 2", "[]"),
            ("c.a.b = 1 OR c.a.b IN (2, 3)", "[1,2,3]"),
            ("c.a.b = undefined", "[]"),
            ("false", "[]"),
            ("c.a.b = 1 OR c.x = 2", "none"),
            ("c.a.b NOT IN (1)", "none"),
            ("c.a.b != 1", "none"),
            ("c.a.b = c.x", "none"),
            ("c.a = 1", "none"),
            ("NOT (c.a.b = 1)", "none"),
            ("true", "none"),
        ] {
            let query = orrery_sql::parse(&format!("SELECT * FROM c WHERE {filter}")).unwrap();
            let parameters = [("@p".to_owned(), parse(b"7").unwrap())];
            let query = FilterQuery::compile(&query, &parameters).unwrap();
            let values = query.required_values(&Path::of(["a", "b"]));
            let text = values.map_or("none".to_owned(), |values| {
                orrery_json::Value::Array(values).to_string()
            });
            assert_eq!(text, expected, "{filter}");
        }
    }
}
