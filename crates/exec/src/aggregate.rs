//! `COUNT`, `COUNTIF`, `SUM`, `AVG`, `MIN`, `MAX`, `MAKELIST`, `MAKESET`.
//!
//! Undefined inputs are skipped by all of them. A value of a wrong type does not fail: it makes
//! the result undefined, for good.

use std::cmp::Ordering;
use std::collections::HashSet;

use orrery_json::{VALUE_BYTES, Value, compare};
use orrery_sql::ast::BinaryOp;

use crate::ExecError;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::ledger::Held;
use crate::scalar::{Scalar, arithmetic};
use crate::text_bytes::text_bytes;

const CELL_BYTES: usize = 128;
/// What a hash takes in a set that may be half empty.
pub(crate) const HASH_BYTES: usize = 2 * (size_of::<DistinctHash>() + 1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    Count,
    CountIf,
    Sum,
    Average,
    Min,
    Max,
    List,
    Set,
}

const NAMES: &[(&str, AggregateKind)] = &[
    ("COUNT", AggregateKind::Count),
    ("COUNTIF", AggregateKind::CountIf),
    ("SUM", AggregateKind::Sum),
    ("AVG", AggregateKind::Average),
    ("MIN", AggregateKind::Min),
    ("MAX", AggregateKind::Max),
    ("MAKELIST", AggregateKind::List),
    ("MAKESET", AggregateKind::Set),
];

impl AggregateKind {
    pub(crate) fn named(name: &str) -> Option<AggregateKind> {
        NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, kind)| *kind)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Scalar,
}

/// What an aggregate remembers of the rows of one group.
#[derive(Debug)]
pub(crate) enum Accumulator {
    Count(i64),
    /// The sum while every input was a number.
    Sum(Option<Value>),
    Average(Option<Value>, i64),
    /// The extreme while every input was a primitive; undefined before the first.
    Extreme(Option<Value>, Ordering),
    List(Vec<Value>),
    Set(HashSet<DistinctHash>, Vec<Value>),
}

impl Aggregate {
    pub(crate) fn start(&self) -> Accumulator {
        let zero = || Some(Value::from(0));
        match self.kind {
            AggregateKind::Count | AggregateKind::CountIf => Accumulator::Count(0),
            AggregateKind::Sum => Accumulator::Sum(zero()),
            AggregateKind::Average => Accumulator::Average(zero(), 0),
            AggregateKind::Min => Accumulator::Extreme(Some(Value::Undefined), Ordering::Less),
            AggregateKind::Max => Accumulator::Extreme(Some(Value::Undefined), Ordering::Greater),
            AggregateKind::List => Accumulator::List(Vec::new()),
            AggregateKind::Set => Accumulator::Set(HashSet::new(), Vec::new()),
        }
    }

    /// Adds a row, or several alike, and gives the cells by which the accumulator has grown. What
    /// it keeps is counted before.
    pub(crate) fn add(
        &self,
        accumulator: &mut Accumulator,
        frame: &Frame<'_>,
        held: &mut Held,
    ) -> Result<usize, ExecError> {
        let value = self.argument.evaluate(frame);
        if value.is_undefined() {
            return Ok(0);
        }
        let times = frame.context().times();
        let rows = i64::try_from(times).unwrap_or(i64::MAX);
        match accumulator {
            Accumulator::Count(count) => {
                if self.kind == AggregateKind::Count || value.as_bool() == Some(true) {
                    *count += rows;
                }
            }
            Accumulator::Sum(sum) => add_number(sum, &value, times),
            Accumulator::Average(sum, count) => {
                add_number(sum, &value, times);
                *count += rows;
            }
            Accumulator::Extreme(extreme, wanted) => choose(extreme, &value, *wanted, held)?,
            Accumulator::List(values) => {
                let times = usize::try_from(times).unwrap_or(usize::MAX);
                held.add(grown_bytes(&value).saturating_mul(times))?;
                values.extend((0..times).map(|_| Value::clone(&value)));
                return Ok(cells_of(&value).saturating_mul(times));
            }
            Accumulator::Set(seen, values) => {
                if seen.insert(DistinctHash::of(&value)) {
                    let cells = cells_of(&value);
                    held.add(grown_bytes(&value) + HASH_BYTES)?;
                    values.push(value.into_owned());
                    return Ok(cells);
                }
            }
        }
        Ok(0)
    }
}

impl Accumulator {
    pub(crate) fn finish(self) -> Value {
        match self {
            Accumulator::Count(count) => Value::from(count),
            Accumulator::Sum(value) | Accumulator::Extreme(value, _) => value.unwrap_or_default(),
            Accumulator::Average(_, 0) => Value::Undefined,
            Accumulator::Average(sum, count) => arithmetic::binary(
                BinaryOp::Divide,
                &sum.unwrap_or_default(),
                &Value::from(count),
            ),
            Accumulator::List(values) | Accumulator::Set(_, values) => Value::Array(values),
        }
    }
}

/// A long value counts as several cells, so that a limit of cells is one of memory.
pub(crate) fn cells_of(value: &Value) -> usize {
    1 + text_bytes(value) / CELL_BYTES
}

/// Of a list that grows by a value: when it is full it grows to twice its length.
fn grown_bytes(value: &Value) -> usize {
    value.allocated_bytes() + VALUE_BYTES
}

/// One after the other, because doubles do not multiply to what they add up to.
fn add_number(sum: &mut Option<Value>, value: &Value, times: u64) {
    for _ in 0..times {
        *sum = match (sum.take(), value) {
            (Some(sum), Value::Number(_)) => Some(arithmetic::binary(BinaryOp::Add, &sum, value)),
            _ => return,
        };
    }
}

fn choose(
    extreme: &mut Option<Value>,
    value: &Value,
    wanted: Ordering,
    held: &mut Held,
) -> Result<(), ExecError> {
    let Some(best) = extreme else {
        return Ok(());
    };
    match value {
        Value::Array(_) | Value::Object(_) => *extreme = None,
        value if best.is_undefined() || compare(value, best) == wanted => {
            held.add(value.allocated_bytes())?;
            held.remove(best.allocated_bytes());
            *best = value.clone();
        }
        _ => {}
    }
    Ok(())
}
