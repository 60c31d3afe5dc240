//! Checks `ORDER BY`: a sort key must be a document path, because only a document path has an
//! index.

use orrery_sql::ast::{Expr, OrderBy, OrderItem, Query};

use super::{Binder, ExprContext, Level};
use crate::ProblemKind;
use crate::aggregate::contains_aggregate;
use crate::scope::path_root;
use crate::walk::selected;

/// Score functions that are valid sort keys. The last two occur only in rewritten queries.
const SCORES: [&str; 3] = ["VectorDistance", "_VectorScore", "_FullTextScore"];

impl Binder<'_> {
    pub(super) fn order_by(&mut self, query: &Query, level: Level) {
        match (&query.order_by, level) {
            (None, _) => {}
            (Some(OrderBy::Items(_)), Level::Subquery) => {
                self.problem(ProblemKind::OrderByInSubquery.without_position());
            }
            (Some(OrderBy::Rank(_)), Level::Subquery) => {
                self.problem(ProblemKind::RankInSubquery.without_position());
            }
            (Some(OrderBy::Rank(items)), Level::Outermost) => self.rank(query, items),
            (Some(OrderBy::Items(items)), Level::Outermost) => self.order_items(query, items),
        }
    }

    fn order_items(&mut self, query: &Query, items: &[OrderItem]) {
        let before = self.problems.len();
        for item in items {
            self.expr(&item.expr, ExprContext::Elsewhere);
        }
        // `ORDER BY` has no effect on aggregated rows, so its sort keys are not checked.
        let is_aggregated =
            !query.group_by.is_empty() || selected(query).into_iter().any(contains_aggregate);
        if is_aggregated || self.problems.len() > before {
            return;
        }
        for item in items {
            self.order_item(&item.expr);
        }
    }

    /// Checks one sort key: a score, or a path into the document.
    fn order_item(&mut self, expr: &Expr) {
        if is_score(expr) {
            return;
        }
        match self.scope.document_path(expr) {
            Some(path) if !path.is_empty() => {}
            // The expression is a path, but into a `JOIN` element or a subquery row and not into
            // the document.
            None if path_root(expr).is_some() => self.is_order_correlated = true,
            _ => self.problem(ProblemKind::OrderByPath.without_position()),
        }
    }
}

/// Whether the expression is a score. No index is sorted by a score.
pub(crate) fn is_score(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else {
        return false;
    };
    SCORES.iter().any(|name| super::call::is(call, name))
}
