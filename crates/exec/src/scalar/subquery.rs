//! Subqueries as values: `(SELECT ...)`, `EXISTS`, `ARRAY`, `ALL`, `FIRST`, `LAST`.
//!
//! Rows are computed one at a time, and only as many as the form needs.

use std::ops::ControlFlow::{Break, Continue};

use orrery_json::{VALUE_BYTES, Value};
use orrery_sql::ast::SubqueryKind;

use crate::ExecError;
use crate::frame::Frame;
use crate::query_block::QueryBlock;

/// Evaluates a subquery as a value.
pub(super) fn evaluate(kind: SubqueryKind, block: &QueryBlock, frame: &Frame<'_>) -> Value {
    match kind {
        SubqueryKind::Scalar => only(block, frame),
        SubqueryKind::Exists => Value::Bool(exists(block, frame)),
        SubqueryKind::Array => array(block, frame),
        SubqueryKind::All => Value::Bool(all(block, frame)),
        SubqueryKind::First => first(block, frame),
        SubqueryKind::Last => last(block, frame),
    }
}

/// The single row of a scalar subquery; undefined without a row.
fn only(block: &QueryBlock, frame: &Frame<'_>) -> Value {
    let mut only = Value::Undefined;
    let _ = block.each_row(frame, &mut |row| {
        if only.is_undefined() {
            only = row;
            return Continue(());
        }
        // A second row is an error of the query, as in the service.
        frame.context().fail(ExecError::Cardinality);
        Break(())
    });
    only
}

fn exists(block: &QueryBlock, frame: &Frame<'_>) -> bool {
    let mut found = false;
    let _ = block.each_row(frame, &mut |_| {
        found = true;
        Break(())
    });
    found
}

fn array(block: &QueryBlock, frame: &Frame<'_>) -> Value {
    let mut held = frame.context().scoped_lease();
    let mut rows = Vec::new();
    let _ = block.each_row(frame, &mut |row| {
        // A full list doubles its capacity.
        if !held.add(&row) || !held.add_bytes(VALUE_BYTES) {
            return Break(());
        }
        rows.push(row);
        Continue(())
    });
    Value::Array(rows)
}

/// Whether every row is `true`; a subquery without rows is true.
fn all(block: &QueryBlock, frame: &Frame<'_>) -> bool {
    let mut all = true;
    let _ = block.each_row(frame, &mut |row| {
        all = row.as_bool() == Some(true);
        if all { Continue(()) } else { Break(()) }
    });
    all
}

fn first(block: &QueryBlock, frame: &Frame<'_>) -> Value {
    let mut first = Value::Undefined;
    let _ = block.each_row(frame, &mut |row| {
        first = row;
        Break(())
    });
    first
}

fn last(block: &QueryBlock, frame: &Frame<'_>) -> Value {
    let mut last = Value::Undefined;
    let _ = block.each_row(frame, &mut |row| {
        last = row;
        Continue(())
    });
    last
}
