//! Splits lines into statements.
//!
//! A statement ends with a semicolon, with an empty line, or when it is complete: a command at the
//! end of its line unless a bracket is open, a query when the parser finds nothing missing. In a
//! script a complete query continues on the next line unless that line begins a statement, because
//! a script cannot say that it is finished, as a person does with Enter.

use orrery_sql::Query;
use orrery_sql::ast::{Expr, Projection};

use crate::statement::{begins_statement, is_query};

/// A statement and the number of its first line, which counts from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatementText {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Splits a whole text.
pub(crate) fn statements(text: &str) -> Vec<StatementText> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut begin = 1;
    for (number, line) in text.lines().enumerate() {
        let open = !current.is_empty();
        // The line belongs to the next statement, so the present one ends before it.
        if open && ends_before(&current, line) {
            found.extend(split_at_semicolons(&current, begin));
            current.clear();
        }
        // Comments and empty lines between statements belong to none.
        if current.is_empty() {
            if is_blank(line) {
                continue;
            }
            begin = number + 1;
        } else {
            current.push('\n');
        }
        current.push_str(line);
        if ends_with_semicolon(&current) {
            found.extend(split_at_semicolons(&current, begin));
            current.clear();
        }
    }
    found.extend(split_at_semicolons(&current, begin));
    found
}

/// Whether the text typed so far runs at the end of its line.
pub(crate) fn is_complete(text: &str) -> bool {
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    let blank_end = text.contains('\n') && last_line.trim().is_empty();
    if text.trim().is_empty() || blank_end || ends_with_semicolon(text) {
        return true;
    }
    let pieces = split_at_semicolons(text, 1);
    pieces.last().is_none_or(|piece| lacks_nothing(&piece.text))
}

/// Returns whether a line belongs to the next statement and not to the present one.
fn ends_before(current: &str, line: &str) -> bool {
    line.trim().is_empty() || begins_statement(line) && lacks_nothing(current)
}

/// Whether a statement is complete as it stands.
fn lacks_nothing(statement: &str) -> bool {
    match query_of(statement) {
        Some(query) => match orrery_sql::parse(query) {
            // The grammar allows a query without a source, but users do not mean it.
            Ok(parsed) => !lacks_source(&parsed),
            // A mistake before the end stays with another line.
            Err(error) => error.span.end < query.trim_end().chars().count() && !is_open(query),
        },
        None => !is_open(statement),
    }
}

/// Whether a query selects from a source that it does not name: `SELECT *`, `SELECT c.id`.
fn lacks_source(query: &Query) -> bool {
    query.from.is_empty()
        && match &query.select.projection {
            Projection::Star(_) => true,
            Projection::Value(expr) => has_name(expr),
            Projection::Items(items) => items.iter().any(|item| has_name(&item.expr)),
        }
}

/// Returns whether an expression reads a source.
fn has_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_)) || expr.children().into_iter().any(has_name)
}

/// The query of a statement, or in a statement.
fn query_of(statement: &str) -> Option<&str> {
    if is_query(statement) {
        return Some(statement);
    }
    let first = statement.split_whitespace().next()?.to_ascii_lowercase();
    if first != "explain" && first != "watch" {
        return None;
    }
    let words = statement.char_indices().filter(|(_, c)| c.is_whitespace());
    let mut rests = words.map(|(index, _)| &statement[index + 1..]);
    // The words before the query differ, so every position is tried.
    rests.find(|rest| is_query(rest))
}

/// Returns whether a line is empty or a comment.
fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("--") || line.starts_with('#')
}

/// Whether a bracket or a quote is open at the end of the text.
fn is_open(text: &str) -> bool {
    let mut scan = Scan::default();
    for c in text.chars() {
        scan.step(c);
    }
    scan.depth > 0 || scan.quote.is_some()
}

/// Whether the last character outside of strings and comments is a semicolon.
fn ends_with_semicolon(text: &str) -> bool {
    let mut scan = Scan::default();
    let mut last = ' ';
    for c in text.chars() {
        scan.step(c);
        if !c.is_whitespace() && !scan.is_comment() {
            last = if scan.quote.is_none() { c } else { ' ' };
        }
    }
    last == ';'
}

