//! Checks `ORDER BY RANK`: it accepts only scores of whole documents.

use orrery_sql::ast::{Call, Collection, Expr, FromSource, Literal, OrderItem, Query, UnaryOp};

use super::call::is;
use super::{Binder, ExprContext};
use crate::ProblemKind;
use crate::aggregate::contains_aggregate;
use crate::walk::{any, selected};

impl Binder<'_> {
    pub(super) fn rank(&mut self, query: &Query, items: &[OrderItem]) {
        self.rank_source(query);
        let has_groups = query.select.distinct
            || !query.group_by.is_empty()
            || selected(query).into_iter().any(contains_aggregate);
        // A rank orders documents, and a row of a grouped or distinct query is not one document.
        if has_groups {
            self.problem(ProblemKind::RankWithGroups.without_position());
        }
        let [item] = items else {
            return self.problem(ProblemKind::RankFunction.without_position());
        };
        let Expr::Call(call) = &item.expr else {
            return self.problem(ProblemKind::RankFunction.without_position());
        };
        if is(call, "RRF") {
            self.fusion(call);
        } else {
            self.score(&item.expr);
        }
        self.expr(&item.expr, ExprContext::RankClause);
    }

    /// Scores are those of whole documents, so the only source must be the container itself.
    fn rank_source(&mut self, query: &Query) {
        let kind = match query.from.as_slice() {
            [_, _, ..] => ProblemKind::RankWithJoin,
            [FromSource::Elements { .. }] => ProblemKind::RankWithIteration,
            [
                FromSource::Value {
                    collection: Collection::Subquery(_),
                    ..
                },
            ] => ProblemKind::RankWithFromSubquery,
            [FromSource::Value { .. }] | [] => return,
        };
        self.problem(kind.without_position());
    }

    /// Checks `RRF`: its arguments are scores, optionally followed by an array of weights.
    fn fusion(&mut self, call: &Call) {
        let (scores, weights) = fusion_arguments(call);
        for score in scores {
            self.score(score);
        }
        // Every score needs exactly one constant weight, which the plan lists for the client.
        if let Some(weights) = weights {
            let count = weights.iter().filter_map(number).count();
            if count != weights.len() || count != scores.len() {
                self.problem(ProblemKind::RankWeights.at(call.span));
            }
        }
        if scores.is_empty() {
            self.problem(ProblemKind::RankFunction.at(call.span));
        }
    }

    /// Checks one score: a call of a score function without subqueries.
    fn score(&mut self, expr: &Expr) {
        match expr {
            Expr::Call(call) if is(call, "FullTextScore") || is(call, "VectorDistance") => {
                let is_subquery = &mut |part: &Expr| matches!(part, Expr::Subquery { .. });
                // The statistics query computes aggregates over the arguments of a score, and
                // aggregates do not accept subqueries.
                if call
                    .arguments
                    .iter()
                    .any(|argument| any(argument, is_subquery))
                {
                    self.problem(ProblemKind::RankFunction.at(call.span));
                }
            }
            Expr::Call(call) => self.problem(ProblemKind::RankFunction.at(call.span)),
            _ => self.problem(ProblemKind::RankFunction.without_position()),
        }
    }
}

/// Splits the arguments of a rank fusion into scores and optional weights.
pub(crate) fn fusion_arguments(call: &Call) -> (&[Expr], Option<&[Expr]>) {
    match call.arguments.split_last() {
        Some((Expr::Array(weights), scores)) => (scores, Some(weights)),
        _ => (&call.arguments, None),
    }
}

/// The value of a numeric literal, with its sign.
pub(crate) fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Literal(Literal::Number(number)) => Some(number.as_f64()),
        Expr::Unary {
            op: UnaryOp::Minus,
            operand,
        } => number(operand).map(|value| -value),
        _ => None,
    }
}
