//! Whether entries of arrays and objects may be among the selected entries.
//!
//! Such an entry records the presence of an array or object in its document, without the contents.
//! Where entries replace documents, in value or in order, no such entry may be among them.

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
    estimator.has_non_scalar(index)
}
