//! A store with one container, with short functions for writes, reads and background steps.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_json::parse;
use orrery_keys::{ContainerRid, DatabaseRid, EpkRange, PartitionKey};
use orrery_log::Disk;
use orrery_model::{
    ContainerDefinition, Document, Failure, Operation, OperationKind, OperationOutcome, RangeId,
};
use orrery_partition::{
    ApplyAfter, Container, Durability, IndexPolicyState, ItemTransaction, MaintenanceOptions,
    OperationContext, Partition, Store, StoreOptions, TransactionOutcome, policy_change, prepare,
};

pub(crate) const NUMBER: u32 = 7;
const NOW_SECONDS: u64 = 1_800_000_000;

/// A store whose only container is partitioned by `/p`.
pub(crate) struct World {
    pub(crate) store: Store,
    container: Arc<Container>,
}

pub(crate) fn options(directory: &Path) -> StoreOptions {
    StoreOptions {
        directory: Some(directory.to_owned()),
        durability: Durability::Sync,
        cache_bytes: 4 << 20,
        apply_after: ApplyAfter::Durable,
        multi_write: None,
        maintenance: MaintenanceOptions::default(),
    }
}

impl World {
    /// `settings` are further JSON properties of the container, beginning with a comma.
    pub(crate) fn open(
        directory: &Path,
        disk: &Arc<dyn Disk>,
        durability: Durability,
        settings: &str,
    ) -> World {
        World::open_apply_after(directory, disk, durability, settings, ApplyAfter::Durable)
    }

    /// [`World::open`] with a setting that says when replicated records are applied.
    pub(crate) fn open_apply_after(
        directory: &Path,
        disk: &Arc<dyn Disk>,
        durability: Durability,
        settings: &str,
        seen: ApplyAfter,
    ) -> World {
        let options = StoreOptions {
            durability,
            apply_after: seen,
            ..options(directory)
        };
        World::open_with(&options, disk, settings)
    }

    pub(crate) fn open_with(options: &StoreOptions, disk: &Arc<dyn Disk>, settings: &str) -> World {
        let store = Store::open_on(options, disk).unwrap();
        let body = format!(r#"{{"id":"c","partitionKey":{{"paths":["/p"]}}{settings}}}"#);
        let counters = store
            .catalogue_state()
            .counters(NUMBER, RangeId(0))
            .unwrap();
        let partition = Partition::new(RangeId(0), EpkRange::full(), counters);
        let container = Container::new(
            ContainerRid::new(DatabaseRid::new(1), NUMBER),
            ContainerDefinition::parse(&parse(body.as_bytes()).unwrap()).unwrap(),
            vec![Arc::new(partition)],
            "dbs/d/colls/c/".to_owned(),
        );
        let world = World {
            store,
            container: Arc::new(container),
        };
        if world.store.index_policy_state(&world.container).unwrap() == IndexPolicyState::Mismatched
        {
            let is_new = world.container.partitions[0].counters().lsn.0 == 0;
            // The catalogue change may fail on a failing disk, which other assertions of the test
            // check.
            let _ = world.change_catalogue(policy_change(&world.container, is_new));
        }
        world
    }

    /// One step of the reindexing walk; returns whether more steps are needed.
    pub(crate) fn reindex(&self) -> Result<bool, Failure> {
        let (reply, answer) = channel();
        self.store
            .submit_reindex(NUMBER, Box::new(move |result| reply.send(result).unwrap()));
        answer.recv().unwrap()
    }

    pub(crate) fn upsert(&self, text: &str) -> Result<OperationOutcome, Failure> {
        let document = Document::parse(text.as_bytes()).unwrap();
        self.begin(OperationKind::Upsert(document)).recv().unwrap()
    }

    pub(crate) fn create(&self, text: &str) -> Receiver<Result<OperationOutcome, Failure>> {
        let document = Document::parse(text.as_bytes()).unwrap();
        self.begin(OperationKind::Create(document))
    }

    pub(crate) fn begin(&self, kind: OperationKind) -> Receiver<Result<OperationOutcome, Failure>> {
        let operation = Operation::new(kind);
        let logical = self.container.logical_partition(&key());
        let context = OperationContext {
            container: &self.container,
            key: &key(),
            logical: &logical,
            now_seconds: NOW_SECONDS,
        };
        let transaction = ItemTransaction {
            container: Arc::clone(&self.container),
            partition: Arc::clone(&self.container.partitions[0]),
            logical: logical.clone(),
            key: key(),
            operations: vec![prepare(context, operation).unwrap()],
            now_seconds: NOW_SECONDS,
            read_factor: 1.0,
        };
        let (reply, answer) = channel();
        // The test may have dropped the receiver.
        let reply =
            move |mut outcome: TransactionOutcome| drop(reply.send(outcome.results.remove(0)));
        self.store.submit(transaction, Box::new(reply));
        answer
    }

    /// The text of an item; `None` if the store does not contain it.
    pub(crate) fn read(&self, id: &str) -> Option<String> {
        let logical = self.container.logical_partition(&key());
        let item = self.store.read(&self.container, &logical, id, NOW_SECONDS);
        let text = item.unwrap().map(|item| item.text().to_vec());
        text.map(|text| String::from_utf8(text).unwrap())
    }

    /// [`World::read`] of a store that may be damaged.
    pub(crate) fn try_read(&self, id: &str) -> Result<Option<String>, Failure> {
        let logical = self.container.logical_partition(&key());
        let item = self
            .store
            .read(&self.container, &logical, id, NOW_SECONDS)?;
        let text = item.map(|item| item.text().to_vec());
        Ok(text.map(|text| String::from_utf8(text).unwrap()))
    }

    pub(crate) fn lsn(&self) -> u64 {
        self.container.partitions[0].counters().lsn.0
    }

    pub(crate) fn write_catalogue(&self, key: &'static str) -> Result<(), Failure> {
        self.change_catalogue((key.into(), Some("{}".into())))
    }

    fn change_catalogue(&self, change: (Bytes, Option<Bytes>)) -> Result<(), Failure> {
        self.begin_catalogue(change).recv().unwrap()
    }

    pub(crate) fn begin_catalogue(
        &self,
        change: (Bytes, Option<Bytes>),
    ) -> Receiver<Result<(), Failure>> {
        let (reply, answer) = channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_catalogue(vec![change], reply);
        answer
    }

    /// One step of the container's purge; returns whether more steps are needed.
    pub(crate) fn purge(&self) -> Result<bool, Failure> {
        let (reply, answer) = channel();
        self.store
            .submit_purge(NUMBER, Box::new(move |result| reply.send(result).unwrap()));
        answer.recv().unwrap()
    }
}

fn key() -> PartitionKey {
    PartitionKey::parse_header(r#"["a"]"#).unwrap()
}

/// An item of the only logical partition; `properties` begin with a comma.
pub(crate) fn item(id: &str, properties: &str) -> String {
    format!(r#"{{"id":"{id}","p":"a"{properties}}}"#)
}

pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}
