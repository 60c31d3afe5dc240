//! Counts of distinct rows: `SELECT COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)`.
//!
//! Counts of partitions do not add up, because a value may be in several of them. So the subquery
//! takes the place of the query: partitions give their distinct rows, the client removes what is
//! left of duplicates, and counts.

use orrery_sql::ast::{Call, Collection, Expr, Identifier, Literal, Projection, Query, Source};

use super::select_names::names;
use super::{Draft, aggregate, distinct};
use crate::PlanError;
use crate::aggregate::Aggregate;
use crate::plan::QueryInfo;

/// The subquery whose rows are counted, if counting them is all that the query does.
pub(crate) fn counted(query: &Query) -> Option<&Query> {
    let (subquery, alias) = distinct_source(query)?;
    let is_bare = !query.select.distinct
        && query.select.top.is_none()
        && query.filter.is_none()
        && query.group_by.is_empty()
        && query.order_by.is_none()
        && query.offset_limit.is_none();
    let is_plain = !subquery.from.is_empty()
        && subquery.group_by.is_empty()
        && matches!(aggregate::are_selected(subquery), Ok(false));
    (is_bare && is_plain && counts_every_row(query, alias)).then_some(subquery)
}

/// Aggregates over distinct rows other than their count have no partial values.
pub(super) fn refuse_others(query: &Query) -> Result<(), PlanError> {
    match distinct_source(query) {
        Some(_) => Err(PlanError::AggregateOfDistinctRows),
        None => Ok(()),
    }
}

pub(super) fn plan(query: &Query, subquery: &Query) -> QueryInfo {
    let mut draft = Draft {
        info: QueryInfo {
            has_select_value: matches!(query.select.projection, Projection::Value(_)),
            distinct_count: Some(match &query.select.projection {
                Projection::Items(items) => names(items).swap_remove(0),
                Projection::Value(_) | Projection::Star(_) => String::new(),
            }),
            ..QueryInfo::default()
        },
        query: subquery.clone(),
        is_rewritten: true,
    };
    distinct::plan(&mut draft);
    draft.info.rewritten_query = draft.query.to_string();
    draft.info
}

fn distinct_source(query: &Query) -> Option<(&Query, Option<&Identifier>)> {
    match query.from.as_slice() {
        [
            Source::Value {
                collection: Collection::Subquery(subquery),
                alias,
            },
        ] if subquery.select.distinct => Some((subquery, alias.as_ref())),
        _ => None,
    }
}

/// `COUNT(1)`, or `COUNT` of the row itself: no row of a subquery is undefined.
fn counts_every_row(query: &Query, alias: Option<&Identifier>) -> bool {
    let expr = match &query.select.projection {
        Projection::Value(expr) => expr,
        Projection::Items(items) => match items.as_slice() {
            [item] => &item.expr,
            _ => return false,
        },
        Projection::Star(_) => return false,
    };
    let Expr::Call(Call { arguments, .. }) = expr else {
        return false;
    };
    Aggregate::of(expr) == Some(Aggregate::Count)
        && match arguments.as_slice() {
            [Expr::Literal(literal)] => *literal != Literal::Undefined,
            [Expr::Identifier(row)] => alias.is_some_and(|alias| alias.name == row.name),
            _ => false,
        }
}
