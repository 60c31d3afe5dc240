//! Operations on items: point reads, writes, transactional batches, deletes by partition key.

use std::sync::Arc;

use orrery_keys::{ItemRid, PartitionKey};
use orrery_model::{
    Charge, ChargedResult, ConsistencyLevel, Failure, Operation, OperationKind, OperationOutcome,
    OperationStatus, PartitionLsn, Precondition, ReadWork,
};
use orrery_partition::{
    Container, ItemTransaction, LogicalPartition, OperationContext, Partition, PreparedOperation,
    Reservation, ScanRange, TransactionOutcome, Visit, prepare,
};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::engine::stopping_failure;
use crate::throughput::{admit, charge};
use crate::{Engine, ReadBudget, RequestBudget};

/// Items that one step of a delete by partition key removes.
const DELETE_ITEMS: usize = 1_000;

/// The results of a batch, one for each operation.
pub(crate) type BatchResults = Vec<Result<OperationOutcome, Failure>>;

/// The charge of a transaction: what was reserved, what was paid, and how the final cost follows.
#[derive(Clone, Copy)]
pub(crate) struct TransactionCharge {
    reservation: Option<Reservation>,
    /// Charge that was paid at the admission.
    price: Charge,
    /// Computes the real cost from the outcome; the difference to `price` is settled then.
    cost: fn(&TransactionOutcome) -> Charge,
}

impl TransactionCharge {
    /// Charges expensive operations before the partition carries them out, so that many such writes
    /// at once do not exceed the throughput budget together.
    fn charge_in_advance(
        &mut self,
        partition: &Partition,
        operations: &[PreparedOperation],
    ) -> Result<(), Failure> {
        let price: Charge = operations.iter().filter_map(PreparedOperation::price).sum();
        if price == Charge::ZERO {
            return Ok(());
        }
        // The partition has no budget for the expensive operations, so the minimum that was paid at
        // the admission is returned.
        if let Err(failure) = admit(partition, self.reservation, price) {
            charge(partition, self.reservation, Charge::ZERO, self.price, None);
            return Err(failure);
        }
        self.price = self.price + price;
        Ok(())
    }
}

/// The logical partition to which the operations of one request go.
pub(crate) struct WriteTarget {
    container: Arc<Container>,
    key: PartitionKey,
    logical: LogicalPartition,
    pub(crate) now_seconds: u64,
}

impl WriteTarget {
    fn partition(&self) -> &Arc<Partition> {
        self.container.partition_of(&self.logical)
    }

    fn prepare(&self, operation: Operation) -> Result<PreparedOperation, Failure> {
        let context = OperationContext {
            container: &self.container,
            key: &self.key,
            logical: &self.logical,
            now_seconds: self.now_seconds,
        };
        prepare(context, operation)
    }

    fn refused<T>(&self, failure: Failure) -> ChargedResult<T> {
        ChargedResult {
            partition_lsn: Some(self.partition().partition_lsn()),
            ..ChargedResult::refused(failure)
        }
    }
}

impl Engine {
    /// Reads one item: checks access and budget first, and charges the actual cost after the read.
    pub fn read_item(
        &self,
        container: &Container,
        key: &PartitionKey,
        id: &str,
        if_none_match: Option<&Precondition>,
        budget: impl Into<ReadBudget>,
    ) -> ChargedResult<OperationOutcome> {
        let ReadBudget { level, metering } = budget.into();
        if let Err(failure) = check_key(container, key) {
            return ChargedResult::refused(failure);
        }
        let logical = container.logical_partition(key);
        let partition = container.partition_of(&logical);
        let reservation = self.reservation(metering);
        let readable = self.check_readable(container, partition);
        if let Err(failure) = readable.and_then(|()| admit(partition, reservation, Charge::ZERO)) {
            return ChargedResult {
                partition_lsn: Some(partition.partition_lsn()),
                ..ChargedResult::refused(failure)
            };
        }
        let answer = self.read_stored(container, &logical, id, if_none_match, level);
        charge(
            partition,
            reservation,
            answer.charge,
            Charge::ZERO,
            Some(key),
        );
        answer
    }

