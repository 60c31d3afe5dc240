//! Calls: is there such a function, may it stand here, does it take so many arguments?

use orrery_json::Value;
use orrery_sql::ast::{Call, Expr, Literal};

use super::{Binder, Place};
use crate::aggregate::{Aggregate, contains_aggregate};
use crate::walk::any;
use crate::{Arity, ProblemKind};

/// Options of `VectorDistance` that must be between 1 and 100.
const VECTOR_MULTIPLIERS: [&str; 2] = ["searchListSizeMultiplier", "quantizedVectorListMultiplier"];

impl Binder<'_> {
    pub(super) fn call(&mut self, call: &Call, place: Place) {
        if call.udf {
            self.udf_calls += 1;
            return self.arguments(call, Place::Elsewhere);
        }
        if Aggregate::of_call(call).is_some() {
            return self.aggregate(call, place);
        }
        match self.known(call, place) {
            Err(problem) => self.problem(problem),
            Ok(arity) if arity.accepts(call.arguments.len()) => {}
            Ok(arity) => self.argument_count(call, arity),
        }
        if is(call, "VectorDistance") {
            self.vector_options(call);
        }
        // Scores may be arguments of a rank fusion, and of nothing else.
        let inner = match place {
            Place::RankClause if !is(call, "RRF") => Place::Elsewhere,
            place => place,
        };
        self.arguments(call, inner);
    }

    fn known(&self, call: &Call, place: Place) -> Result<Arity, crate::Problem> {
        let name = &call.name;
        if is(call, "FullTextScore") {
            return match place {
                Place::RankClause => Ok(Arity::AtLeast(2)),
                _ => Err(ProblemKind::MisplacedFullTextScore.at(call.span)),
            };
        }
        let arity = if is(call, "RRF") {
            (place == Place::RankClause).then_some(Arity::AtLeast(1))
        } else {
            self.functions.arity(&name.name)
        };
        arity.ok_or_else(|| ProblemKind::UnknownFunction(name.name.clone()).at(name.span))
    }

    fn aggregate(&mut self, call: &Call, place: Place) {
        if call.arguments.len() != 1 {
            self.argument_count(call, Arity::Exactly(1));
        }
        if place != Place::SelectList {
            let kind = ProblemKind::MisplacedAggregate(call.name.name.clone());
            return self.problem(kind.at(call.span));
        }
        let nested = call.arguments.iter().any(|argument| {
            contains_aggregate(argument)
                || any(argument, &mut |part| matches!(part, Expr::Subquery { .. }))
        });
        if nested {
            return self.problem(ProblemKind::NestedAggregate.at(call.span));
        }
        self.arguments(call, Place::Elsewhere);
    }

    fn arguments(&mut self, call: &Call, place: Place) {
        for argument in &call.arguments {
            self.expr(argument, place);
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

pub(super) fn is(call: &Call, name: &str) -> bool {
    !call.udf && call.name.name.eq_ignore_ascii_case(name)
}
