//! Relative costs of the steps of an access path.
//!
//! The unit is one entry read in sequence. The numbers only have to rank plans: a document fetched
//! by its key costs a tree search and a parse, a document in a scan costs a parse and a cursor
//! step.

/// Positioning a cursor: once for each entry range, and once for a scan.
pub(super) const CURSOR: f64 = 10.0;
pub(super) const ENTRY: f64 = 1.0;
/// Moving a cursor to a given key instead of to the next entry.
pub(super) const SEEK: f64 = 3.0;
pub(super) const DOCUMENT_FETCHED: f64 = 8.0;
pub(super) const DOCUMENT_SCANNED: f64 = 2.0;
/// Storing, sorting and comparing one document key of a gathered set.
pub(super) const KEY_GATHERED: f64 = 0.5;
/// One comparison in a sort of rows.
pub(super) const COMPARISON: f64 = 0.1;

/// Number of points of one list whose entries are counted. The planner extrapolates the rest of the
/// list.
pub(super) const DIVE_POINTS_MAX: usize = 16;

/// Maximum number of entries to gather before a page reads its first document.
pub(super) const GATHERED_ENTRIES_MAX: f64 = 10_000.0;
/// Maximum number of entries whose document keys are remembered to remove duplicates.
pub(super) const ONCE_ENTRIES_MAX: f64 = 200_000.0;
/// Maximum number of points of a list that are merged with one cursor each.
pub(super) const MERGED_POINTS_MAX: usize = 1_000;

/// The cost of sorting this many rows.
pub(super) fn sort(rows: f64) -> f64 {
    rows * rows.max(2.0).log2() * COMPARISON
}
