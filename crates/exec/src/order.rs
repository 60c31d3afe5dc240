//! `ORDER BY`: which expressions order rows.
//!
//! An item is a path of the document, as an index would hold it, a property that the container
//! computes, or a score of vectors or of words. Over groups it is one of their keys.

use orrery_sql::Query;
use orrery_sql::ast::{Call, Direction, Expr, Literal, OrderBy, OrderItem};

use crate::CompileError;
use crate::block::Block;
use crate::scalar::Scalar;
use crate::sort_key::OrderColumn;
use crate::walk;

const SCORES: &[&str] = &["VectorDistance", "_VectorScore", "_FullTextScore"];
const RANKS: &[&str] = &["VectorDistance", "FullTextScore", "RRF"];

pub(crate) fn items(query: &Query) -> Result<&[OrderItem], CompileError> {
    match &query.order_by {
        None => Ok(&[]),
        Some(OrderBy::Items(items)) => Ok(items),
        Some(OrderBy::Rank(items)) => Err(refuse_rank(items)),
    }
}

pub(crate) fn columns(
    items: &[OrderItem],
    scalars: Vec<Scalar>,
    block: &Block,
) -> Result<Vec<OrderColumn>, CompileError> {
    let columns = items.iter().zip(scalars).map(|(item, scalar)| {
        let is_path = match (&block.grouping, &scalar) {
            (Some(grouping), Scalar::Cell(_, index)) => *index < grouping.keys.len(),
            (_, Scalar::Path(0, steps)) => !steps.is_empty(),
            (_, Scalar::OfDocument(_)) => true,
            _ => false,
        };
        if !is_path && score(&item.expr).is_none() {
            return Err(CompileError::OrderByExpression);
        }
        let direction = item.direction.unwrap_or_else(|| natural(&item.expr));
        Ok(OrderColumn { scalar, direction })
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let has_one_row = block
        .grouping
        .as_ref()
        .is_some_and(|grouping| grouping.keys.is_empty());
    Ok(if has_one_row { Vec::new() } else { columns })
}

/// Rows most alike come first: by the largest score, except for a distance between points.
fn natural(expr: &Expr) -> Direction {
    match score(expr) {
        Some(call) if !call.arguments.iter().any(is_euclidean) => Direction::Descending,
        _ => Direction::Ascending,
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

/// The call of a scoring function: the item itself, or a part of one that a planner wrote.
fn score(expr: &Expr) -> Option<&Call> {
    if let Expr::Call(call) = expr
        && is_named(call, SCORES)
    {
        return Some(call);
    }
    walk::parts(expr).into_iter().find_map(score)
}

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
