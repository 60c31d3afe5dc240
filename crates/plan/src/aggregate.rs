//! Recognises aggregate functions by name.

use orrery_sql::ast::{Call, Expr};

use crate::walk::any;

/// How a client combines the partial values of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    Average,
    Count,
    CountIf,
    MakeList,
    MakeSet,
    Max,
    Min,
    Sum,
}

const NAMES: [(&str, AggregateKind); 8] = [
    ("AVG", AggregateKind::Average),
    ("COUNT", AggregateKind::Count),
    ("COUNTIF", AggregateKind::CountIf),
    ("MAKELIST", AggregateKind::MakeList),
    ("MAKESET", AggregateKind::MakeSet),
    ("MAX", AggregateKind::Max),
    ("MIN", AggregateKind::Min),
    ("SUM", AggregateKind::Sum),
];

impl AggregateKind {
    pub(crate) fn of_call(call: &Call) -> Option<AggregateKind> {
        if call.udf {
            return None;
        }
        NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&call.name.name))
            .map(|(_, aggregate)| *aggregate)
    }

    /// The aggregate, if the whole expression is one aggregate call.
    pub(crate) fn of(expr: &Expr) -> Option<AggregateKind> {
        match expr {
            Expr::Call(call) => AggregateKind::of_call(call),
            _ => None,
        }
    }

    /// The name of the aggregate in a plan, which differs from the name of the function.
    pub fn plan_name(self) -> &'static str {
        match self {
            AggregateKind::Average => "Average",
            AggregateKind::Count => "Count",
            AggregateKind::CountIf => "CountIf",
            AggregateKind::MakeList => "MakeList",
            AggregateKind::MakeSet => "MakeSet",
            AggregateKind::Max => "Max",
            AggregateKind::Min => "Min",
            AggregateKind::Sum => "Sum",
        }
    }
}

/// Whether the expression contains an aggregate over the rows of its own query. A subquery
/// aggregates other rows, so the search does not enter subqueries.
pub(crate) fn contains_aggregate(expr: &Expr) -> bool {
    any(expr, &mut |part| AggregateKind::of(part).is_some())
}
