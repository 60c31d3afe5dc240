//! Aggregates by name.

use orrery_sql::ast::{Call, Expr};

use crate::walk::any;

/// How a client combines the partial values of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    Average,
    Count,
    CountIf,
    MakeList,
    MakeSet,
    Max,
    Min,
    Sum,
}

const NAMES: [(&str, Aggregate); 8] = [
    ("AVG", Aggregate::Average),
    ("COUNT", Aggregate::Count),
    ("COUNTIF", Aggregate::CountIf),
    ("MAKELIST", Aggregate::MakeList),
    ("MAKESET", Aggregate::MakeSet),
    ("MAX", Aggregate::Max),
    ("MIN", Aggregate::Min),
    ("SUM", Aggregate::Sum),
];

impl Aggregate {
    pub(crate) fn of_call(call: &Call) -> Option<Aggregate> {
        if call.udf {
            return None;
        }
        NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&call.name.name))
            .map(|(_, aggregate)| *aggregate)
    }

    /// The aggregate that the whole expression is.
    pub(crate) fn of(expr: &Expr) -> Option<Aggregate> {
        match expr {
            Expr::Call(call) => Aggregate::of_call(call),
            _ => None,
        }
    }

    /// The word of the plan, which is not the function's name.
    pub fn plan_name(self) -> &'static str {
        match self {
            Aggregate::Average => "Average",
            Aggregate::Count => "Count",
            Aggregate::CountIf => "CountIf",
            Aggregate::MakeList => "MakeList",
            Aggregate::MakeSet => "MakeSet",
            Aggregate::Max => "Max",
            Aggregate::Min => "Min",
            Aggregate::Sum => "Sum",
        }
    }
}

/// Whether an aggregate over the rows of the query is somewhere in its expression. Aggregates in
/// subqueries are over other rows.
pub(crate) fn contains_aggregate(expr: &Expr) -> bool {
    any(expr, &mut |part| Aggregate::of(part).is_some())
}
