//! JSON over several lines.

use orrery_json::{Value, write_string};

const INDENT: &str = "  ";

/// The value as indented JSON.
pub(crate) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(value, "\n", &mut out);
    out
}

/// Writes a value. `line` is the line break with the indentation of the value.
fn write(value: &Value, line: &str, out: &mut String) {
    let deeper = format!("{line}{INDENT}");
    match value {
        Value::Array(elements) if !elements.is_empty() => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&deeper);
                write(element, &deeper, out);
            }
            out.push_str(line);
            out.push(']');
        }
        Value::Object(properties) if !properties.is_empty() => {
            out.push('{');
            for (index, (name, value)) in properties.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&deeper);
                let mut quoted = Vec::new();
                write_string(name, &mut quoted);
                out.push_str(&String::from_utf8_lossy(&quoted));
                out.push_str(": ");
                write(value, &deeper, out);
            }
            out.push_str(line);
            out.push('}');
        }
        value => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_several_lines() {
        for (text, expected) in [
            ("1", "1"),
            ("[]", "[]"),
            (
                r#"{"a":[1,{}],"b":"x"}"#,
                "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x\"\n}",
            ),
        ] {
            let value = orrery_json::parse(text.as_bytes()).unwrap();
            assert_eq!(pretty(&value), expected);
        }
    }
}
