//! From clauses to plan: what the client does, and the text that makes it possible.
//!
//! One file for each clause. The text of a rewritten query is printed from a syntax tree, so what
//! the user wrote arrives unharmed; only placeholders, which the client replaces before it sends
//! the text, are names that no user can write.

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

use orrery_sql::ast::{OrderBy, Projection};

use crate::plan::{HybridInfo, QueryInfo};
use crate::{PlanError, PlanRequest};
use count::Counts;
pub(crate) use distinct_count::counted;

/// A query on its way to its plan.
struct Draft {
    info: QueryInfo,
    /// Differs from the user's query as soon as `is_rewritten`.
    query: orrery_sql::ast::Query,
    is_rewritten: bool,
}

pub(crate) enum Shape {
    Ordinary(QueryInfo),
    Hybrid(HybridInfo),
}

/// `is_single_point` says that one partition has all the rows.
pub(crate) fn shape(request: &PlanRequest<'_>, is_single_point: bool) -> Result<Shape, PlanError> {
    let query = request.query;
    let counts = Counts::of(request)?;
    let mut draft = Draft {
        info: QueryInfo {
            has_select_value: matches!(query.select.projection, Projection::Value(_)),
            ..QueryInfo::default()
        },
        query: query.clone(),
        is_rewritten: false,
    };
    // A query without FROM has one row, wherever it runs.
    if query.from.is_empty() {
        return Ok(Shape::Ordinary(draft.info));
    }
    if let Some(OrderBy::Rank(items)) = &query.order_by {
        return Ok(Shape::Hybrid(hybrid::plan(request, items, &counts)));
    }
    if let Some(subquery) = counted(query) {
        return Ok(Shape::Ordinary(distinct_count::plan(query, subquery)));
    }
    let has_aggregates = aggregate::are_selected(query)?;
    let is_grouped = !query.group_by.is_empty();
    let is_aggregated = is_grouped || has_aggregates;
    if has_aggregates && !is_grouped {
        distinct_count::refuse_others(query)?;
    }

    distinct::plan(&mut draft);
    let counting = if is_aggregated || query.select.distinct {
        Counting::Client
    } else if is_single_point && query.order_by.is_none() {
        Counting::Server
    } else {
        Counting::Both
    };
    top::plan(&mut draft, &counts, counting);
    offset_limit::plan(&mut draft, &counts, counting);
    if is_grouped {
        group_by::plan(&mut draft);
    } else if is_aggregated {
        aggregate::plan(&mut draft);
    } else if let Some(OrderBy::Items(items)) = &query.order_by {
        order_by::plan(&mut draft, request, items);
    }
    if draft.is_rewritten {
        draft.info.rewritten_query = draft.query.to_string();
    }
    Ok(Shape::Ordinary(draft.info))
}

/// Who may stop counting rows at `TOP` or `LIMIT`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// A partition cannot know which of its partial rows will be rows.
    Client,
    /// The client counts, and a partition never needs to give more than that.
    Both,
    /// One partition has all the rows.
    Server,
}
