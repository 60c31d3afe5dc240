//! Equality and the total order over all values.

use std::cmp::Ordering;

use crate::Value;

/// Structural equality: arrays in order, objects by property set, numbers numerically.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => false,
    }
}

/// `undefined < null < false < true < numbers < strings < arrays < objects`.
///
/// Two arrays compare as equal, and so do two objects: the query engine orders them by a hash of
/// its own.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.total_cmp(*b),
        (Value::String(a), Value::String(b)) => compare_strings(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Compares by UTF-16 code unit, because the clients that merge sorted pages do so.
fn compare_strings(a: &str, b: &str) -> Ordering {
    // Against an ASCII string, byte order and UTF-16 order agree: every other character is greater
    // in both.
    if a.is_ascii() || b.is_ascii() {
        return a.as_bytes().cmp(b.as_bytes());
    }
    a.encode_utf16().cmp(b.encode_utf16())
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Undefined => 0,
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn types_order_before_values() {
        let texts = [
            "null", "false", "true", "-1", "0", "2.5", "\"\"", "\"a\"", "[]", "{}",
        ];
        let mut values = vec![Value::Undefined];
        values.extend(texts.iter().map(|text| parse(text.as_bytes()).unwrap()));
        for pair in values.windows(2) {
            assert_eq!(
                compare(&pair[0], &pair[1]),
                Ordering::Less,
                "{} < {}",
                pair[0],
                pair[1]
            );
        }
    }

    #[test]
    fn supplementary_characters_order_before_the_private_use_area() {
        assert_eq!(compare_strings("\u{10000}", "\u{E000}"), Ordering::Less);
        assert_eq!(compare_strings("a", "\u{10000}"), Ordering::Less);
    }

    #[test]
    fn equality_is_structural() {
        let check = |a: &str, b: &str, expected: bool| {
            let (a, b) = (parse(a.as_bytes()).unwrap(), parse(b.as_bytes()).unwrap());
            assert_eq!(equal(&a, &b), expected, "{a} = {b}");
        };
        check(r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1}"#, true);
        check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false);
        check("[1,2]", "[2,1]", false);
        check("1", "\"1\"", false);
    }
}