    /// Reads an item from the store and computes its charge, without admission.
    fn read_stored(
        &self,
        container: &Container,
        logical: &LogicalPartition,
        id: &str,
        if_none_match: Option<&Precondition>,
        level: ConsistencyLevel,
    ) -> ChargedResult<OperationOutcome> {
        let partition_lsn = Some(container.partition_of(logical).partition_lsn());
        let factor = level.read_factor();
        let item = match self.store.read(container, logical, id, self.now_seconds()) {
            Ok(Some(item)) => item,
            Ok(None) => {
                let charge = Charge::empty_read(factor);
                return ChargedResult {
                    result: Err(Failure::NOT_FOUND),
                    charge,
                    partition_lsn,
                };
            }
            Err(failure) => {
                return ChargedResult {
                    result: Err(failure),
                    charge: Charge::MIN,
                    partition_lsn,
                };
            }
        };
        // The item can be newer than the LSN, which was read first. The session token must cover
        // the item, or a later read in the session could return an older state.
        let partition_lsn = partition_lsn.map(|partition_lsn| PartitionLsn {
            lsn: partition_lsn.lsn.max(item.lsn()),
            ..partition_lsn
        });
        let etag = item.etag();
        let unchanged = if_none_match.is_some_and(|precondition| precondition.matches(&etag));
        let (status, body, charge) = if unchanged {
            (
                OperationStatus::NotModified,
                None,
                Charge::empty_read(factor),
            )
        } else {
            let work = ReadWork {
                bytes: item.text_bytes(),
                factor,
            };
            (
                OperationStatus::Ok,
                Some(item.text()),
                Charge::point_read(work),
            )
        };
        let outcome = OperationOutcome {
            status,
            body,
            excludes_system_properties: item.excludes_system_properties(),
            etag: Some(etag),
            item_lsn: item.lsn(),
            charge,
        };
        ChargedResult {
            result: Ok(outcome),
            charge,
            partition_lsn,
        }
    }

    /// Finds the id of an item that a client names by its resource id.
    ///
    /// No index maps resource ids to items, so this call scans the logical partition.
    pub async fn item_id(
        self: &Arc<Self>,
        container: &Arc<Container>,
        key: PartitionKey,
        rid: ItemRid,
    ) -> Result<String, Failure> {
        check_key(container, &key)?;
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        let search = move || {
            let range = ScanRange::of_logical_partition(&container.logical_partition(&key));
            let mut found = None;
            let view = engine.store.view(&container, &range, engine.now_seconds());
            view.documents(None, &mut |scanned| {
                if scanned.item.rid_counter() != rid.counter() {
                    return Visit::Taken;
                }
                found = Some(String::from_utf8_lossy(scanned.id).into_owned());
                Visit::Full
            })?;
            found.ok_or(Failure::NOT_FOUND)
        };
        spawn_blocking(search)
            .await
            .unwrap_or_else(|_| Err(stopping_failure()))
    }

    /// Carries out one write and waits until its group is durable.
    pub async fn write_item(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        operation: Operation,
        budget: impl Into<RequestBudget>,
    ) -> ChargedResult<OperationOutcome> {
        self.await_keys(container, std::iter::once(&key)).await;
        let begun = self.begin_write(container, key, operation, &budget.into());
        match begun {
            Ok(outcome) => single(outcome.await.ok()),
            Err(refused) => refused,
        }
    }

    /// Admits and prepares one write and submits it to the committer.
    fn begin_write(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        operation: Operation,
        budget: &RequestBudget,
    ) -> Result<oneshot::Receiver<TransactionOutcome>, ChargedResult<OperationOutcome>> {
        self.check_writer().map_err(ChargedResult::refused)?;
        check_key(container, &key).map_err(ChargedResult::refused)?;
        let target = self.target(container, key);
        let transaction_charge = self.admit_write(&target, budget)?;
        self.begin_admitted(target, operation, budget.level, transaction_charge)
    }

