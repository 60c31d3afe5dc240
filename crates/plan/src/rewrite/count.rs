//! The numbers in `TOP`, `OFFSET` and `LIMIT`, which may be parameters.

use orrery_json::Value;
use orrery_sql::ast::RowCount;

use crate::{PlanError, PlanRequest, ProblemKind};

/// The row counts of a query, with the values of parameters.
#[derive(Default)]
pub(super) struct RowCounts {
    pub(super) top: Option<u32>,
    pub(super) offset_limit: Option<(u32, u32)>,
}

impl RowCounts {
    pub(super) fn of(request: &PlanRequest<'_>) -> Result<RowCounts, PlanError> {
        let number = |count: &RowCount| number(count, request.parameters);
        let query = request.query;
        let top = query.select.top.as_ref().map(number).transpose()?;
        let offset_limit = match &query.offset_limit {
            Some(clause) => Some((number(&clause.offset)?, number(&clause.limit)?)),
            None => None,
        };
        Ok(RowCounts { top, offset_limit })
    }
}

/// The value of a row count. A parameter must be a non-negative integer of at most 32 bits.
fn number(count: &RowCount, parameters: &[(String, Value)]) -> Result<u32, PlanError> {
    match count {
        RowCount::Literal(count) => Ok(*count),
        RowCount::Parameter(name) => parameters
            .iter()
            .find(|(supplied, _)| *supplied == name.name)
            .and_then(|(_, value)| value.as_number()?.as_i64())
            .and_then(|value| u32::try_from(value).ok())
            .ok_or_else(|| ProblemKind::Count(name.name.clone()).at(name.span).into()),
    }
}
