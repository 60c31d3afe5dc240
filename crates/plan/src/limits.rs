//! Limits on the size of one query.

/// Number of `FROM` sources after the first, in the query and all its subqueries.
pub(crate) const JOINS_MAX: usize = 10;

/// Number of calls of user-defined functions.
pub(crate) const UDF_CALLS_MAX: usize = 10;

/// Number of expressions that inference looks at, several times at some. A query of a person has a
/// few hundred.
pub(crate) const INFERENCE_STEPS_MAX: usize = 5_000;

/// Nesting of expressions that inference follows, within the stack of a server thread.
pub(crate) const INFERENCE_DEPTH_MAX: usize = 40;

/// Number of paths of which inference knows something.
pub(crate) const INFERRED_PATHS_MAX: usize = 64;

/// Number of values in the list of one `IN`.
pub(crate) const IN_ITEMS_MAX: usize = 16_000;

/// Number of terms in one chain of `AND` or of `OR`.
pub(crate) const LOGICAL_TERMS_MAX: usize = 2_000;

/// Number of partition keys that one plan lists. Above it, the plan uses fewer levels of the key.
pub(crate) const KEY_POINTS_MAX: usize = 2 * IN_ITEMS_MAX;

/// Number of boxes in a `KeySet`. Above it, the set is widened.
pub(crate) const ALTERNATIVES_MAX: usize = 2 * LOGICAL_TERMS_MAX;
