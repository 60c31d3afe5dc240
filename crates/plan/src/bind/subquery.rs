//! Checks subqueries: one in place of a value has at most one row.

use orrery_sql::ast::{Collection, FromSource, Query, SubqueryKind};

use super::{Binder, Level};
use crate::ProblemKind;
use crate::aggregate::contains_aggregate;
use crate::walk::selected;

impl Binder<'_> {
    pub(super) fn subquery(&mut self, kind: SubqueryKind, query: &Query) {
        let outer = std::mem::replace(&mut self.is_in_expression, true);
        self.query(query, Level::Subquery);
        self.is_in_expression = outer;
        if kind == SubqueryKind::Scalar && may_have_rows(query) {
            self.problem(ProblemKind::Cardinality.at(query.spans.query));
        }
    }
}

/// Whether the query can have more than one row.
fn may_have_rows(query: &Query) -> bool {
    // An aggregate without groups always returns exactly one row.
    if query.group_by.is_empty() && selected(query).into_iter().any(contains_aggregate) {
        return false;
    }
    query.from.iter().any(|source| match source {
        FromSource::Elements { .. } => true,
        FromSource::Value { collection, .. } => match collection {
            Collection::Path { .. } => false,
            Collection::Subquery(query) => may_have_rows(query),
        },
    })
}
