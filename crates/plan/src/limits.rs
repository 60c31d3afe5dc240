//! How much one query may ask for.

/// Sources after the first, in all subqueries together.
pub(crate) const JOINS_MAX: usize = 10;

/// Calls of user-defined functions.
pub(crate) const UDF_CALLS_MAX: usize = 10;

/// Values in the list of one `IN`.
pub(crate) const IN_ITEMS_MAX: usize = 16_000;

/// Terms of one chain of `AND` or of `OR`.
pub(crate) const LOGICAL_TERMS_MAX: usize = 2_000;

/// Key points that one plan names; beyond, fewer levels of the key are used.
pub(crate) const KEY_POINTS_MAX: usize = 2 * IN_ITEMS_MAX;

/// Alternatives that the reading of a filter keeps apart; beyond, it says less about the key.
pub(crate) const ALTERNATIVES_MAX: usize = 2 * LOGICAL_TERMS_MAX;