    /// Checks that the partition may take the write now, and charges the minimum of a write.
    pub(crate) fn admit_write(
        &self,
        target: &WriteTarget,
        budget: &RequestBudget,
    ) -> Result<TransactionCharge, ChargedResult<OperationOutcome>> {
        // Key access is checked before the budget, so that a write for another region costs nothing
        // here.
        self.check_key_access(&target.container, &target.logical)
            .map_err(|failure| target.refused(failure))?;
        let transaction_charge = TransactionCharge {
            reservation: self.reservation(budget.metering),
            price: Charge::WRITE_MIN,
            cost: single_cost,
        };
        admit(
            target.partition(),
            transaction_charge.reservation,
            transaction_charge.price,
        )
        .map_err(|failure| target.refused(failure))?;
        Ok(transaction_charge)
    }

    /// Prepares an admitted write and submits it. A write that cannot be prepared settles its
    /// charge.
    pub(crate) fn begin_admitted(
        &self,
        target: WriteTarget,
        operation: Operation,
        level: ConsistencyLevel,
        mut transaction_charge: TransactionCharge,
    ) -> Result<oneshot::Receiver<TransactionOutcome>, ChargedResult<OperationOutcome>> {
        let prepared = target.prepare(operation).map_err(|failure| {
            let refused = target.refused(failure);
            let TransactionCharge {
                reservation, price, ..
            } = transaction_charge;
            charge(target.partition(), reservation, refused.charge, price, None);
            refused
        })?;
        let prepared = vec![prepared];
        transaction_charge
            .charge_in_advance(target.partition(), &prepared)
            .map_err(|failure| target.refused(failure))?;
        Ok(self.submit(target, prepared, level, transaction_charge))
    }

    /// Carries out the operations of a batch atomically.
    ///
    /// An operation with invalid content is refused at its turn. The results report each operation;
    /// the call itself fails only before any operation has run.
    pub async fn transact(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        operations: Vec<Result<Operation, Failure>>,
        budget: impl Into<RequestBudget>,
    ) -> ChargedResult<BatchResults> {
        let RequestBudget {
            level, metering, ..
        } = budget.into();
        if let Err(failure) = self.check_writer().and(check_key(container, &key)) {
            return ChargedResult::refused(failure);
        }
        let target = self.target(container, key);
        if let Err(failure) = self.admit_key(container, &target.logical).await {
            return target.refused(failure);
        }
        let mut transaction_charge = TransactionCharge {
            reservation: self.reservation(metering),
            price: operations.iter().map(|_| Charge::WRITE_MIN).sum(),
            cost: batch_cost,
        };
        if let Err(failure) = admit(
            target.partition(),
            transaction_charge.reservation,
            transaction_charge.price,
        ) {
            return target.refused(failure);
        }
        let prepared = operations.into_iter().map(|operation| {
            operation
                .and_then(|operation| target.prepare(operation))
                .unwrap_or_else(PreparedOperation::refused)
        });
        let prepared: Vec<_> = prepared.collect();
        if let Err(failure) = transaction_charge.charge_in_advance(target.partition(), &prepared) {
            return target.refused(failure);
        }
        let Ok(outcome) = self
            .submit(target, prepared, level, transaction_charge)
            .await
        else {
            return ChargedResult::refused(stopping_failure());
        };
        // The committer checks the key's region again, at the commit.
        if matches!(outcome.results.first(), Some(Err(Failure::WriteForbidden))) {
            // The write region of the key changed between admission and commit. That is a failure
            // of the whole request.
            return ChargedResult {
                partition_lsn: Some(outcome.partition_lsn),
                ..ChargedResult::refused(Failure::WriteForbidden)
            };
        }
        ChargedResult {
            charge: batch_cost(&outcome),
            result: Ok(outcome.results),
            partition_lsn: Some(outcome.partition_lsn),
        }
    }

