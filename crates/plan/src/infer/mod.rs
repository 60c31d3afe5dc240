//! Inference: which values the paths of a query can have, if its filter is to hold.
//!
//! A filter such as `c.a = 1 AND c.a = 'x'` can never be true, and neither can `ABS(c.a) = 'x'`. The
//! plan of such a query asks one partition for nothing. The inference keeps, for every path that the
//! query constrains, a set of values (`values`); it computes the possible values of expressions
//! (`eval`), narrows the sets by every condition that must hold (`assume`), and gives up when a set
//! is empty. The sets contain superfluous values and lack none, so a query that has rows never
//! loses one.

mod assume;
mod block;
mod eval;
mod facts;
mod signature;
mod values;

use orrery_sql::ast::Query;

use crate::ranges::ConstantFolder;
use block::Inference;

/// Whether the query can have a row. The answer is false only if no document gives the query a row.
pub(crate) fn may_have_rows(query: &Query, constants: ConstantFolder<'_>) -> bool {
    Inference::new(constants).block(query).is_some()
}
