//! Checks `ORDER BY`: a sort key must be a document path, because only a document path has an
//! index.

use orrery_sql::ast::{Expr, OrderBy, OrderItem, Query};

use super::{Binder, ExprContext, Level, OrderProblem};
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
            (Some(OrderBy::Rank(_)), Level::Subquery) => {
                self.problem(ProblemKind::RankInSubquery.at(query.spans.order_by));
            }
            (Some(OrderBy::Items(items)), level) => {
                if level == Level::Subquery {
                    self.problem(ProblemKind::OrderByInSubquery.at(query.spans.order_by));
                }
                self.order_items(query, items);
            }
            (Some(OrderBy::Rank(item)), Level::Outermost) => self.rank(query, item),
        }
    }

    fn order_items(&mut self, query: &Query, items: &[OrderItem]) {
        for item in items {
            self.expr(&item.expr, ExprContext::OrderBy);
            if let Expr::Call(call) = &item.expr
                && super::call::is(call, "VectorDistance")
                && item.direction.is_some()
            {
                self.problem(ProblemKind::VectorDirection.at(call.span));
            }
        }
        // A single row has no order, so its sort keys are not checked.
        let is_single =
            query.group_by.is_empty() && selected(query).into_iter().any(contains_aggregate);
        if is_single || query.from.is_empty() {
            return;
        }
        for item in items {
            self.order_item(&item.expr, items.len());
        }
    }

    /// Checks one sort key: a score alone, or a path into the document.
    fn order_item(&mut self, expr: &Expr, count: usize) {
        if is_score(expr) && count == 1 {
            return;
        }
        if self.scope.document_path(expr).is_some() || self.order != OrderProblem::None {
            return;
        }
        // Scores, and paths of `JOIN` elements or of the rows of a subquery, are no paths into the
        // document.
        self.order = if path_root(expr).is_some() {
            OrderProblem::Correlated
        } else {
            OrderProblem::NoPath
        };
    }
}

/// Whether the expression is a score. No index is sorted by a score.
pub(crate) fn is_score(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else {
        return false;
    };
    SCORES.iter().any(|name| super::call::is(call, name))
}
