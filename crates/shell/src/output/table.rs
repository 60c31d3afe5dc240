//! Rows as a table, with a column for each property, in the order of first occurrence.

use orrery_json::{Object, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The column of rows that are no objects.
const VALUE: &str = "value";

/// The system properties of an item, which a table of whole items leaves out.
const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// The widest column of a table with several columns.
const CELL_WIDTH_MAX: usize = 40;

/// The space between two columns.
const GAP: &str = "  ";

/// The columns and widths of a table whose first rows were shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout(Vec<(String, usize)>);

/// The text of some rows of a table. `width` is the width of the screen, on which long values are
/// cut. The head is written when the layout changes, so that the pages of a result look like one
/// table while they can.
pub(super) fn text(rows: &[Value], width: Option<usize>, layout: &mut Option<Layout>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut names = columns(rows);
    // A projection that selects a system property must show it.
    if rows.iter().all(is_whole_item) {
        names.retain(|name| !SYSTEM.contains(&name.as_str()));
    }
    // A single column may use the whole screen.
    let width_max = match (width, names.len()) {
        (None, _) => usize::MAX,
        (Some(width), 1) => width,
        (Some(_), _) => CELL_WIDTH_MAX,
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let cells = names
                .iter()
                .map(|name| cut(cell(field(row, name)), width_max));
            cells.collect()
        })
        .collect();
    let widths = names.iter().enumerate().map(|(column, name)| {
        let cells = cells.iter().map(|row| row[column].width());
        let width = cells.max().unwrap_or(0).max(name.width());
        (name.clone(), width.min(width_max))
    });
    let needed = Layout(widths.collect());
    let mut out = String::new();
    let layout = match layout {
        // The page fits the columns of the page before, so the head is not repeated.
        Some(layout) if layout.has_room_for(&needed) => layout,
        changed => {
            let layout = changed.insert(needed);
            let head = layout
                .0
                .iter()
                .map(|(name, width)| cut(name.clone(), *width));
            layout.line(&head.collect::<Vec<_>>(), &mut out);
            let rule = layout.0.iter().map(|(_, width)| "-".repeat(*width));
            layout.line(&rule.collect::<Vec<_>>(), &mut out);
            layout
        }
    };
    for row in &cells {
        layout.line(row, &mut out);
    }
    out
}

/// The names of all properties, and `value` if a row is no object.
pub(super) fn columns(rows: &[Value]) -> Vec<String> {
    // An object has the order of insertion and finds a name in constant time.
    let mut names = Object::default();
    for row in rows {
        match row {
            Value::Object(properties) => {
                for name in properties.keys() {
                    if !names.contains_key(name) {
                        names.insert(name.clone(), Value::Null);
                    }
                }
            }
            _ => {
                names.insert(VALUE.to_owned(), Value::Null);
            }
        }
    }
    names.into_keys().collect()
}

/// The value of a row in a column. Undefined if the row has no such property.
pub(super) fn field<'a>(row: &'a Value, name: &str) -> &'a Value {
    match row {
        Value::Object(_) => row.get(name),
        _ if name == VALUE => row,
        _ => &Value::Undefined,
    }
}

impl Layout {
    /// Returns whether rows that need other widths fit into the columns of this layout.
    fn has_room_for(&self, needed: &Layout) -> bool {
        self.0.len() == needed.0.len()
            && self
                .0
                .iter()
                .zip(&needed.0)
                .all(|(ours, theirs)| ours.0 == theirs.0 && ours.1 >= theirs.1)
    }

    /// Appends one line of the table, without blanks at its end.
    fn line(&self, cells: &[String], out: &mut String) {
        let mut line = String::new();
        for ((_, width), cell) in self.0.iter().zip(cells) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(cell.width())));
            line.push_str(GAP);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Returns whether a row has all system properties, so that it is an item and no projection.
fn is_whole_item(row: &Value) -> bool {
    let properties = row.as_object();
    properties.is_some_and(|properties| SYSTEM.iter().all(|name| properties.contains_key(*name)))
}

/// The text of a cell, with control characters escaped, which would move the cursor.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if !text.contains(char::is_control) {
        return text;
    }
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            c if c.is_control() => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// The text, shortened to the width with an ellipsis.
fn cut(text: String, width_max: usize) -> String {
    if text.width() <= width_max {
        return text;
    }
    // The ellipsis takes one column.
    let mut width = 1;
    let fitting = text.chars().take_while(|c| {
        width += c.width().unwrap_or(0);
        width <= width_max
    });
    fitting.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[&str]) -> Vec<Value> {
        let parse = |text: &&str| orrery_json::parse(text.as_bytes()).unwrap();
        texts.iter().map(parse).collect()
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = rows(&[r#"{"id":"1","a":{"b":1}}"#, r#"{"id":"日本","c":"x\ny"}"#]);
        let expected = "\
id    a        c
----  -------  ----
1     {\"b\":1}
日本           x\\ny
";
        assert_eq!(text(&rows, Some(80), &mut None), expected);
    }

    #[test]
    fn pages_share_a_head_while_they_fit() {
        let mut layout = None;
        let mut page = |row: &str| text(&rows(&[row]), Some(80), &mut layout);
        assert_eq!(page(r#"{"a":"long"}"#), "a\n----\nlong\n");
        assert_eq!(page(r#"{"a":"b"}"#), "b\n");
        assert_eq!(page(r#"{"a":"longer"}"#), "a\n------\nlonger\n");
        assert_eq!(page("1"), "value\n-----\n1\n");
    }

    #[test]
    fn long_values_are_cut_on_a_screen_only() {
        let long = format!(r#"{{"a":"{}","b":1}}"#, "x".repeat(60));
        let rows = rows(&[&long]);
        let cut = text(&rows, Some(80), &mut None);
        assert!(cut.contains(&format!("{}…", "x".repeat(39))), "{cut}");
        assert!(!cut.contains(&"x".repeat(40)));
        assert!(text(&rows, None, &mut None).contains(&"x".repeat(60)));
    }

    #[test]
    fn whole_items_are_shown_without_what_all_have() {
        let item = r#"{"id":"1","_rid":"r","_self":"s","_etag":"e","_attachments":"a","_ts":1}"#;
        assert_eq!(text(&rows(&[item]), None, &mut None), "id\n--\n1\n");
        let part = r#"{"id":"1","_ts":1}"#;
        assert!(text(&rows(&[part]), None, &mut None).contains("_ts"));
    }
}
