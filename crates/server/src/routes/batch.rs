//! Batch requests: transactional batches of one logical partition, and bulk requests, whose
//! operations are independent of each other.

use orrery_model::{Charge, ChargedResult, Failure, GoneKind, Operation, PartitionLsn, RangeId};
use orrery_wire::{BatchEncoding, BatchOperation, BatchRequest, BatchResult, batch_status};

use super::item::triggers;
use crate::authority::{AuthorizedKey, ItemAccess};
use crate::exchange::{Exchange, ResolvedContainer};
use crate::reply::Reply;

pub(super) async fn route(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
) -> Result<Reply, Failure> {
    if !triggers(exchange).is_empty() {
        return Err(Failure::bad_request(
            "One of the input values is invalid. Triggers cannot be named by a batch: they run around \
             single writes.",
        ));
    }
    let request = BatchRequest::parse(&exchange.body)?;
    // One wait serves all operations of the request.
    exchange.admit_write().await?;
    if exchange.headers.batch.atomic {
        transaction(exchange, found, request).await
    } else {
        bulk(exchange, found, request).await
    }
}

/// Runs a transactional batch: all operations succeed, or none has an effect.
async fn transaction(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    request: BatchRequest,
) -> Result<Reply, Failure> {
    let access = found.item_access(exchange);
    let key = access.key()?;
    if request.operations.iter().any(|operation| {
        operation
            .partition_key
            .as_ref()
            .is_some_and(|other| !key.is(other))
    }) {
        return Err(Failure::bad_request(
            "One or more operations within the batch request have a different partition key value than the request.",
        ));
    }
    let drops_body = drops_body(exchange, &request.operations);
    let encoding = request.encoding;
    let operations = request
        .operations
        .into_iter()
        .map(|operation| operation.operation)
        .collect();
    let budget = exchange.request_budget()?;
    let answer = access.transact(key, operations, budget).await;
    let outcomes = match answer.result {
        Ok(outcomes) => outcomes,
        Err(failure) => {
            return Ok(Reply {
                partition_lsn: answer.partition_lsn,
                ..Reply::failed(failure)
            });
        }
    };
    // SDKs compare the charge with the sum of the results, so the first refused operation has the
    // charge of all refused ones.
    let mut of_refused = answer.charge;
    let results: Vec<_> = outcomes
        .iter()
        .zip(drops_body)
        .map(|(outcome, drops_body)| match outcome {
            Ok(outcome) => BatchResult::of_outcome(outcome, drops_body),
            Err(Failure::FailedDependency) => {
                BatchResult::of_failure(&Failure::FailedDependency, Charge::ZERO)
            }
            Err(failure) => BatchResult::of_failure(failure, std::mem::take(&mut of_refused)),
        })
        .collect();
    // A batch that fails for a missing item is answered like a read of that item.
    let is_missing = |outcome: &Result<_, Failure>| matches!(outcome, Err(Failure::NotFound(_)));
    Ok(Reply {
        is_of_missing_item: outcomes.iter().any(is_missing),
        ..reply(
            encoding,
            &results,
            true,
            answer.charge,
            answer.partition_lsn,
        )
    })
}

/// Runs independent operations, each with a result of its own.
async fn bulk(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    request: BatchRequest,
) -> Result<Reply, Failure> {
    let access = found.item_access(exchange);
    let range = access.named_range()?;
    let drops_body = drops_body(exchange, &request.operations);
    let encoding = request.encoding;
    let named_key = access.named_key()?;
    let stop_at_failure = !exchange.headers.batch.continue_on_error;

    // Operations with invalid content keep their position in the answer and do not reach the
    // engine.
    let mut indices: Vec<Result<usize, Failure>> = Vec::new();
    let mut operations = Vec::new();
    let mut wrong = false;
    for operation in request.operations {
        let prepared = keyed(access, operation, named_key.as_ref())
            .and_then(|keyed| check_range(access, range, keyed));
        // After an invalid operation the rest is not executed, as the header of the request
        // demands.
        indices.push(match prepared {
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
    let budget = exchange.request_budget()?;
    let answers = access.bulk(operations, budget, stop_at_failure).await;
    let is_elsewhere =
        |answer: &ChargedResult<_>| matches!(answer.result, Err(Failure::WriteForbidden));
    if !answers.is_empty() && answers.iter().all(is_elsewhere) {
        // SDKs send the operations of one partition in one request, and look for the write region
        // of the partition when all of them are refused.
        return Err(Failure::WriteForbidden);
    }
    let charge = answers.iter().map(|answer| answer.charge).sum();
    let partition_lsn = answers.iter().rev().find_map(|answer| answer.partition_lsn);
    let result = |(index, drops_body): (Result<usize, Failure>, bool)| {
        let answer = match index {
            Ok(index) => &answers[index],
            Err(failure) => {
                return BatchResult::of_failure(&failure, Charge::MIN);
            }
        };
        match &answer.result {
            Ok(outcome) => BatchResult::of_outcome(outcome, drops_body),
            Err(failure) => BatchResult::of_failure(failure, answer.charge),
        }
    };
    let results: Vec<_> = indices.into_iter().zip(drops_body).map(result).collect();
    Ok(reply(encoding, &results, false, charge, partition_lsn))
}

/// Refuses an operation on an item outside of the partition key range that the request names.
fn check_range(
    access: ItemAccess<'_>,
    range: Option<RangeId>,
    keyed: (AuthorizedKey, Operation),
) -> Result<(AuthorizedKey, Operation), Failure> {
    if range.is_some_and(|range| access.is_outside(&keyed.0, range)) {
        return Err(Failure::Gone(GoneKind::PartitionKeyRange));
    }
    Ok(keyed)
}

/// An operation of a bulk request, with its own partition key or that of the request.
fn keyed(
    access: ItemAccess<'_>,
    operation: BatchOperation,
    named: Option<&AuthorizedKey>,
) -> Result<(AuthorizedKey, Operation), Failure> {
    let key = access.operation_key(operation.partition_key, named)?;
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
    partition_lsn: Option<PartitionLsn>,
) -> Reply {
    let status = batch_status(results, is_atomic);
    Reply {
        charge,
        partition_lsn,
        item_count: Some(results.len()),
        ..Reply::new(status, encoding.response_body(results))
    }
}
