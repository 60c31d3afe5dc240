//! Checks calls: the function exists, is allowed in this clause, and accepts this number of
//! arguments.

use orrery_sql::ast::Call;

use super::{Binder, ExprContext};
use crate::aggregate::{AggregateKind, contains_aggregate};
use crate::{Arity, Problem, ProblemKind};

/// Functions of a time span, whose wrong number of arguments has a message of its own.
const OF_TIME_SPAN: [&str; 3] = ["AGO", "DATETIMEADD", "NOW"];

impl Binder<'_> {
    /// Checks a call behind its arguments, as the service does.
    pub(super) fn call(&mut self, call: &Call, context: ExprContext) {
        // User-defined functions are resolved when the query runs, so only their number is checked.
        if call.udf {
            self.udf_calls += 1;
            return self.arguments(call, context.within());
        }
        if AggregateKind::of_call(call).is_some() {
            return self.aggregate(call, context);
        }
        self.arguments(call, context.of_arguments(call));
        match self.known(call, context) {
            Err(problem) => return self.problem(problem),
            Ok(arity) if arity.accepts(call.arguments.len()) => {}
            Ok(arity) => return self.argument_count(call, arity),
        }
        if is(call, "VectorDistance") {
            self.vector_options(call);
        } else if is(call, "FullTextScore") {
            self.search_terms(call);
        }
    }

    /// The arity of a built-in function, if this clause may call it.
    fn known(&self, call: &Call, context: ExprContext) -> Result<Arity, Problem> {
        let name = &call.name;
        if is(call, "FullTextScore") {
            return match context {
                ExprContext::Rank | ExprContext::RankScore => Ok(Arity::AtLeast(2)),
                _ => Err(ProblemKind::MisplacedFullTextScore.at(call.span)),
            };
        }
        let arity = if is(call, "RRF") {
            // Too few scores are reported as such.
            (context == ExprContext::Rank).then_some(Arity::AtLeast(0))
        } else {
            // A name unknown to the engine is an error here, before any partition runs the query.
            self.functions.arity(&name.name)
        };
        arity.ok_or_else(|| ProblemKind::UnknownFunction(name.name.clone()).at(name.span))
    }

    /// Checks an aggregate: it needs one argument without aggregates, and no place in `WHERE`.
    fn aggregate(&mut self, call: &Call, context: ExprContext) {
        self.arguments(call, ExprContext::Aggregate);
        if call.arguments.len() != 1 {
            self.argument_count(call, Arity::Exactly(1));
        } else if call.arguments.iter().any(contains_aggregate) {
            self.problem(ProblemKind::NestedAggregate.at(call.span));
        }
        if context == ExprContext::Where {
            self.problem(ProblemKind::AggregateInWhere.at(call.span));
        }
    }

    fn arguments(&mut self, call: &Call, context: ExprContext) {
        for argument in &call.arguments {
            self.expr(argument, context);
        }
    }

    fn argument_count(&mut self, call: &Call, arity: Arity) {
        let kind = if OF_TIME_SPAN.iter().any(|name| is(call, name)) {
            ProblemKind::TimeSpan
        } else {
            ProblemKind::ArgumentCount {
                name: call.name.name.clone(),
                expected: arity.to_string(),
            }
        };
        self.problem(kind.at(call.span));
    }
}

impl ExprContext {
    /// The context of the arguments of a built-in function: only `RRF` fuses scores.
    fn of_arguments(self, call: &Call) -> ExprContext {
        match self {
            ExprContext::Rank if is(call, "RRF") => ExprContext::RankScore,
            context => context.within(),
        }
    }

    /// The context of a part of an expression, which is no score.
    fn within(self) -> ExprContext {
        match self {
            ExprContext::Rank | ExprContext::RankScore => ExprContext::OrderBy,
            context => context,
        }
    }
}

pub(super) fn is(call: &Call, name: &str) -> bool {
    !call.udf && call.name.name.eq_ignore_ascii_case(name)
}
