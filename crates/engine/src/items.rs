//! Items: point reads, transactions, bulk.

use std::sync::Arc;

use bytes::Bytes;
use orrery_keys::{ItemRid, PartitionKey};
use orrery_model::{
    Answer, Charge, ConsistencyLevel, Failure, Operation, OperationKind, OperationOutcome,
    OperationStatus, Precondition, ReadWork, Stamp, limits,
};
use orrery_partition::{
    Claim, Container, ItemTransaction, LogicalPartition, Partition, Place, PreparedOperation,
    ScanRange, TransactionOutcome, Visit, prepare,
};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::engine::stopping;
use crate::throughput::{admit, charge};
use crate::{Engine, ReadTerms, Terms};

/// Items that one step of a delete by partition key removes.
const DELETE_ITEMS: usize = 1_000;

/// How many reads of one bulk request run at the same time: each of them may give an item of 2 MB.
const READS_AT_ONCE: usize = 16;

/// The results of a batch, one for each operation.
pub(crate) type Results = Vec<Result<OperationOutcome, Failure>>;

/// How a transaction is paid for.
#[derive(Clone, Copy)]
struct Fare {
    claim: Option<Claim>,
    /// Paid at the admission.
    price: Charge,
    /// What it really cost.
    cost: fn(&TransactionOutcome) -> Charge,
}

impl Fare {
    /// Charges expensive operations before the partition carries them out, so that many such writes
    /// at once do not exceed the throughput budget together.
    fn pay_in_advance(
        &mut self,
        partition: &Partition,
        operations: &[PreparedOperation],
    ) -> Result<(), Failure> {
        let price: Charge = operations.iter().filter_map(PreparedOperation::price).sum();
        if price == Charge::ZERO {
            return Ok(());
        }
        if let Err(failure) = admit(partition, self.claim, price) {
            charge(partition, self.claim, Charge::ZERO, self.price, None);
            return Err(failure);
        }
        self.price = self.price + price;
        Ok(())
    }
}

/// Where the operations of a request go.
struct Target {
    container: Arc<Container>,
    key: PartitionKey,
    logical: LogicalPartition,
    now_seconds: u64,
}

impl Target {
    fn partition(&self) -> &Arc<Partition> {
        self.container.partition_of(&self.logical)
    }

    fn prepare(&self, operation: Operation) -> Result<PreparedOperation, Failure> {
        let place = Place {
            container: &self.container,
            key: &self.key,
            logical: &self.logical,
            now_seconds: self.now_seconds,
        };
        prepare(place, operation)
    }
}

impl Engine {
    pub fn read_item(
        &self,
        container: &Container,
        key: &PartitionKey,
        id: &str,
        if_none_match: Option<&Precondition>,
        terms: impl Into<ReadTerms>,
    ) -> Answer<OperationOutcome> {
        let ReadTerms { level, metering } = terms.into();
        if let Err(failure) = check_key(container, key) {
            return Answer::refused(failure);
        }
        let logical = container.logical_partition(key);
        let partition = container.partition_of(&logical);
        let claim = self.claim(metering);
        let readable = self.check_readable(container, partition);
        if let Err(failure) = readable.and_then(|()| admit(partition, claim, Charge::ZERO)) {
            return Answer {
                stamp: Some(partition.stamp()),
                ..Answer::refused(failure)
            };
        }
        let answer = self.read_stored(container, &logical, id, if_none_match, level);
        charge(partition, claim, answer.charge, Charge::ZERO, Some(key));
        answer
    }

    fn read_stored(
        &self,
        container: &Container,
        logical: &LogicalPartition,
        id: &str,
        if_none_match: Option<&Precondition>,
        level: ConsistencyLevel,
    ) -> Answer<OperationOutcome> {
        let stamp = Some(container.partition_of(logical).stamp());
        let factor = level.read_factor();
        let item = match self.store.read(container, logical, id, self.now_seconds()) {
            Ok(Some(item)) => item,
            Ok(None) => {
                let charge = Charge::empty_read(factor);
                return Answer {
                    result: Err(Failure::NOT_FOUND),
                    charge,
                    stamp,
                };
            }
            Err(failure) => {
                return Answer {
                    result: Err(failure),
                    charge: Charge::MIN,
                    stamp,
                };
            }
        };
        // What was read may be newer than the position from before it, and a session must not fall behind it.
        let stamp = stamp.map(|stamp| Stamp {
            lsn: stamp.lsn.max(item.lsn()),
            ..stamp
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
            etag: Some(etag),
            item_lsn: item.lsn(),
            charge,
        };
        Answer {
            result: Ok(outcome),
            charge,
            stamp,
        }
    }

    /// The id of an item that a client names by its resource id.
    ///
    /// Items are not indexed by resource id: this reads the logical partition until it is found.
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
            .unwrap_or_else(|_| Err(stopping()))
    }

    /// Carries out one write.
    pub async fn write_item(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        operation: Operation,
        terms: impl Into<Terms>,
    ) -> Answer<OperationOutcome> {
        self.await_keys(container, std::iter::once(&key)).await;
        let begun = self.begin_write(container, key, operation, &terms.into());
        match begun {
            Ok(outcome) => single(outcome.await.ok()),
            Err(refused) => refused,
        }
    }

