//! `ORDER BY RANK` takes scores over whole documents, and nothing else.

use orrery_sql::ast::{Call, Collection, Expr, Literal, OrderItem, Query, Source, UnaryOp};

use super::call::is;
use super::{Binder, Place};
use crate::ProblemKind;
use crate::aggregate::contains_aggregate;
use crate::walk::{any, selected};

impl Binder<'_> {
    pub(super) fn rank(&mut self, query: &Query, items: &[OrderItem]) {
        self.rank_source(query);
        let has_groups = query.select.distinct
            || !query.group_by.is_empty()
            || selected(query).into_iter().any(contains_aggregate);
        if has_groups {
            self.problem(ProblemKind::RankWithGroups.somewhere());
        }
        let [item] = items else {
            return self.problem(ProblemKind::RankFunction.somewhere());
        };
        let Expr::Call(call) = &item.expr else {
            return self.problem(ProblemKind::RankFunction.somewhere());
        };
        if is(call, "RRF") {
            self.fusion(call);
        } else {
            self.score(&item.expr);
        }
        self.expr(&item.expr, Place::RankClause);
    }

    fn rank_source(&mut self, query: &Query) {
        let kind = match query.from.as_slice() {
            [_, _, ..] => ProblemKind::RankWithJoin,
            [Source::Elements { .. }] => ProblemKind::RankWithIteration,
            [
                Source::Value {
                    collection: Collection::Subquery(_),
                    ..
                },
            ] => ProblemKind::RankWithFromSubquery,
            [Source::Value { .. }] | [] => return,
        };
        self.problem(kind.somewhere());
    }

    fn fusion(&mut self, call: &Call) {
        let (scores, weights) = fused(call);
        for score in scores {
            self.score(score);
        }
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

    fn score(&mut self, expr: &Expr) {
        match expr {
            Expr::Call(call) if is(call, "FullTextScore") || is(call, "VectorDistance") => {
                let has = |found: fn(&Expr) -> bool| {
                    let mut arguments = call.arguments.iter();
                    arguments.any(|argument| any(argument, &mut |part| found(part)))
                };
                if has(is_computed_index) {
                    self.problem(ProblemKind::MemberIndexer.at(call.span));
                }
                // The statistics of a score are aggregates, which are not over subqueries.
                if has(|part| matches!(part, Expr::Subquery { .. })) {
                    self.problem(ProblemKind::RankFunction.at(call.span));
                }
            }
            Expr::Call(call) => self.problem(ProblemKind::RankFunction.at(call.span)),
            _ => self.problem(ProblemKind::RankFunction.somewhere()),
        }
    }
}

fn is_computed_index(expr: &Expr) -> bool {
    match expr {
        Expr::Index { index, .. } => !matches!(**index, Expr::Literal(_)),
        _ => false,
    }
}

/// The scores of a rank fusion and their weights.
pub(crate) fn fused(call: &Call) -> (&[Expr], Option<&[Expr]>) {
    match call.arguments.split_last() {
        Some((Expr::Array(weights), scores)) => (scores, Some(weights)),
        _ => (&call.arguments, None),
    }
}

/// The number a literal stands for, with its sign.
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
