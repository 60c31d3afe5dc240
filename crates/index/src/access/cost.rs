//! What the steps of an access cost, next to one another.
//!
//! The unit is one entry read in order. The numbers only have to rank plans: a document fetched by
//! its place is a search in the tree and a parse, one met in a scan is a parse and a step.

/// Placing a cursor: once for each run, and once for a scan.
pub(super) const CURSOR: f64 = 10.0;
pub(super) const ENTRY: f64 = 1.0;
/// A step of a cursor to a place it is told, instead of to the next entry.
pub(super) const SEEK: f64 = 3.0;
pub(super) const DOCUMENT_FETCHED: f64 = 8.0;
pub(super) const DOCUMENT_SCANNED: f64 = 2.0;
/// Keeping, sorting and comparing one place of a gathered set.
pub(super) const PLACE_GATHERED: f64 = 0.5;
/// One comparison while rows are sorted.
pub(super) const COMPARISON: f64 = 0.1;

/// How many points of one list are counted; the others are taken to be like them.
pub(super) const DIVE_POINTS_MAX: usize = 16;

/// Entries that may be gathered before the first document of a page is read.
pub(super) const GATHERED_ENTRIES_MAX: f64 = 10_000.0;
/// Entries whose documents may be remembered so that each comes once.
pub(super) const ONCE_ENTRIES_MAX: f64 = 200_000.0;
/// Points of a list that may be merged with one cursor for each.
pub(super) const MERGED_POINTS_MAX: usize = 1_000;

/// What sorting this many rows costs.
pub(super) fn sort(rows: f64) -> f64 {
    rows * rows.max(2.0).log2() * COMPARISON
}
