//! The numbers in `TOP`, `OFFSET` and `LIMIT`, which may be parameters.

use orrery_json::Value;
use orrery_sql::ast::RowCount;

use crate::PlanRequest;
use crate::bind::count::row_count;

/// The row counts of a query, with the values of parameters.
#[derive(Default)]
pub(super) struct RowCounts {
    pub(super) top: Option<u32>,
    pub(super) offset_limit: Option<(u32, u32)>,
}

impl RowCounts {
    pub(super) fn of(request: &PlanRequest<'_>) -> RowCounts {
        let number = |count: &RowCount| number(count, request.parameters);
        let query = request.query;
        RowCounts {
            top: query.select.top.as_ref().map(number),
            offset_limit: query
                .offset_limit
                .as_ref()
                .map(|clause| (number(&clause.offset), number(&clause.limit))),
        }
    }
}

/// The value of a row count.
fn number(count: &RowCount, parameters: &[(String, Value)]) -> u32 {
    match count {
        RowCount::Literal(count) => *count,
        RowCount::Parameter(name) => parameters
            .iter()
            .find(|(supplied, _)| *supplied == name.name)
            .and_then(|(_, value)| row_count(value))
            .expect("the binder has checked the parameters of counts"),
    }
}
