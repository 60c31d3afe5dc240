//! Checks `TOP`, `OFFSET` and `LIMIT`: they belong to the outermost query, and a parameter in them
//! must be a count.

use orrery_json::Value;
use orrery_sql::ast::{Query, RowCount};

use super::{Binder, Level};
use crate::ProblemKind;

impl Binder<'_> {
    pub(super) fn counts(&mut self, query: &Query, level: Level) {
        if let Some(top) = &query.select.top {
            if level == Level::Subquery {
                self.problem(ProblemKind::TopInSubquery.at(query.spans.top));
            }
            self.count(top, ProblemKind::TopCount);
        }
        if let Some(clause) = &query.offset_limit {
            if level == Level::Subquery {
                self.problem(ProblemKind::OffsetLimitInSubquery.at(query.spans.offset_limit));
            }
            self.count(&clause.offset, ProblemKind::OffsetCount);
            self.count(&clause.limit, ProblemKind::LimitCount);
        }
    }

    fn count(&mut self, count: &RowCount, problem: ProblemKind) {
        if let RowCount::Parameter(name) = count
            && self.parameter(&name.name).and_then(row_count).is_none()
        {
            self.problem(problem.at(name.span));
        }
    }
}

/// The value as a row count: an integer of 32 bits that is not negative.
pub(crate) fn row_count(value: &Value) -> Option<u32> {
    u32::try_from(value.as_number()?.as_i64()?).ok()
}
