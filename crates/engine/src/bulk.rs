//! Bulk requests: many independent operations in one HTTP request.

use std::sync::Arc;

use bytes::Bytes;
use orrery_keys::PartitionKey;
use orrery_model::{ChargedResult, Failure, Operation, OperationKind, OperationOutcome, limits};
use orrery_partition::{Container, TransactionOutcome};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::items::{check_key, single};
use crate::throughput::{WaitBudget, add_up_waits};
use crate::{Engine, RequestBudget};

/// Bounds the concurrent reads of one bulk request, because each read may return an item of 2 MB.
const READS_AT_ONCE: usize = 16;

impl Engine {
    /// Carries out independent operations and returns the results in request order.
    ///
    /// The operations share commit groups, and each waits for its own throughput budget in turn.
    /// With `stop_at_failure` they run one after another, and operations behind a failure are
    /// refused as failed dependencies.
    pub async fn bulk(
        &self,
        container: &Arc<Container>,
        operations: Vec<(PartitionKey, Operation)>,
        budget: impl Into<RequestBudget>,
        stop_at_failure: bool,
    ) -> Vec<ChargedResult<OperationOutcome>> {
        let budget = budget.into();
        let mut answers = Vec::with_capacity(operations.len());
        let mut response_size = ResponseSize::default();
        // One wait budget covers the whole request: the client waits for the sum of all throttling
        // pauses.
        let mut wait_budget = self.throughput.bulk_wait_budget(budget.patience);
        if stop_at_failure {
            let mut failed = false;
            for (key, operation) in operations {
                let is_read = is_read(&operation);
                let answer = if failed {
                    ChargedResult::refused(Failure::FailedDependency)
                } else if is_read && response_size.is_full() {
                    ChargedResult::refused(Failure::AnswerTooLarge)
                } else {
                    // The admission refuses a key whose takeover is not complete, so the takeover
                    // is awaited first.
                    self.await_keys(container, std::iter::once(&key)).await;
                    let begun = self.begin_when_admitted(
                        container,
                        key,
                        operation,
                        &budget,
                        &mut wait_budget,
                    );
                    match begun.await {
                        Ok(outcome) => single(outcome.await.ok()),
                        Err(refused) => refused,
                    }
                };
                let answer = response_size.fit(is_read, answer);
                // An answer that exceeds the response size counts as a failure too.
                failed |= answer.result.is_err();
                answers.push(answer);
            }
            return answers;
        }
        // The admission refuses a key whose takeover is not complete, so all takeovers are awaited
        // first.
        let keys = operations.iter().map(|(key, _)| key);
        self.await_keys(container, keys).await;
        let mut waiting = Vec::with_capacity(operations.len());
        let mut reads = 0;
        for (key, operation) in operations {
            let is_read = is_read(&operation);
            // Started reads hold their items in memory until they are collected here.
            if is_read && reads == READS_AT_ONCE {
                await_started(&mut waiting, &mut response_size, &mut answers).await;
                reads = 0;
            }
            let begun = if is_read && response_size.is_full() {
                Err(ChargedResult::refused(Failure::AnswerTooLarge))
            } else {
                self.begin_when_admitted(container, key, operation, &budget, &mut wait_budget)
                    .await
            };
            reads += usize::from(is_read);
            waiting.push((is_read, begun));
        }
        // Operations are submitted before their outcomes are awaited, so that the committer can
        // group their writes.
        await_started(&mut waiting, &mut response_size, &mut answers).await;
        add_up_waits(&mut answers);
        answers
    }

    /// Submits a write as soon as the partition has budget for it, within the request's wait
    /// budget.
    async fn begin_when_admitted(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        operation: Operation,
        budget: &RequestBudget,
        wait_budget: &mut WaitBudget,
    ) -> Result<oneshot::Receiver<TransactionOutcome>, ChargedResult<OperationOutcome>> {
        self.check_writer().map_err(ChargedResult::refused)?;
        check_key(container, &key).map_err(ChargedResult::refused)?;
        let mut target = self.target(container, key);
        let transaction_charge = loop {
            let mut refused = match self.admit_write(&target, budget) {
                Ok(transaction_charge) => break transaction_charge,
                Err(refused) => refused,
            };
            let wait = match &mut refused.result {
                Err(failure) => wait_budget.wait(failure),
                Ok(_) => None,
            };
            let Some(wait) = wait else {
                return Err(refused);
            };
            sleep(wait).await;
            // The pause may pass the moment at which an item expires, so the time is read again.
            target.now_seconds = self.now_seconds();
        };
        self.begin_admitted(target, operation, budget.level, transaction_charge)
    }
}

/// Whether an operation reads, and either the receiver of its outcome or its early refusal.
type StartedOperation = (
    bool,
    Result<oneshot::Receiver<TransactionOutcome>, ChargedResult<OperationOutcome>>,
);

/// Collects the outcomes of started operations in request order.
async fn await_started(
    waiting: &mut Vec<StartedOperation>,
    response_size: &mut ResponseSize,
    answers: &mut Vec<ChargedResult<OperationOutcome>>,
) {
    for (is_read, begun) in waiting.drain(..) {
        let answer = match begun {
            Ok(answer) => single(answer.await.ok()),
            Err(refused) => refused,
        };
        answers.push(response_size.fit(is_read, answer));
    }
}

fn is_read(operation: &Operation) -> bool {
    matches!(operation.kind, OperationKind::Read { .. })
}

/// Bytes of one bulk response so far, for reads and for writes.
#[derive(Default)]
struct ResponseSize {
    bytes_read: usize,
    bytes_written: usize,
}

impl ResponseSize {
    fn is_full(&self) -> bool {
        self.bytes_read > limits::RESPONSE_PAGE_BYTES_MAX
    }

    /// Fits one answer into the response. A read that exceeds the size is refused; a write that
    /// exceeds it returns without its item, because the write is already durable.
    fn fit(
        &mut self,
        is_read: bool,
        mut answer: ChargedResult<OperationOutcome>,
    ) -> ChargedResult<OperationOutcome> {
        let Ok(outcome) = &mut answer.result else {
            return answer;
        };
        let bytes = outcome.body.as_ref().map_or(0, Bytes::len);
        if is_read {
            self.bytes_read += bytes;
            if self.is_full() {
                answer.result = Err(Failure::AnswerTooLarge);
            }
        } else {
            self.bytes_written += bytes;
            if self.bytes_written > limits::RESPONSE_PAGE_BYTES_MAX {
                outcome.body = None;
            }
        }
        answer
    }
}
