//! Rewrites the clauses of a query into the plan and into the text that the client sends.
//!
//! Each clause has its own file. The rewritten text is printed from a syntax tree, so the user's
//! expressions stay intact. Placeholders, which the client replaces before it sends the text,
//! contain characters that no user identifier can have.

mod aggregate;
mod count;
mod distinct;
mod distinct_count;
mod group_by;
mod hybrid;
mod offset_limit;
mod order_by;
mod placeholder;
mod select_names;
mod top;
mod tree;
mod vector;

use orrery_sql::ast::{OrderBy, Projection, Query};

use crate::plan::{HybridInfo, QueryInfo};
use crate::{PlanError, PlanRequest};
use count::RowCounts;
pub(crate) use distinct_count::counted_subquery;
pub(crate) use select_names::own_name;

/// A query during rewriting.
struct Draft {
    info: QueryInfo,
    /// Differs from the user's query once `is_rewritten` is set.
    query: Query,
    is_rewritten: bool,
}

/// The instructions of a plan, without its ranges.
pub(crate) enum PlanBody {
    Ordinary(QueryInfo),
    Hybrid(HybridInfo),
}

/// `is_single_point` means that one logical partition contains all rows.
pub(crate) fn plan_body(
    request: &PlanRequest<'_>,
    is_single_point: bool,
) -> Result<PlanBody, PlanError> {
    let query = request.query;
    let counts = RowCounts::of(request);
    let mut draft = Draft {
        info: QueryInfo {
            has_select_value: matches!(query.select.projection, Projection::Value(_)),
            ..QueryInfo::default()
        },
        query: query.clone(),
        is_rewritten: false,
    };
    // A query without `FROM` returns one row in any partition, so nothing is merged. Nor is a
    // query of one partition, but for `DISTINCT`, which clients carry out in any case.
    let is_hybrid = matches!(query.order_by, Some(OrderBy::Rank(_)));
    if query.from.is_empty() || is_single_point && !is_hybrid && !query.select.distinct {
        return Ok(PlanBody::Ordinary(draft.info));
    }
    if let Some(OrderBy::Rank(item)) = &query.order_by {
        return Ok(PlanBody::Hybrid(hybrid::plan(request, item, &counts)));
    }
    if let Some(subquery) = counted_subquery(query) {
        distinct_count::plan(&mut draft, subquery);
        // The count is a single row, so the service ignores its `TOP`.
        let counts = RowCounts::default();
        plan_clauses(&mut draft, request, subquery, &counts)?;
    } else {
        plan_clauses(&mut draft, request, query, &counts)?;
    }
    if draft.is_rewritten {
        draft.info.rewritten_query = draft.query.to_string();
    }
    Ok(PlanBody::Ordinary(draft.info))
}

/// Plans the clauses of the query whose rows the client merges: the user's query, or its counted
/// subquery.
fn plan_clauses(
    draft: &mut Draft,
    request: &PlanRequest<'_>,
    query: &Query,
    counts: &RowCounts,
) -> Result<(), PlanError> {
    let is_grouped = !query.group_by.is_empty();
    let is_aggregated = aggregate::are_selected(query)? || is_grouped;

    // `distinct` runs first: it reads the user's `DISTINCT` flag, which the later steps clear.
    distinct::plan(draft);
    // The service applies the limits of an aggregate in a select list also in each partition, where
    // they concern a single row.
    let is_value = matches!(query.select.projection, Projection::Value(_));
    let limit_enforcement = if is_grouped || is_aggregated && is_value || query.select.distinct {
        LimitEnforcement::Client
    } else {
        LimitEnforcement::Both
    };
    top::plan(draft, counts, limit_enforcement);
    offset_limit::plan(draft, counts, limit_enforcement);
    if is_grouped {
        group_by::plan(draft);
    } else if is_aggregated {
        aggregate::plan(draft);
    } else if let Some(OrderBy::Items(items)) = &query.order_by {
        order_by::plan(draft, request, items);
    }
    Ok(())
}

/// The side that applies `TOP` and `LIMIT`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LimitEnforcement {
    /// Only the client, because a partition cannot know which of its partial rows become rows of
    /// the result.
    Client,
    /// The client, and each partition as well: a partition never contributes more rows than the
    /// limit.
    Both,
}
