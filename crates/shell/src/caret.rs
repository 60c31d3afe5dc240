//! Shows a mistake under the statement, at the location that the server names.

use orrery_client::Mistake;
use unicode_width::UnicodeWidthStr;

/// The line of the query with the mistake, marks below it, and the message.
pub(crate) fn shown(query: &str, mistake: &Mistake) -> Option<String> {
    let location = mistake.location?;
    let mut before = 0;
    for (number, line) in query.split('\n').enumerate() {
        let length = line.chars().count();
        // A mistake at the very end of the query lies beyond its last line.
        let is_last = number + 1 == query.split('\n').count();
        if location.start <= before + length || is_last {
            let start = location.start.saturating_sub(before).min(length);
            let end = location.end.saturating_sub(before).clamp(start, length);
            // Marks are placed by the width on the screen: some characters take two columns, and a
            // tab is shown as one space.
            let columns = |from: usize, to: usize| {
                let part: String = line.chars().skip(from).take(to - from).collect();
                part.replace('\t', " ").width()
            };
            let indent = " ".repeat(columns(0, start));
            let marks = "^".repeat(columns(start, end).max(1));
            let line = line.replace('\t', " ");
            return Some(format!("  {line}\n  {indent}{marks} {}\n", mistake.message));
        }
        // The line break counts as one character of the query.
        before += length + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_below_the_place() {
        for (query, start, end, expected) in [
            (
                "SELECT * FORM c",
                9,
                13,
                "  SELECT * FORM c\n           ^^^^ m\n",
            ),
            ("a\nbc d", 5, 6, "  bc d\n     ^ m\n"),
            ("a\nb", 1, 1, "  a\n   ^ m\n"),
            ("日本 x", 3, 4, "  日本 x\n       ^ m\n"),
            ("\tx", 1, 99, "   x\n   ^ m\n"),
            ("", 7, 9, "  \n  ^ m\n"),
        ] {
            let text = format!(r#"{{"location":{{"start":{start},"end":{end}}},"message":"m"}}"#);
            let mistake: Mistake = serde_json::from_str(&text).unwrap();
            assert_eq!(shown(query, &mistake).as_deref(), Some(expected));
        }
    }
}
