//! Checks which expressions may order rows.
//!
//! An item is a document path, as an index would hold it, a computed property of the container, or
//! a score of vectors or words. Over groups an item is one of the group keys.

use orrery_sql::Query;
use orrery_sql::ast::{Call, Expr, Literal, OrderBy, OrderItem, SortDirection};

use crate::CompileError;
use crate::query_block::QueryBlock;
use crate::scalar::Scalar;
use crate::sort_key::OrderColumn;
use crate::walk;

/// Functions whose calls may order rows in a rewritten query.
const SCORES: &[&str] = &["VectorDistance", "_VectorScore", "_FullTextScore"];
const RANKS: &[&str] = &["VectorDistance", "FullTextScore", "RRF"];

/// The items of `ORDER BY`. `ORDER BY RANK` is refused.
pub(crate) fn items(query: &Query) -> Result<&[OrderItem], CompileError> {
    match &query.order_by {
        None => Ok(&[]),
        Some(OrderBy::Items(items)) => Ok(items),
        Some(OrderBy::Rank(item)) => Err(refuse_rank(std::slice::from_ref(item))),
    }
}

/// The columns of an order. An unsupported item is refused.
pub(crate) fn columns(
    items: &[OrderItem],
    scalars: Vec<Scalar>,
    block: &QueryBlock,
) -> Result<Vec<OrderColumn>, CompileError> {
    let columns = items.iter().zip(scalars).map(|(item, scalar)| {
        let is_path = match (&block.grouping, &scalar) {
            (Some(grouping), Scalar::GroupCell(_, index)) => *index < grouping.keys.len(),
            (_, Scalar::Path(0, steps)) => !steps.is_empty(),
            (_, Scalar::ComputedProperty(_)) => true,
            _ => false,
        };
        if !is_path && score(&item.expr).is_none() {
            return Err(CompileError::OrderByExpression);
        }
        let direction = item.direction.unwrap_or_else(|| natural(&item.expr));
        Ok(OrderColumn { scalar, direction })
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    // Without group keys the result is one row, so its order is irrelevant.
    let has_one_row = block
        .grouping
        .as_ref()
        .is_some_and(|grouping| grouping.keys.is_empty());
    Ok(if has_one_row { Vec::new() } else { columns })
}

/// The default direction: the most similar rows come first, by the largest score, or by the
/// smallest euclidean distance.
fn natural(expr: &Expr) -> SortDirection {
    match score(expr) {
        Some(call) if !call.arguments.iter().any(is_euclidean) => SortDirection::Descending,
        _ => SortDirection::Ascending,
    }
}

fn is_euclidean(options: &Expr) -> bool {
    let Expr::Object(properties) = options else {
        return false;
    };
    properties.iter().any(|property| {
        property.name == "distanceFunction"
            && matches!(&property.value, Expr::Literal(Literal::String(name))
                if name.eq_ignore_ascii_case("euclidean"))
    })
}

/// The call of a scoring function: the item itself, or a part of an item that a planner wrote.
fn score(expr: &Expr) -> Option<&Call> {
    if let Expr::Call(call) = expr
        && is_named(call, SCORES)
    {
        return Some(call);
    }
    walk::children(expr).into_iter().find_map(score)
}

/// The refusal of `ORDER BY RANK`. An item that is no ranking function is an error in the service
/// too.
fn refuse_rank(items: &[OrderItem]) -> CompileError {
    let is_rank =
        |item: &OrderItem| matches!(&item.expr, Expr::Call(call) if is_named(call, RANKS));
    if items.iter().all(is_rank) {
        CompileError::unsupported("ORDER BY RANK")
    } else {
        CompileError::RankFunction
    }
}

fn is_named(call: &Call, names: &[&str]) -> bool {
    !call.udf
        && names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&call.name.name))
}
