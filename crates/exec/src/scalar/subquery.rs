//! Subqueries as values: `(SELECT ...)`, `EXISTS`, `ARRAY`, `ALL`, `FIRST`, `LAST`.
//!
//! Rows are made one at a time, and no more of them than the form needs.

use std::ops::ControlFlow::{Break, Continue};

use orrery_json::{VALUE_BYTES, Value};
use orrery_sql::ast::SubqueryKind;

use crate::ExecError;
use crate::block::Block;
use crate::frame::Frame;

pub(super) fn evaluate(kind: SubqueryKind, block: &Block, frame: &Frame<'_>) -> Value {
    match kind {
        SubqueryKind::Scalar => only(block, frame),
        SubqueryKind::Exists => Value::Bool(exists(block, frame)),
        SubqueryKind::Array => array(block, frame),
        SubqueryKind::All => Value::Bool(all(block, frame)),
        SubqueryKind::First => first(block, frame),
        SubqueryKind::Last => last(block, frame),
    }
}

fn only(block: &Block, frame: &Frame<'_>) -> Value {
    let mut only = Value::Undefined;
    let _ = block.each_row(frame, &mut |row| {
        if only.is_undefined() {
            only = row;
            return Continue(());
        }
        frame.context().fail(ExecError::Cardinality);
        Break(())
    });
    only
}

fn exists(block: &Block, frame: &Frame<'_>) -> bool {
    let mut found = false;
    let _ = block.each_row(frame, &mut |_| {
        found = true;
        Break(())
    });
    found
}

fn array(block: &Block, frame: &Frame<'_>) -> Value {
    let mut held = frame.context().hold();
    let mut rows = Vec::new();
    let _ = block.each_row(frame, &mut |row| {
        // A list that is full grows to twice its length.
        if !held.add(&row) || !held.add_bytes(VALUE_BYTES) {
            return Break(());
        }
        rows.push(row);
        Continue(())
    });
    Value::Array(rows)
}

fn all(block: &Block, frame: &Frame<'_>) -> bool {
    let mut all = true;
    let _ = block.each_row(frame, &mut |row| {
        all = row.as_bool() == Some(true);
        if all { Continue(()) } else { Break(()) }
    });
    all
}

fn first(block: &Block, frame: &Frame<'_>) -> Value {
    let mut first = Value::Undefined;
    let _ = block.each_row(frame, &mut |row| {
        first = row;
        Break(())
    });
    first
}

fn last(block: &Block, frame: &Frame<'_>) -> Value {
    let mut last = Value::Undefined;
    let _ = block.each_row(frame, &mut |row| {
        last = row;
        Continue(())
    });
    last
}