    pub(crate) fn target(&self, container: &Arc<Container>, key: PartitionKey) -> WriteTarget {
        WriteTarget {
            logical: container.logical_partition(&key),
            container: Arc::clone(container),
            key,
            now_seconds: self.now_seconds(),
        }
    }

    /// Hands a transaction to the committer; the receiver resolves when its group is durable.
    fn submit(
        &self,
        target: WriteTarget,
        operations: Vec<PreparedOperation>,
        level: ConsistencyLevel,
        transaction_charge: TransactionCharge,
    ) -> oneshot::Receiver<TransactionOutcome> {
        let (reply, answer) = oneshot::channel();
        let WriteTarget {
            container,
            key,
            logical,
            now_seconds,
        } = target;
        let partition = Arc::clone(container.partition_of(&logical));
        let payer = transaction_charge
            .reservation
            .map(|_| (Arc::clone(&partition), key.clone()));
        let transaction = ItemTransaction {
            partition,
            container,
            logical,
            key,
            operations,
            now_seconds,
            read_factor: level.read_factor(),
        };
        let TransactionCharge {
            reservation,
            price,
            cost,
        } = transaction_charge;
        // The committer calls this closure even if the client has disconnected, so every
        // transaction that ran is charged.
        let done = move |outcome| {
            if let Some((partition, key)) = payer {
                charge(&partition, reservation, cost(&outcome), price, Some(&key));
            }
            drop(reply.send(outcome));
        };
        self.store.submit(transaction, Box::new(done));
        answer
    }

    /// Removes every item of a logical partition in a sequence of transactions.
    ///
    /// The request is admitted once and runs to its end. Each step charges the partition at most a
    /// tenth of its budget for one second, so that other requests progress meanwhile.
    pub async fn delete_partition_key(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        budget: impl Into<RequestBudget>,
    ) -> ChargedResult<()> {
        let budget = budget.into();
        if let Err(failure) = self.check_writer().and(check_key(container, &key)) {
            return ChargedResult::refused(failure);
        }
        let logical = container.logical_partition(&key);
        let partition = container.partition_of(&logical);
        let reservation = self.reservation(budget.metering);
        let admitted = self.admit_key(container, &logical).await;
        if let Err(failure) = admitted.and_then(|()| admit(partition, reservation, Charge::ZERO)) {
            return ChargedResult {
                partition_lsn: Some(partition.partition_lsn()),
                ..ChargedResult::refused(failure)
            };
        }
        let range = ScanRange::of_logical_partition(&logical);
        let mut sum = Charge::MIN;
        loop {
            let mut operations = Vec::new();
            let view = self.store.view(container, &range, self.now_seconds());
            let scanned = view.documents(None, &mut |scanned| {
                if operations.len() == DELETE_ITEMS {
                    return Visit::Full;
                }
                let id = String::from_utf8_lossy(scanned.id).into_owned();
                operations.push(Operation::new(OperationKind::Delete { id }));
                Visit::Taken
            });
            // The view pins a snapshot, so it is dropped before the deletes are awaited.
            drop(view);
            let partition_lsn = Some(container.partition_of(&logical).partition_lsn());
            if let Err(failure) = scanned {
                return ChargedResult {
                    result: Err(failure),
                    charge: sum,
                    partition_lsn,
                };
            }
            if operations.is_empty() {
                return ChargedResult {
                    result: Ok(()),
                    charge: sum,
                    partition_lsn,
                };
            }
            let keyed = operations
                .into_iter()
                .map(|operation| (key.clone(), operation))
                .collect();
            // Admission has happened, so the steps run unmetered and are charged below.
            let unmetered = RequestBudget::unmetered(ConsistencyLevel::Session);
            let deleted = self.bulk(container, keyed, unmetered, false).await;
            let (step, outcome) = delete_step(deleted);
            sum = sum + step;
            let paid = step.min(tenth_of_a_second(partition));
            charge(partition, reservation, paid, Charge::ZERO, Some(&key));
            if let Err(failure) = outcome {
                return ChargedResult {
                    result: Err(failure),
                    charge: sum,
                    partition_lsn,
                };
            }
        }
    }
}

