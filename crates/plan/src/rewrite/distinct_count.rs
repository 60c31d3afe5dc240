//! Counts of distinct rows: `SELECT COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)`.
//!
//! Counts of partitions do not add up, because a value may occur in several partitions. So the
//! client sends the subquery in place of the query: each partition returns its distinct rows, and
//! the client removes the remaining duplicates and counts.
//!
//! Any other aggregate over distinct rows has an ordinary plan, as in the service: each partition
//! aggregates its own distinct rows, so a row of two partitions enters the result twice.

use orrery_sql::ast::{Call, Collection, Expr, FromSource, Identifier, Literal, Projection, Query};

use super::Draft;
use super::select_names::names;
use crate::aggregate::AggregateKind;

/// The `SELECT DISTINCT` subquery of a query that only counts the subquery's rows.
pub(crate) fn counted_subquery(query: &Query) -> Option<&Query> {
    let (subquery, alias) = distinct_source(query)?;
    // Any of these clauses would apply to the counted rows, which the client never sees as rows of
    // the query.
    let is_bare = query.filter.is_none()
        && query.group_by.is_empty()
        && query.order_by.is_none()
        && query.offset_limit.is_none();
    (is_bare && counts_every_row(query, alias)).then_some(subquery)
}

/// Puts the subquery in place of the query, and marks the plan with the name of the count.
pub(super) fn plan(draft: &mut Draft, subquery: &Query) {
    draft.info.distinct_count = Some(match &draft.query.select.projection {
        Projection::Items(items) => names(items).swap_remove(0),
        Projection::Value(_) | Projection::Star(_) => String::new(),
    });
    draft.query = subquery.clone();
    draft.is_rewritten = true;
}

/// The only source of the query and its alias, if it is a `SELECT DISTINCT` subquery.
fn distinct_source(query: &Query) -> Option<(&Query, Option<&Identifier>)> {
    match query.from.as_slice() {
        [
            FromSource::Value {
                collection: Collection::Subquery(subquery),
                alias,
            },
        ] if subquery.select.distinct => Some((subquery, alias.as_ref())),
        _ => None,
    }
}

/// Whether the query counts every row: `COUNT(1)`, or `COUNT` of the row itself, because a subquery
/// never returns an undefined row.
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
    AggregateKind::of(expr) == Some(AggregateKind::Count)
        && match arguments.as_slice() {
            [Expr::Literal(literal)] => *literal != Literal::Undefined,
            [Expr::Identifier(row)] => alias.is_some_and(|alias| alias.name == row.name),
            _ => false,
        }
}
