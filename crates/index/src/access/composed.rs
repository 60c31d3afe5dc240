//! Whether arrays and objects are among some entries.
//!
//! An entry says only that its document has one. Where the order of entries or their values stand
//! for those of documents, there must be none.

use orrery_exec::ValueType;

use super::estimate::Estimator;
use super::intervals::Intervals;
use crate::IndexHash;
use crate::value::type_start;

pub(super) fn are_possible(
    estimator: &Estimator<'_>,
    index: IndexHash,
    intervals: &Intervals,
) -> bool {
    let arrays = type_start(ValueType::Array);
    let reach = |end: &Option<Vec<u8>>| end.as_ref().is_none_or(|end| *end > arrays);
    if !intervals.list.iter().any(|interval| reach(&interval.to)) {
        return false;
    }
    estimator.has_composed(index)
}
