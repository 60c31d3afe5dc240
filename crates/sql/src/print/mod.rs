//! Syntax tree to canonical text, the form in which queries are rewritten.
//!
//! Key words in capitals, a line for each clause, parentheses around every operator, strings in
//! double quotes. What was written two ways is printed one way; what had a choice that clients
//! can see (`c.a` or `c["a"]`, the spelling of a function) keeps it. Parsing the text gives the
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

/// How many levels of subqueries stand around the text.
#[derive(Clone, Copy)]
struct Indent(usize);

impl Indent {
    fn deeper(self) -> Indent {
        Indent(self.0 + 1)
    }

    /// Begins a line.
    fn line(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:width$}", "", width = self.0 * 4)
    }
}

fn subquery(query: &Query, indent: Indent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("(")?;
    indent.deeper().line(f)?;
    query::write(query, indent.deeper(), f)?;
    indent.line(f)?;
    f.write_str(")")
}

fn string(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    orrery_json::write_string(text, &mut quoted);
    f.write_str(&String::from_utf8_lossy(&quoted))
}

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