/// Splits a text whose first line has this number.
fn split_at_semicolons(text: &str, line: usize) -> Vec<StatementText> {
    let mut found = Vec::new();
    let mut scan = Scan::default();
    let mut start = 0;
    let mut push = |from: usize, to: usize| {
        let piece = &text[from..to];
        let trimmed = piece.trim();
        if !trimmed.lines().all(is_blank) {
            // The line of a statement is that of its first character, without the white space
            // before it.
            let before = &text[..from + piece.len() - piece.trim_start().len()];
            found.push(StatementText {
                text: trimmed.to_owned(),
                line: line + before.matches('\n').count(),
            });
        }
    };
    for (index, c) in text.char_indices() {
        scan.step(c);
        if c == ';' && scan.quote.is_none() && !scan.is_comment() {
            push(start, index);
            start = index + 1;
        }
    }
    push(start, text.len());
    found
}

/// The open constructs at a position of a text: a quote, a comment, brackets.
#[derive(Default)]
struct Scan {
    quote: Option<char>,
    escaped: bool,
    dashes: usize,
    depth: usize,
}

impl Scan {
    /// Returns whether the position is within a comment.
    fn is_comment(&self) -> bool {
        self.dashes >= 2
    }

    /// Advances by one character.
    fn step(&mut self, c: char) {
        if self.is_comment() {
            if c == '\n' {
                self.dashes = 0;
            }
            return;
        }
        if let Some(quote) = self.quote {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                _ if c == quote => self.quote = None,
                _ => {}
            }
            return;
        }
        // Two dashes begin a comment; a quote or bracket inside it opens nothing.
        self.dashes = if c == '-' { self.dashes + 1 } else { 0 };
        match c {
            '"' | '\'' => self.quote = Some(c),
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts() {
        for (text, expected) in [
            ("", &[][..]),
            ("\n-- only\n# comments\n", &[]),
            ("use a b\nSELECT 1", &[("use a b", 1), ("SELECT 1", 2)]),
            ("SELECT 1; SELECT 2;", &[("SELECT 1", 1), ("SELECT 2", 1)]),
            ("SELECT 1\nSELECT 2", &[("SELECT 1", 1), ("SELECT 2", 2)]),
            (
                "SELECT *\nFROM c\nWHERE c.a = ';'\nget 1",
                &[("SELECT *\nFROM c\nWHERE c.a = ';'", 1), ("get 1", 4)],
            ),
            (
                "SELECT * FROM c -- one; two\nWHERE c.a\n\nSELECT 2",
                &[
                    ("SELECT * FROM c -- one; two\nWHERE c.a", 1),
                    ("SELECT 2", 4),
                ],
            ),
            (
                "SELECT (\nSELECT VALUE 1) AS a",
                &[("SELECT (\nSELECT VALUE 1) AS a", 1)],
            ),
            (
                "create {\"id\":\n\"use\"\n}\nget 1",
                &[("create {\"id\":\n\"use\"\n}", 1), ("get 1", 4)],
            ),
        ] {
            let found = statements(text);
            let found: Vec<(&str, usize)> = found
                .iter()
                .map(|split| (split.text.as_str(), split.line))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_run_at_the_end_of_a_line() {
        for (text, expected) in [
            ("SELECT * FROM c", true),
            ("SELECT *", false),
            ("SELECT 1 AS one, ABS(-2)", true),
            ("SELECT c.id, c.author, c.price", false),
            ("SELECT VALUE {\"a\": [ABS(c.a)]}", false),
            (
                "SELECT c.id, c.author, c.price\nFROM c WHERE c.price < 10",
                true,
            ),
            ("SELECT VALUE (SELECT VALUE 1 FROM c)", true),
            ("SELECT c.id;", true),
            ("SELECT", false),
            ("SELECT * FROM c WHERE", false),
            ("SELECT * FROM c WHERE\n", true),
            ("SELECT * FROM c WHERE;", true),
            ("SELECT * FROM c WHERE c.a = (1", false),
            ("SELECT 'a", false),
            ("SELECT * FORM c x", true),
            ("explain SELECT * FROM", false),
            ("explain SELECT * FROM c", true),
            ("create {\"a\": [", false),
            ("create {\"a\": []}", true),
            ("use a", true),
            ("", true),
        ] {
            assert_eq!(is_complete(text), expected, "{text}");
        }
    }
}
