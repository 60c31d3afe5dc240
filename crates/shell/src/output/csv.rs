//! Comma-separated values (RFC 4180, with plain line feeds).

use orrery_json::Value;

use super::table::{columns, field};

/// All rows as CSV, with a header of all column names.
pub(super) fn text(rows: &[Value]) -> String {
    let names = columns(rows);
    let mut out = String::new();
    let mut line = |fields: Vec<String>| {
        out.push_str(&fields.join(","));
        out.push('\n');
    };
    // An empty header line would look like one column without a name.
    if names.is_empty() {
        return out;
    }
    line(names.iter().map(|name| escaped(name)).collect());
    for row in rows {
        let fields = names.iter().map(|name| match field(row, name) {
            // CSV has no null, so both are an empty field.
            Value::Undefined | Value::Null => String::new(),
            Value::String(text) => escaped(text),
            value => escaped(&value.to_string()),
        });
        line(fields.collect());
    }
    out
}

/// A field, in quotes if it needs them.
fn escaped(text: &str) -> String {
    // RFC 4180 requires quotes around these characters only.
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_all_columns() {
        let rows = [r#"{"a":1,"b":"x, \"y\""}"#, r#"{"b":null,"c":[1,2]}"#, "7"];
        let rows = rows.map(|row| orrery_json::parse(row.as_bytes()).unwrap());
        assert_eq!(
            text(&rows),
            "a,b,c,value\n1,\"x, \"\"y\"\"\",,\n,,\"[1,2]\",\n,,,7\n"
        );
        assert_eq!(text(&[]), "");
    }
}