/// The charge of all deletes of a step, and the first failure. The deletes are independent, so
/// those around a failed one cost what they cost in a step without failure.
fn delete_step(answers: Vec<ChargedResult<OperationOutcome>>) -> (Charge, Result<(), Failure>) {
    let mut step = Charge::ZERO;
    let mut outcome = Ok(());
    for answer in answers {
        step = step + answer.charge;
        match answer.result {
            // Another request may have deleted the item since the scan.
            Ok(_) | Err(Failure::NotFound(_)) => {}
            Err(failure) => outcome = outcome.and(Err(failure)),
        }
    }
    (step, outcome)
}

/// A tenth of what the partition may use in a second.
fn tenth_of_a_second(partition: &Partition) -> Charge {
    let units = partition.meter().units().unwrap_or(u32::MAX);
    Charge::from_hundredths(u64::from(units) * 10)
}

fn single_cost(outcome: &TransactionOutcome) -> Charge {
    match outcome.results.first() {
        Some(Ok(outcome)) => outcome.charge,
        Some(Err(_)) | None => Charge::MIN,
    }
}

/// The charge of a batch. A failed batch costs the operations that were undone plus one refusal.
fn batch_cost(outcome: &TransactionOutcome) -> Charge {
    if outcome.results.iter().any(Result::is_err) {
        return outcome.undone + Charge::MIN;
    }
    let done = outcome.results.iter().flatten();
    done.map(|outcome| outcome.charge).sum()
}

pub(crate) fn single(outcome: Option<TransactionOutcome>) -> ChargedResult<OperationOutcome> {
    let Some(mut outcome) = outcome else {
        return ChargedResult::refused(stopping_failure());
    };
    let charge = single_cost(&outcome);
    let result = outcome
        .results
        .pop()
        .unwrap_or_else(|| Err(stopping_failure()));
    ChargedResult {
        result,
        charge,
        partition_lsn: Some(outcome.partition_lsn),
    }
}

/// Checks that a point operation names a complete partition key of permitted size.
pub(crate) fn check_key(container: &Container, key: &PartitionKey) -> Result<(), Failure> {
    let setting = &container.definition.partition_key;
    if key.is_empty() && setting.is_system_key() {
        return Ok(());
    }
    let definition = setting.definition();
    definition
        .check_complete(key)
        .map_err(|_| Failure::PartitionKeyMismatch)?;
    definition.check_size(key).map_err(|error| {
        Failure::BadRequest(format!("One of the input values is invalid. {error}."))
    })
}

#[cfg(test)]
mod tests {
    use orrery_model::Lsn;

    use super::*;

    fn answer(
        result: Result<OperationStatus, Failure>,
        units: f64,
    ) -> ChargedResult<OperationOutcome> {
        let charge = Charge::from_units(units);
        ChargedResult {
            result: result.map(|status| OperationOutcome {
                status,
                body: None,
                excludes_system_properties: false,
                etag: None,
                item_lsn: Lsn(1),
                charge,
            }),
            charge,
            partition_lsn: None,
        }
    }

    #[test]
    fn a_failed_delete_leaves_the_charge_of_the_others() {
        let gone = || Ok(OperationStatus::Deleted);
        let step = vec![
            answer(gone(), 5.0),
            answer(Err(Failure::NOT_FOUND), 1.0),
            answer(Err(stopping_failure()), 1.0),
            answer(Err(Failure::WriteForbidden), 1.0),
            answer(gone(), 6.0),
        ];
        let expected = (Charge::from_units(14.0), Err(stopping_failure()));
        assert_eq!(delete_step(step), expected);
        let missing = vec![answer(Err(Failure::NOT_FOUND), 1.0)];
        assert_eq!(delete_step(missing), (Charge::from_units(1.0), Ok(())));
    }
}
