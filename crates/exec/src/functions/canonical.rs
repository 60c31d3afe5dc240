//! A byte string for each value that is identical for equal values and differs for all others. Sets
//! of values compare by hashing these strings instead of comparing each pair.
//!
//! Every part is self-delimiting: a type mark, then a length where the type has one.

use orrery_json::{Number, Value};

use super::integer::whole;

pub(super) fn canonical(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

/// Appends the form of a value.
fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Undefined => bytes.push(b'u'),
        Value::Null => bytes.push(b'0'),
        Value::Bool(false) => bytes.push(b'f'),
        Value::Bool(true) => bytes.push(b't'),
        Value::Number(number) => write_number(value, *number, bytes),
        Value::String(text) => write_text(text, bytes),
        Value::Array(elements) => {
            bytes.push(b'a');
            bytes.extend(elements.len().to_le_bytes());
            for element in elements {
                write(element, bytes);
            }
        }
        Value::Object(object) => {
            bytes.push(b'o');
            bytes.extend(object.len().to_le_bytes());
            // Equal objects may list their properties in different orders.
            let mut properties: Vec<_> = object.iter().collect();
            properties.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in properties {
                write_text(name, bytes);
                write(value, bytes);
            }
        }
    }
}

fn write_number(value: &Value, number: Number, bytes: &mut Vec<u8>) {
    // An integer and an equal double must have one form.
    match whole(value) {
        Some(whole) => {
            bytes.push(b'i');
            bytes.extend(whole.to_le_bytes());
        }
        None => {
            bytes.push(b'd');
            bytes.extend(number.as_f64().to_le_bytes());
        }
    }
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(b's');
    bytes.extend(text.len().to_le_bytes());
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use orrery_json::parse;

    #[test]
    fn equal_values_and_no_others_have_one_form() {
        let texts = [
            "null",
            "false",
            "true",
            "0",
            "1",
            "1.5",
            "1e300",
            "-1",
            "\"\"",
            "\"1\"",
            "[]",
            "[1]",
            "[[1]]",
            "[1,2]",
            "[[1],2]",
            "[2,1]",
            "{}",
            r#"{"a":1}"#,
            r#"{"a":1,"b":[]}"#,
            r#"{"a":{"b":[]}}"#,
            r#"["a"]"#,
            "9007199254740993",
            "9007199254740992",
        ];
        let values = texts.map(|text| parse(text.as_bytes()).unwrap());
        for a in &values {
            for b in &values {
                assert_eq!(canonical(a) == canonical(b), a == b, "{a} and {b}");
            }
        }
        let same = |a: &str, b: &str| {
            let (a, b) = (parse(a.as_bytes()).unwrap(), parse(b.as_bytes()).unwrap());
            assert_eq!(canonical(&a), canonical(&b));
        };
        same("1", "1.0");
        same("0", "-0.0");
        same(r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#);
    }
}
