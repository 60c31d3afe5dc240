//! Batches: transactions of one logical partition, and bulk, which is many operations in one
//! request that have nothing to do with each other.

use orrery_model::{Answer, Charge, Failure, GoneKind, Operation, RangeId, Stamp};
use orrery_wire::{BatchEncoding, BatchOperation, BatchRequest, BatchResult, batch_status};

use super::item::triggers;
use crate::authority::{Key, Reach};
use crate::exchange::{Exchange, Found};
use crate::reply::Reply;

pub(super) async fn route(exchange: &Exchange<'_>, found: &Found) -> Result<Reply, Failure> {
    if !triggers(exchange).is_empty() {
        return Err(Failure::bad_request(
            "One of the input values is invalid. Triggers cannot be named by a batch: they run around \
             single writes.",
        ));
    }
    let request = BatchRequest::parse(&exchange.body)?;
    exchange.admit_write().await?;
    if exchange.headers.batch.atomic {
        transaction(exchange, found, request).await
    } else {
        bulk(exchange, found, request).await
    }
}

async fn transaction(
    exchange: &Exchange<'_>,
    found: &Found,
    request: BatchRequest,
) -> Result<Reply, Failure> {
    let reach = found.reach(exchange);
    let key = reach.key()?;
    if request.operations.iter().any(|operation| {
        operation
            .partition_key
            .as_ref()
            .is_some_and(|other| !key.is(other))
    }) {
        return Err(Failure::bad_request(
            "All operations of a transactional batch must have the partition key of the request.",
        ));
    }
    let drops_body = drops_body(exchange, &request.operations);
    let encoding = request.encoding;
    let operations = request
        .operations
        .into_iter()
        .map(|operation| operation.operation)
        .collect();
    let terms = exchange.terms()?;
    let answer = reach.transact(key, operations, terms).await;
    let outcomes = match answer.result {
        Ok(outcomes) => outcomes,
        Err(failure) => {
            return Ok(Reply {
                stamp: answer.stamp,
                ..Reply::failed(failure)
            });
        }
    };
    let results: Vec<_> = outcomes
        .iter()
        .zip(drops_body)
        .map(|(outcome, drops_body)| match outcome {
            Ok(outcome) => BatchResult::of_outcome(outcome, drops_body),
            Err(failure) => BatchResult::of_failure(failure, Charge::ZERO, exchange.activity_id),
        })
        .collect();
    Ok(reply(encoding, &results, true, answer.charge, answer.stamp))
}

async fn bulk(
    exchange: &Exchange<'_>,
    found: &Found,
    request: BatchRequest,
) -> Result<Reply, Failure> {
    let reach = found.reach(exchange);
    let range = reach.named_range()?;
    let drops_body = drops_body(exchange, &request.operations);
    let encoding = request.encoding;
    let named_key = reach.named_key()?;
    let stop_at_failure = !exchange.headers.batch.continue_on_error;

    // Operations whose own content is wrong keep their place and do not reach the engine.
    let mut places: Vec<Result<usize, Failure>> = Vec::new();
    let mut operations = Vec::new();
    let mut wrong = false;
    for operation in request.operations {
        let prepared = keyed(reach, operation, named_key.as_ref())
            .and_then(|keyed| check_range(reach, range, keyed));
        places.push(match prepared {
            Ok(_) if wrong && stop_at_failure => Err(Failure::FailedDependency),
            Ok(keyed) => {
                operations.push(keyed);
                Ok(operations.len() - 1)
            }
            Err(failure) => {
                wrong = true;
                Err(failure)
            }
        });
    }
    let terms = exchange.terms()?;
    let answers = reach.bulk(operations, terms, stop_at_failure).await;
    let is_elsewhere = |answer: &Answer<_>| matches!(answer.result, Err(Failure::WriteForbidden));
    if !answers.is_empty() && answers.iter().all(is_elsewhere) {
        // Clients send one partition in one request, and look for its region when all of it is refused.
        return Err(Failure::WriteForbidden);
    }
    let charge = answers.iter().map(|answer| answer.charge).sum();
    let stamp = answers.iter().rev().find_map(|answer| answer.stamp);
    let result = |(place, drops_body): (Result<usize, Failure>, bool)| {
        let answer = match place {
            Ok(index) => &answers[index],
            Err(failure) => {
                return BatchResult::of_failure(&failure, Charge::MIN, exchange.activity_id);
            }
        };
        match &answer.result {
            Ok(outcome) => BatchResult::of_outcome(outcome, drops_body),
            Err(failure) => BatchResult::of_failure(failure, answer.charge, exchange.activity_id),
        }
    };
    let results: Vec<_> = places.into_iter().zip(drops_body).map(result).collect();
    Ok(reply(encoding, &results, false, charge, stamp))
}

/// Refuses an operation on an item that is not in the range the request names.
fn check_range(
    reach: Reach<'_>,
    range: Option<RangeId>,
    keyed: (Key, Operation),
) -> Result<(Key, Operation), Failure> {
    if range.is_some_and(|range| reach.is_outside(&keyed.0, range)) {
        return Err(Failure::Gone(GoneKind::PartitionKeyRange));
    }
    Ok(keyed)
}

/// An operation of a bulk request with its own key, or the request's.
fn keyed(
    reach: Reach<'_>,
    operation: BatchOperation,
    named: Option<&Key>,
) -> Result<(Key, Operation), Failure> {
    let key = reach.operation_key(operation.partition_key, named)?;
    Ok((key, operation.operation?))
}

fn drops_body(exchange: &Exchange<'_>, operations: &[BatchOperation]) -> Vec<bool> {
    let prefers_minimal = exchange.headers.prefers_minimal;
    operations
        .iter()
        .map(|operation| operation.drops_body(prefers_minimal))
        .collect()
}

fn reply(
    encoding: BatchEncoding,
    results: &[BatchResult],
    is_atomic: bool,
    charge: Charge,
    stamp: Option<Stamp>,
) -> Reply {
    let status = batch_status(results, is_atomic);
    Reply {
        charge,
        stamp,
        item_count: Some(results.len()),
        ..Reply::new(status, encoding.response_body(results))
    }
}