    /// Admits and prepares one write and gives it to the committer.
    fn begin_write(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        operation: Operation,
        terms: &Terms,
    ) -> Result<oneshot::Receiver<TransactionOutcome>, Answer<OperationOutcome>> {
        self.check_writer().map_err(Answer::refused)?;
        check_key(container, &key).map_err(Answer::refused)?;
        let target = self.target(container, key);
        let refused = |failure| Answer {
            stamp: Some(target.partition().stamp()),
            ..Answer::refused(failure)
        };
        self.check_key_access(container, &target.logical)
            .map_err(refused)?;
        let mut fare = Fare {
            claim: self.claim(terms.metering),
            price: Charge::WRITE_MIN,
            cost: single_cost,
        };
        admit(target.partition(), fare.claim, fare.price).map_err(refused)?;
        let prepared = target.prepare(operation).map_err(|failure| {
            let refused = refused(failure);
            let Fare { claim, price, .. } = fare;
            charge(target.partition(), claim, refused.charge, price, None);
            refused
        })?;
        let prepared = vec![prepared];
        fare.pay_in_advance(target.partition(), &prepared)
            .map_err(refused)?;
        Ok(self.submit(target, prepared, terms.level, fare))
    }

    /// Carries out the operations of a batch together or not at all.
    ///
    /// An operation whose own content is wrong is refused in its turn. The results say what became
    /// of each; the answer itself fails only before anything ran.
    pub async fn transact(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        operations: Vec<Result<Operation, Failure>>,
        terms: impl Into<Terms>,
    ) -> Answer<Results> {
        let Terms {
            level, metering, ..
        } = terms.into();
        if let Err(failure) = self.check_writer().and(check_key(container, &key)) {
            return Answer::refused(failure);
        }
        let target = self.target(container, key);
        let refused = |failure| Answer {
            stamp: Some(target.partition().stamp()),
            ..Answer::refused(failure)
        };
        if let Err(failure) = self.admit_key(container, &target.logical).await {
            return refused(failure);
        }
        let mut fare = Fare {
            claim: self.claim(metering),
            price: operations.iter().map(|_| Charge::WRITE_MIN).sum(),
            cost: batch_cost,
        };
        if let Err(failure) = admit(target.partition(), fare.claim, fare.price) {
            return refused(failure);
        }
        let prepared = operations.into_iter().map(|operation| {
            operation
                .and_then(|operation| target.prepare(operation))
                .unwrap_or_else(PreparedOperation::refused)
        });
        let prepared: Vec<_> = prepared.collect();
        if let Err(failure) = fare.pay_in_advance(target.partition(), &prepared) {
            return refused(failure);
        }
        let Ok(outcome) = self.submit(target, prepared, level, fare).await else {
            return Answer::refused(stopping());
        };
        if matches!(outcome.results.first(), Some(Err(Failure::WriteForbidden))) {
            // Its region has changed on the way; it is no failure of an operation.
            return Answer {
                stamp: Some(outcome.stamp),
                ..Answer::refused(Failure::WriteForbidden)
            };
        }
        Answer {
            charge: batch_cost(&outcome),
            result: Ok(outcome.results),
            stamp: Some(outcome.stamp),
        }
    }

    fn target(&self, container: &Arc<Container>, key: PartitionKey) -> Target {
        Target {
            logical: container.logical_partition(&key),
            container: Arc::clone(container),
            key,
            now_seconds: self.now_seconds(),
        }
    }

    fn submit(
        &self,
        target: Target,
        operations: Vec<PreparedOperation>,
        level: ConsistencyLevel,
        fare: Fare,
    ) -> oneshot::Receiver<TransactionOutcome> {
        let (reply, answer) = oneshot::channel();
        let Target {
            container,
            key,
            logical,
            now_seconds,
        } = target;
        let partition = Arc::clone(container.partition_of(&logical));
        let payer = fare.claim.map(|_| (Arc::clone(&partition), key.clone()));
        let transaction = ItemTransaction {
            partition,
            container,
            logical,
            key,
            operations,
            now_seconds,
            read_factor: level.read_factor(),
        };
        let Fare { claim, price, cost } = fare;
        // A client that went away does not take its transaction back, and it is charged.
        let done = move |outcome| {
            if let Some((partition, key)) = payer {
                charge(&partition, claim, cost(&outcome), price, Some(&key));
            }
            drop(reply.send(outcome));
        };
        self.store.submit(transaction, Box::new(done));
        answer
    }

