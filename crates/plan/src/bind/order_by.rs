//! `ORDER BY` sorts by what an index can hold: the value at one place of a document.

use orrery_sql::ast::{Expr, OrderBy, OrderItem, Query};

use super::{Binder, Level, Place};
use crate::ProblemKind;
use crate::aggregate::contains_aggregate;
use crate::scope::path_root;
use crate::walk::selected;

/// Functions whose value may be sorted by. The last two are of rewritten queries.
const SCORES: [&str; 3] = ["VectorDistance", "_VectorScore", "_FullTextScore"];

impl Binder<'_> {
    pub(super) fn order_by(&mut self, query: &Query, level: Level) {
        match (&query.order_by, level) {
            (None, _) => {}
            (Some(OrderBy::Items(_)), Level::Subquery) => {
                self.problem(ProblemKind::OrderByInSubquery.somewhere());
            }
            (Some(OrderBy::Rank(_)), Level::Subquery) => {
                self.problem(ProblemKind::RankInSubquery.somewhere());
            }
            (Some(OrderBy::Rank(items)), Level::Outermost) => self.rank(query, items),
            (Some(OrderBy::Items(items)), Level::Outermost) => self.order_items(query, items),
        }
    }

    fn order_items(&mut self, query: &Query, items: &[OrderItem]) {
        let before = self.problems.len();
        for item in items {
            self.expr(&item.expr, Place::Elsewhere);
        }
        // The order of what is aggregated has no effect, so anything goes.
        let is_aggregated =
            !query.group_by.is_empty() || selected(query).into_iter().any(contains_aggregate);
        if is_aggregated || self.problems.len() > before {
            return;
        }
        for item in items {
            self.order_item(&item.expr);
        }
    }

    fn order_item(&mut self, expr: &Expr) {
        if is_score(expr) {
            return;
        }
        match self.scope.document_path(expr) {
            Some(path) if !path.is_empty() => {}
            None if path_root(expr).is_some() => self.is_order_correlated = true,
            _ => self.problem(ProblemKind::OrderByPath.somewhere()),
        }
    }
}

/// Whether the order is by a score, which no index has in that order.
pub(crate) fn is_score(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else {
        return false;
    };
    SCORES.iter().any(|name| super::call::is(call, name))
}
