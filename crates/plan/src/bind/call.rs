//! Checks calls: the function exists, is allowed in this clause, and accepts this number of
//! arguments.

use orrery_json::Value;
use orrery_sql::ast::{Call, Collection, Expr, FromSource, Literal, Query, SubqueryKind};

use super::{Binder, ExprContext};
use crate::aggregate::{AggregateKind, contains_aggregate};
use crate::walk::{any, selected};
use crate::{Arity, ProblemKind};

/// Options of `VectorDistance` whose value must be between 1 and 100.
const VECTOR_MULTIPLIERS: [&str; 2] = ["searchListSizeMultiplier", "quantizedVectorListMultiplier"];

impl Binder<'_> {
    pub(super) fn call(&mut self, call: &Call, context: ExprContext) {
        // User-defined functions are resolved when the query runs, so only their number is checked.
        if call.udf {
            self.udf_calls += 1;
            return self.arguments(call, ExprContext::Elsewhere);
        }
        if AggregateKind::of_call(call).is_some() {
            return self.aggregate(call, context);
        }
        match self.known(call, context) {
            Err(problem) => self.problem(problem),
            Ok(arity) if arity.accepts(call.arguments.len()) => {}
            Ok(arity) => self.argument_count(call, arity),
        }
        if is(call, "VectorDistance") {
            self.vector_options(call);
        }
        // Only `RRF` may have scores as arguments, so every other function ends the rank clause.
        let inner = match context {
            ExprContext::RankClause if !is(call, "RRF") => ExprContext::Elsewhere,
            context => context,
        };
        self.arguments(call, inner);
    }

    /// The arity of a built-in function, if this clause may call it.
    fn known(&self, call: &Call, context: ExprContext) -> Result<Arity, crate::Problem> {
        let name = &call.name;
        if is(call, "FullTextScore") {
            return match context {
                ExprContext::RankClause => Ok(Arity::AtLeast(2)),
                _ => Err(ProblemKind::MisplacedFullTextScore.at(call.span)),
            };
        }
        let arity = if is(call, "RRF") {
            (context == ExprContext::RankClause).then_some(Arity::AtLeast(1))
        } else {
            // A name unknown to the engine is an error here, before any partition runs the query.
            self.functions.arity(&name.name)
        };
        arity.ok_or_else(|| ProblemKind::UnknownFunction(name.name.clone()).at(name.span))
    }

    /// Checks an aggregate: it needs one argument without aggregates and without several rows, in
    /// the select list.
    fn aggregate(&mut self, call: &Call, context: ExprContext) {
        if call.arguments.len() != 1 {
            self.argument_count(call, Arity::Exactly(1));
        }
        if context != ExprContext::SelectList {
            let kind = ProblemKind::MisplacedAggregate(call.name.name.clone());
            return self.problem(kind.at(call.span));
        }
        let nested = call.arguments.iter().any(contains_aggregate);
        let many = call
            .arguments
            .iter()
            .any(|argument| any(argument, &mut may_give_rows));
        if nested || many {
            return self.problem(ProblemKind::NestedAggregate.at(call.span));
        }
        self.arguments(call, ExprContext::Elsewhere);
    }

    fn arguments(&mut self, call: &Call, context: ExprContext) {
        for argument in &call.arguments {
            self.expr(argument, context);
        }
    }

    fn argument_count(&mut self, call: &Call, arity: Arity) {
        let kind = ProblemKind::ArgumentCount {
            name: call.name.name.clone(),
            expected: arity.to_string(),
        };
        self.problem(kind.at(call.span));
    }

    fn vector_options(&mut self, call: &Call) {
        let Some(Expr::Object(options)) = call.arguments.get(3) else {
            return;
        };
        for option in options {
            if let Expr::Literal(Literal::Number(value)) = option.value
                && VECTOR_MULTIPLIERS.contains(&option.name.as_str())
                && !(1.0..=100.0).contains(&value.as_f64())
            {
                let kind = ProblemKind::VectorOption {
                    option: option.name.clone(),
                    value: Value::Number(value),
                };
                self.problem(kind.at(call.span));
            }
        }
    }
}

/// Whether the expression is a scalar subquery that may return several rows. Such a subquery has no
/// single value to aggregate.
fn may_give_rows(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery {
            kind: SubqueryKind::Scalar,
            query,
        } => may_have_rows(query),
        _ => false,
    }
}

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

pub(super) fn is(call: &Call, name: &str) -> bool {
    !call.udf && call.name.name.eq_ignore_ascii_case(name)
}
