//! The aggregates `COUNT`, `COUNTIF`, `SUM`, `AVG`, `MIN`, `MAX`, `MAKELIST`, `MAKESET`.
//!
//! Every aggregate skips undefined inputs. A value of a wrong type is not an error: it makes the
//! result undefined, whatever rows follow.

use std::cmp::Ordering;
use std::collections::HashSet;

use orrery_json::{VALUE_BYTES, Value, compare};
use orrery_sql::ast::BinaryOp;

use crate::ExecError;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::ledger::MemoryLease;
use crate::scalar::{Scalar, arithmetic};
use crate::text_bytes::text_bytes;

/// Text bytes that count as one cell of a value.
const CELL_BYTES: usize = 128;
/// Bytes of one hash in a set that may be half empty.
pub(crate) const HASH_BYTES: usize = 2 * (size_of::<DistinctHash>() + 1);

/// The aggregate functions of the language.
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

/// The names of all aggregates.
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
    /// The aggregate of a name, in any case.
    pub(crate) fn named(name: &str) -> Option<AggregateKind> {
        NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, kind)| *kind)
    }
}

/// An aggregate call in a select list: its function, and its argument over the rows.
#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Scalar,
}

/// The state of one aggregate over the rows of one group.
#[derive(Debug)]
pub(crate) enum Accumulator {
    Count(i64),
    /// The sum; `None` after an input that is no number.
    Sum(Option<Value>),
    Average(Option<Value>, i64),
    /// The extreme value; `None` after an array or object, undefined before the first input.
    Extreme(Option<Value>, Ordering),
    List(Vec<Value>),
    Set(HashSet<DistinctHash>, Vec<Value>),
}

impl Aggregate {
    /// The state before the first row.
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

    /// Adds one row, or several identical rows, and returns the number of cells by which the
    /// accumulator has grown. The lease counts new memory before the accumulator keeps it.
    pub(crate) fn add(
        &self,
        accumulator: &mut Accumulator,
        frame: &Frame<'_>,
        held: &mut MemoryLease,
    ) -> Result<usize, ExecError> {
        let value = self.argument.evaluate(frame);
        if value.is_undefined() {
            return Ok(0);
        }
        let times = frame.context().repetitions();
        let rows = i64::try_from(times).unwrap_or(i64::MAX);
        match accumulator {
            Accumulator::Count(count) => {
                // `COUNTIF` counts only rows whose argument is exactly `true`.
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
                // Equality of set members is decided by their hashes.
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
    /// The result of the aggregate over all added rows.
    pub(crate) fn finish(self) -> Value {
        match self {
            Accumulator::Count(count) => Value::from(count),
            Accumulator::Sum(value) | Accumulator::Extreme(value, _) => value.unwrap_or_default(),
            // The average of no numbers is undefined, not a division by zero.
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

/// The cells of a value. A long value counts as several cells, so that a limit of cells also bounds
/// memory.
pub(crate) fn cells_of(value: &Value) -> usize {
    1 + text_bytes(value) / CELL_BYTES
}

/// The bytes by which a list grows with one value; a full list doubles its capacity.
fn grown_bytes(value: &Value) -> usize {
    value.allocated_bytes() + VALUE_BYTES
}

/// Adds repeatedly instead of multiplying: the sum of equal doubles can differ from their product.
fn add_number(sum: &mut Option<Value>, value: &Value, times: u64) {
    for _ in 0..times {
        *sum = match (sum.take(), value) {
            (Some(sum), Value::Number(_)) => Some(arithmetic::binary(BinaryOp::Add, &sum, value)),
            _ => return,
        };
    }
}

/// Replaces the extreme value if the new value wins.
fn choose(
    extreme: &mut Option<Value>,
    value: &Value,
    wanted: Ordering,
    held: &mut MemoryLease,
) -> Result<(), ExecError> {
    let Some(best) = extreme else {
        return Ok(());
    };
    match value {
        Value::Array(_) | Value::Object(_) => *extreme = None,
        value if best.is_undefined() || compare(value, best) == wanted => {
            // The new value is counted before the old one is released, so that a refusal leaves the
            // state valid.
            held.add(value.allocated_bytes())?;
            held.remove(best.allocated_bytes());
            *best = value.clone();
        }
        _ => {}
    }
    Ok(())
}
