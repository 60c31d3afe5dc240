//! Prints the clauses of a query.

use std::fmt::{self, Formatter};

use super::{Indent, expression, list, string, subquery};
use crate::ast::{
    Collection, FromSource, OrderBy, OrderItem, PathStep, Projection, Query, RowCount, Select,
    SelectItem, SortDirection,
};
use crate::keyword::is_identifier;

/// Prints a query, one line per clause.
pub(super) fn write(query: &Query, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    select(&query.select, indent, f)?;
    for (index, from) in query.from.iter().enumerate() {
        indent.line(f)?;
        f.write_str(if index == 0 { "FROM " } else { "JOIN " })?;
        source(from, indent, f)?;
    }
    if let Some(filter) = &query.filter {
        indent.line(f)?;
        f.write_str("WHERE ")?;
        expression::write(filter, indent, f)?;
    }
    if !query.group_by.is_empty() {
        indent.line(f)?;
        f.write_str("GROUP BY ")?;
        list(&query.group_by, f, |expr, f| {
            expression::write(expr, indent, f)
        })?;
    }
    if let Some(clause) = &query.order_by {
        indent.line(f)?;
        order_by(clause, indent, f)?;
    }
    if let Some(clause) = &query.offset_limit {
        indent.line(f)?;
        f.write_str("OFFSET ")?;
        count(&clause.offset, f)?;
        f.write_str(" LIMIT ")?;
        count(&clause.limit, f)?;
    }
    Ok(())
}

fn select(select: &Select, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("SELECT ")?;
    if select.distinct {
        f.write_str("DISTINCT ")?;
    }
    if let Some(top) = &select.top {
        f.write_str("TOP ")?;
        count(top, f)?;
        f.write_str(" ")?;
    }
    match &select.projection {
        Projection::Star(_) => f.write_str("*"),
        Projection::Value(expr) => {
            f.write_str("VALUE ")?;
            expression::write(expr, indent, f)
        }
        Projection::Items(items) => list(items, f, |item, f| select_item(item, indent, f)),
    }
}

/// Prints an item of the select list with its alias.
fn select_item(item: &SelectItem, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    expression::write(&item.expr, indent, f)?;
    match &item.alias {
        None => Ok(()),
        // Any other alias needs quotation marks to be read back.
        Some(alias) if is_identifier(alias) => write!(f, " AS {alias}"),
        Some(alias) => {
            f.write_str(" AS ")?;
            string(alias, f)
        }
    }
}

/// Prints a source. `AS` is always written, although the grammar makes it optional.
fn source(source: &FromSource, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    match source {
        FromSource::Value {
            collection: value,
            alias,
        } => {
            collection(value, indent, f)?;
            alias
                .as_ref()
                .map_or(Ok(()), |alias| write!(f, " AS {}", alias.name))
        }
        FromSource::Elements {
            alias,
            collection: elements,
        } => {
            write!(f, "{} IN ", alias.name)?;
            collection(elements, indent, f)
        }
    }
}

fn collection(collection: &Collection, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    match collection {
        Collection::Subquery(query) => subquery(query, indent, f),
        Collection::Path { root, steps } => {
            f.write_str(&root.name)?;
            steps.iter().try_for_each(|step| path_step(step, f))
        }
    }
}

/// Prints a path step in the notation of the query text, because clients can observe it.
fn path_step(step: &PathStep, f: &mut Formatter<'_>) -> fmt::Result {
    match step {
        PathStep::Name(name) => write!(f, ".{name}"),
        PathStep::Index(index) => write!(f, "[{index}]"),
        PathStep::Key(key, _) => {
            f.write_str("[")?;
            string(key, f)?;
            f.write_str("]")
        }
    }
}

fn order_by(clause: &OrderBy, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    match clause {
        OrderBy::Items(items) => {
            f.write_str("ORDER BY ")?;
            list(items, f, |item, f| order_item(item, indent, f))
        }
        OrderBy::Rank(item) => {
            f.write_str("ORDER BY RANK ")?;
            order_item(item, indent, f)
        }
    }
}

fn order_item(item: &OrderItem, indent: Indent, f: &mut Formatter<'_>) -> fmt::Result {
    expression::write(&item.expr, indent, f)?;
    f.write_str(match item.direction {
        None => "",
        Some(SortDirection::Ascending) => " ASC",
        Some(SortDirection::Descending) => " DESC",
    })
}

fn count(count: &RowCount, f: &mut Formatter<'_>) -> fmt::Result {
    match count {
        RowCount::Literal(count) => write!(f, "{count}"),
        RowCount::Parameter(parameter) => f.write_str(&parameter.name),
    }
}
