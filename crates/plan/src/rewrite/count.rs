//! The numbers of `TOP`, `OFFSET` and `LIMIT`, which may be parameters.

use orrery_json::Value;
use orrery_sql::ast::Count;

use crate::{PlanError, PlanRequest, ProblemKind};

pub(super) struct Counts {
    pub(super) top: Option<u32>,
    pub(super) offset_limit: Option<(u32, u32)>,
}

impl Counts {
    pub(super) fn of(request: &PlanRequest<'_>) -> Result<Counts, PlanError> {
        let number = |count: &Count| number(count, request.parameters);
        let query = request.query;
        let top = query.select.top.as_ref().map(number).transpose()?;
        let offset_limit = match &query.offset_limit {
            Some(clause) => Some((number(&clause.offset)?, number(&clause.limit)?)),
            None => None,
        };
        Ok(Counts { top, offset_limit })
    }
}

fn number(count: &Count, parameters: &[(String, Value)]) -> Result<u32, PlanError> {
    match count {
        Count::Literal(count) => Ok(*count),
        Count::Parameter(name) => parameters
            .iter()
            .find(|(supplied, _)| *supplied == name.name)
            .and_then(|(_, value)| value.as_number()?.as_i64())
            .and_then(|value| u32::try_from(value).ok())
            .ok_or_else(|| ProblemKind::Count(name.name.clone()).at(name.span).into()),
    }
}
