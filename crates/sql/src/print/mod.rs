//! Prints a syntax tree as canonical text, the form in which queries are rewritten.
//!
//! Keywords are capitals, each clause is a line, every operator has parentheses, and strings have
//! double quotes. Different spellings of one meaning print alike. A choice that clients can observe
//! (`c.a` or `c["a"]`, the spelling of a function) is preserved. Parsing the printed text gives the
//! same tree.

mod expression;
mod query;

use std::fmt;

use crate::ast::{Expr, Query};

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        query::write(self, Indent(0), f)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        expression::write(self, Indent(0), f)
    }
}

/// The number of subqueries around the text.
#[derive(Clone, Copy)]
struct Indent(usize);

impl Indent {
    fn deeper(self) -> Indent {
        Indent(self.0 + 1)
    }

    /// Begins an indented line.
    fn line(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:width$}", "", width = self.0 * 4)
    }
}

/// Prints a subquery in parentheses, one indentation level deeper.
fn subquery(query: &Query, indent: Indent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("(")?;
    indent.deeper().line(f)?;
    query::write(query, indent.deeper(), f)?;
    indent.line(f)?;
    f.write_str(")")
}

/// Prints a string as JSON does, which the lexer reads back.
fn string(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    orrery_json::write_string(text, &mut quoted);
    f.write_str(&String::from_utf8_lossy(&quoted))
}

/// Prints items with commas in between.
fn list<T>(
    items: &[T],
    f: &mut fmt::Formatter<'_>,
    mut write: impl FnMut(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(item, f)?;
    }
    Ok(())
}