    /// Carries out operations that have nothing to do with each other; results in their order.
    ///
    /// They wait for their groups together. With `stop_at_failure` they run one after another, and
    /// those behind a failure are not tried.
    pub async fn bulk(
        &self,
        container: &Arc<Container>,
        operations: Vec<(PartitionKey, Operation)>,
        terms: impl Into<Terms>,
        stop_at_failure: bool,
    ) -> Vec<Answer<OperationOutcome>> {
        let terms = terms.into();
        let mut answers = Vec::with_capacity(operations.len());
        let mut room = Room::default();
        if stop_at_failure {
            let mut failed = false;
            for (key, operation) in operations {
                let is_read = is_read(&operation);
                let answer = if failed {
                    Answer::refused(Failure::FailedDependency)
                } else if is_read && room.is_full() {
                    Answer::refused(Failure::AnswerTooLarge)
                } else {
                    self.write_item(container, key, operation, terms.clone())
                        .await
                };
                let answer = room.fit(is_read, answer);
                failed |= answer.result.is_err();
                answers.push(answer);
            }
            return answers;
        }
        let keys = operations.iter().map(|(key, _)| key);
        self.await_keys(container, keys).await;
        let mut waiting = Vec::with_capacity(operations.len());
        let mut reads = 0;
        for (key, operation) in operations {
            let is_read = is_read(&operation);
            if is_read && reads == READS_AT_ONCE {
                settle(&mut waiting, &mut room, &mut answers).await;
                reads = 0;
            }
            let begun = if is_read && room.is_full() {
                Err(Answer::refused(Failure::AnswerTooLarge))
            } else {
                self.begin_write(container, key, operation, &terms)
            };
            reads += usize::from(is_read);
            waiting.push((is_read, begun));
        }
        settle(&mut waiting, &mut room, &mut answers).await;
        answers
    }

    /// Removes every item of a logical partition, a transaction at a time.
    ///
    /// It is admitted once and goes on to the end. Of its partition's budget each step takes a
    /// tenth of a second at most, so that others go on as well.
    pub async fn delete_partition_key(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
        terms: impl Into<Terms>,
    ) -> Answer<()> {
        let terms = terms.into();
        if let Err(failure) = self.check_writer().and(check_key(container, &key)) {
            return Answer::refused(failure);
        }
        let logical = container.logical_partition(&key);
        let partition = container.partition_of(&logical);
        let claim = self.claim(terms.metering);
        let admitted = self.admit_key(container, &logical).await;
        if let Err(failure) = admitted.and_then(|()| admit(partition, claim, Charge::ZERO)) {
            return Answer {
                stamp: Some(partition.stamp()),
                ..Answer::refused(failure)
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
            drop(view);
            let stamp = Some(container.partition_of(&logical).stamp());
            if let Err(failure) = scanned {
                return Answer {
                    result: Err(failure),
                    charge: sum,
                    stamp,
                };
            }
            if operations.is_empty() {
                return Answer {
                    result: Ok(()),
                    charge: sum,
                    stamp,
                };
            }
            let keyed = operations
                .into_iter()
                .map(|operation| (key.clone(), operation))
                .collect();
            let mut step = Charge::ZERO;
            let unmetered = Terms::unmetered(ConsistencyLevel::Session);
            for answer in self.bulk(container, keyed, unmetered, false).await {
                match answer.result {
                    Ok(_) | Err(Failure::NotFound(_)) => step = step + answer.charge,
                    Err(failure) => {
                        return Answer {
                            result: Err(failure),
                            charge: sum,
                            stamp,
                        };
                    }
                }
            }
            sum = sum + step;
            let paid = step.min(tenth_of_a_second(partition));
            charge(partition, claim, paid, Charge::ZERO, Some(&key));
        }
    }
}

/// An operation that was begun, or what became of it already, and whether it reads.
type Begun = (
    bool,
    Result<oneshot::Receiver<TransactionOutcome>, Answer<OperationOutcome>>,
);

/// Waits for operations, in their order.
async fn settle(
    waiting: &mut Vec<Begun>,
    room: &mut Room,
    answers: &mut Vec<Answer<OperationOutcome>>,
) {
    for (is_read, begun) in waiting.drain(..) {
        let answer = match begun {
            Ok(answer) => single(answer.await.ok()),
            Err(refused) => refused,
        };
        answers.push(room.fit(is_read, answer));
    }
}

fn is_read(operation: &Operation) -> bool {
    matches!(operation.kind, OperationKind::Read { .. })
}

/// What is left of the answer to one request with many operations.
#[derive(Default)]
struct Room {
    bytes_read: usize,
    bytes_written: usize,
}

impl Room {
    fn is_full(&self) -> bool {
        self.bytes_read > limits::RESPONSE_PAGE_BYTES_MAX
    }

    /// Refuses a read that does not fit; a write that does not is answered without its item.
    fn fit(
        &mut self,
        is_read: bool,
        mut answer: Answer<OperationOutcome>,
    ) -> Answer<OperationOutcome> {
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

fn batch_cost(outcome: &TransactionOutcome) -> Charge {
    let charges = outcome.results.iter().map(|result| match result {
        Ok(outcome) => outcome.charge,
        Err(_) => Charge::ZERO,
    });
    Charge::batch(charges)
}

fn single(outcome: Option<TransactionOutcome>) -> Answer<OperationOutcome> {
    let Some(mut outcome) = outcome else {
        return Answer::refused(stopping());
    };
    let charge = single_cost(&outcome);
    let result = outcome.results.pop().unwrap_or_else(|| Err(stopping()));
    Answer {
        result,
        charge,
        stamp: Some(outcome.stamp),
    }
}

/// A point operation needs the whole key, within its size.
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
