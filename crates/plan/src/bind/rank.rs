//! Checks `ORDER BY RANK`: it accepts only scores of whole documents.

use orrery_json::Value;
use orrery_sql::Span;
use orrery_sql::ast::{Call, Collection, Expr, FromSource, Literal, OrderItem, Query, UnaryOp};

use super::call::is;
use super::{Binder, ExprContext};
use crate::ProblemKind;
use crate::aggregate::AggregateKind;
use crate::walk::{any, selected};

/// Number of scores that a fusion has at least.
const FUSED_MIN: usize = 2;

impl Binder<'_> {
    pub(super) fn rank(&mut self, query: &Query, item: &OrderItem) {
        let span = query.spans.order_by;
        self.rank_source(query);
        if !query.group_by.is_empty() {
            self.problem(ProblemKind::RankWithGroups.at(query.spans.group_by));
        }
        self.expr(&item.expr, ExprContext::Rank);
        if item.direction.is_some() {
            self.problem(ProblemKind::RankDirection.at(span));
        }
        match &item.expr {
            Expr::Call(call) if is(call, "RRF") => self.fusion(call, span),
            score => self.score(score, span),
        }
        // A rank orders documents, and a distinct row or an aggregate is not one document.
        if query.select.distinct {
            self.problem(ProblemKind::RankWithDistinct.at(query.spans.select));
        }
        for expr in selected(query) {
            self.no_ranked_aggregate(expr);
        }
    }

    /// Scores are those of whole documents, so the only source must be the container itself.
    fn rank_source(&mut self, query: &Query) {
        let spans = &query.spans.sources;
        if let Some(last @ 1..) = query.from.len().checked_sub(1) {
            let span = Span {
                start: spans.of(0).start,
                end: spans.of(last).end,
            };
            self.problem(ProblemKind::RankWithJoin.at(span));
        }
        for (index, source) in query.from.iter().enumerate() {
            let kind = match source {
                FromSource::Elements { .. } => ProblemKind::RankWithIteration,
                FromSource::Value {
                    collection: Collection::Subquery(_),
                    ..
                } => ProblemKind::RankWithFromSubquery,
                FromSource::Value { .. } => continue,
            };
            self.problem(kind.at(spans.of(index)));
        }
    }

    fn no_ranked_aggregate(&mut self, expr: &Expr) {
        any(expr, &mut |part| {
            if let Expr::Call(call) = part
                && AggregateKind::of_call(call).is_some()
            {
                self.problem(ProblemKind::RankWithAggregate.at(call.span));
            }
            false
        });
    }

    /// Checks `RRF`: its arguments are scores, optionally followed by an array of weights.
    fn fusion(&mut self, call: &Call, span: Span) {
        let (scores, weights) = fusion_arguments(call, self.parameters);
        // Every score needs exactly one constant weight, which the plan lists for the client.
        if weights.is_some_and(|weights| weights.len() != scores.len()) {
            self.problem(ProblemKind::RankWeights.at(span));
        }
        if scores.len() < FUSED_MIN {
            self.problem(ProblemKind::TooFewScores.at(span));
        }
        for score in scores {
            self.score(score, span);
        }
    }

    /// Checks one score: a call of a score function.
    fn score(&mut self, expr: &Expr, span: Span) {
        let is_score = matches!(expr, Expr::Call(call)
            if is(call, "FullTextScore") || is(call, "VectorDistance"));
        if !is_score {
            self.problem(ProblemKind::RankFunction.at(span));
        }
    }
}

/// Splits the arguments of a rank fusion into scores and optional weights. A weight that is no
/// number is left out.
pub(crate) fn fusion_arguments<'a>(
    call: &'a Call,
    parameters: &[(String, Value)],
) -> (&'a [Expr], Option<Vec<f64>>) {
    let (last, scores) = match call.arguments.split_last() {
        Some((last, scores)) if !scores.is_empty() => (last, scores),
        _ => return (&call.arguments, None),
    };
    let supplied = |name: &str| {
        let mut supplied = parameters.iter();
        let found = supplied.find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    };
    let weights = match last {
        Expr::Array(weights) => weights
            .iter()
            .filter_map(|weight| match weight {
                Expr::Parameter(name) => Some(supplied(&name.name)?.as_number()?.as_f64()),
                weight => number(weight),
            })
            .collect(),
        Expr::Parameter(name) => match supplied(&name.name).and_then(Value::as_array) {
            Some(weights) => weights
                .iter()
                .filter_map(|weight| weight.as_number().map(orrery_json::Number::as_f64))
                .collect(),
            None => return (scores, None),
        },
        _ => return (&call.arguments, None),
    };
    (scores, Some(weights))
}

/// The value of a numeric literal, with its sign.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Literal(Literal::Number(number)) => Some(number.as_f64()),
        Expr::Unary {
            op: UnaryOp::Minus,
            operand,
        } => number(operand).map(|value| -value),
        _ => None,
    }
}
