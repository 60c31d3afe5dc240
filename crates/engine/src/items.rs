//! Items: point reads, transactions, bulk.

use std::sync::Arc;

use orrery_keys::{ItemRid, PartitionKey};
use orrery_model::{
    Answer, Charge, ConsistencyLevel, Failure, Operation, OperationKind, OperationOutcome,
    OperationStatus, Precondition, ReadWork, Stamp,
};
use orrery_partition::{
    Container, ItemTransaction, LogicalPartition, Place, PreparedOperation, ScanRange,
    TransactionOutcome, Visit, prepare,
};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::Engine;
use crate::engine::stopping;

/// Items that one step of a delete by partition key removes.
const DELETE_ITEMS: usize = 1_000;

/// The results of a batch, one for each operation.
pub(crate) type Results = Vec<Result<OperationOutcome, Failure>>;

/// Where the operations of a request go.
struct Target {
    container: Arc<Container>,
    key: PartitionKey,
    logical: LogicalPartition,
    now_seconds: u64,
}

impl Target {
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
        level: ConsistencyLevel,
    ) -> Answer<OperationOutcome> {
        if let Err(failure) = check_key(container, key) {
            return Answer::refused(failure);
        }
        let logical = container.logical_partition(key);
        let stamp = Some(container.partition_of(&logical).stamp());
        let factor = level.read_factor();
        let item = match self.store.read(container, &logical, id, self.now_seconds()) {
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
        level: ConsistencyLevel,
    ) -> Answer<OperationOutcome> {
        if let Err(failure) = check_key(container, &key) {
            return Answer {
                stamp: stamp(container, &key),
                ..Answer::refused(failure)
            };
        }
        let target = self.target(container, key);
        let prepared = target.prepare(operation);
        match prepared {
            Ok(operation) => single(self.submit(target, vec![operation], level).await.ok()),
            Err(failure) => Answer {
                stamp: stamp(container, &target.key),
                ..Answer::refused(failure)
            },
        }
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
        level: ConsistencyLevel,
    ) -> Answer<Results> {
        if let Err(failure) = check_key(container, &key) {
            return Answer::refused(failure);
        }
        let target = self.target(container, key);
        let prepared = operations.into_iter().map(|operation| {
            operation
                .and_then(|operation| target.prepare(operation))
                .unwrap_or_else(PreparedOperation::refused)
        });
        let prepared = prepared.collect();
        let Ok(outcome) = self.submit(target, prepared, level).await else {
            return Answer::refused(stopping());
        };
        let charges = outcome.results.iter().map(|result| match result {
            Ok(outcome) => outcome.charge,
            Err(_) => Charge::ZERO,
        });
        let charge = Charge::batch(charges);
        Answer {
            result: Ok(outcome.results),
            charge,
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
    ) -> oneshot::Receiver<TransactionOutcome> {
        let (reply, answer) = oneshot::channel();
        let Target {
            container,
            key,
            logical,
            now_seconds,
        } = target;
        let transaction = ItemTransaction {
            partition: Arc::clone(container.partition_of(&logical)),
            container,
            logical,
            key,
            operations,
            now_seconds,
            read_factor: level.read_factor(),
        };
        // A client that went away does not take its transaction back.
        self.store.submit(
            transaction,
            Box::new(move |outcome| drop(reply.send(outcome))),
        );
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
        level: ConsistencyLevel,
        stop_at_failure: bool,
    ) -> Vec<Answer<OperationOutcome>> {
        let mut answers = Vec::with_capacity(operations.len());
        if stop_at_failure {
            let mut failed = false;
            for (key, operation) in operations {
                let answer = if failed {
                    Answer::refused(Failure::FailedDependency)
                } else {
                    self.write_item(container, key, operation, level).await
                };
                failed |= answer.result.is_err();
                answers.push(answer);
            }
            return answers;
        }
        let mut waiting = Vec::with_capacity(operations.len());
        for (key, operation) in operations {
            let prepared = check_key(container, &key).and_then(|()| {
                let target = self.target(container, key);
                let operation = target.prepare(operation)?;
                Ok((target, operation))
            });
            waiting.push(
                prepared.map(|(target, operation)| self.submit(target, vec![operation], level)),
            );
        }
        for answer in waiting {
            answers.push(match answer {
                Ok(answer) => single(answer.await.ok()),
                Err(failure) => Answer::refused(failure),
            });
        }
        answers
    }

    /// Removes every item of a logical partition, a transaction at a time.
    pub async fn delete_partition_key(
        &self,
        container: &Arc<Container>,
        key: PartitionKey,
    ) -> Answer<()> {
        if let Err(failure) = check_key(container, &key) {
            return Answer::refused(failure);
        }
        let logical = container.logical_partition(&key);
        let range = ScanRange::of_logical_partition(&logical);
        let mut charge = Charge::MIN;
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
                    charge,
                    stamp,
                };
            }
            if operations.is_empty() {
                return Answer {
                    result: Ok(()),
                    charge,
                    stamp,
                };
            }
            let keyed = operations
                .into_iter()
                .map(|operation| (key.clone(), operation))
                .collect();
            for answer in self
                .bulk(container, keyed, ConsistencyLevel::Session, false)
                .await
            {
                match answer.result {
                    Ok(_) | Err(Failure::NotFound(_)) => charge = charge + answer.charge,
                    Err(failure) => {
                        return Answer {
                            result: Err(failure),
                            charge,
                            stamp,
                        };
                    }
                }
            }
        }
    }
}

fn single(outcome: Option<TransactionOutcome>) -> Answer<OperationOutcome> {
    let Some(mut outcome) = outcome else {
        return Answer::refused(stopping());
    };
    let result = outcome.results.pop().unwrap_or_else(|| Err(stopping()));
    let charge = result
        .as_ref()
        .map_or(Charge::MIN, |outcome| outcome.charge);
    Answer {
        result,
        charge,
        stamp: Some(outcome.stamp),
    }
}

/// Where a key is, if it is a whole key.
fn stamp(container: &Container, key: &PartitionKey) -> Option<Stamp> {
    check_key(container, key).ok()?;
    Some(
        container
            .partition_of(&container.logical_partition(key))
            .stamp(),
    )
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
