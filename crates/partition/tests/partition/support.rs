//! A store with one container, and short ways to say what to do with it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use orrery_json::parse;
use orrery_keys::{ContainerRid, DatabaseRid, EpkRange, PartitionKey};
use orrery_log::Disk;
use orrery_model::{
    ContainerDefinition, Document, Failure, Operation, OperationKind, OperationOutcome, RangeId,
};
use orrery_partition::{
    Container, Durability, ItemTransaction, Partition, Store, StoreOptions, prepare,
};

pub(crate) const NUMBER: u32 = 7;
const NOW_SECONDS: u64 = 1_800_000_000;

/// A store whose only container is partitioned by `/p`.
pub(crate) struct World {
    pub(crate) store: Store,
    container: Arc<Container>,
}

impl World {
    /// `settings` of the container begin with a comma.
    pub(crate) fn open(
        directory: &Path,
        disk: &Arc<dyn Disk>,
        durability: Durability,
        settings: &str,
    ) -> World {
        let options = StoreOptions {
            directory: Some(directory.to_owned()),
            durability,
            cache_bytes: 4 << 20,
        };
        let store = Store::open_on(&options, disk).unwrap();
        let body = format!(r#"{{"id":"c","partitionKey":{{"paths":["/p"]}}{settings}}}"#);
        let counters = store.counters(NUMBER, RangeId(0)).unwrap();
        let partition = Partition::new(RangeId(0), EpkRange::full(), counters);
        let container = Container {
            rid: ContainerRid::new(DatabaseRid::new(1), NUMBER),
            definition: ContainerDefinition::parse(&parse(body.as_bytes()).unwrap()).unwrap(),
            partitions: vec![Arc::new(partition)],
            self_link: "dbs/d/colls/c/".to_owned(),
            alive: Arc::new(AtomicBool::new(true)),
        };
        World {
            store,
            container: Arc::new(container),
        }
    }

    pub(crate) fn upsert(&self, text: &str) -> Result<OperationOutcome, Failure> {
        let document = Document::parse(text.as_bytes()).unwrap();
        let operation = Operation::new(OperationKind::Upsert(document));
        let transaction = ItemTransaction {
            container: Arc::clone(&self.container),
            partition: Arc::clone(&self.container.partitions[0]),
            logical: self.container.logical_partition(&key()),
            key: key(),
            operations: vec![prepare(&self.container, &key(), operation).unwrap()],
            now_seconds: NOW_SECONDS,
            read_factor: 1.0,
        };
        let (reply, answer) = channel();
        self.store.submit(
            transaction,
            Box::new(move |outcome| reply.send(outcome).unwrap()),
        );
        answer.recv().unwrap().results.remove(0)
    }

    /// The text of an item, if there is one.
    pub(crate) fn read(&self, id: &str) -> Option<String> {
        let logical = self.container.logical_partition(&key());
        let item = self.store.read(&self.container, &logical, id, NOW_SECONDS);
        let text = item.unwrap().map(|item| item.text().to_vec());
        text.map(|text| String::from_utf8(text).unwrap())
    }

    pub(crate) fn lsn(&self) -> u64 {
        self.container.partitions[0].counters().lsn.0
    }

    pub(crate) fn write_catalogue(&self, key: &'static str) -> Result<(), Failure> {
        let (reply, answer) = channel();
        self.store.submit_catalogue(
            vec![(key.into(), Some("{}".into()))],
            Box::new(move |result| reply.send(result).unwrap()),
        );
        answer.recv().unwrap()
    }

    /// One step of the removal of the container; whether more is left.
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

/// An item of the one logical partition; `properties` begin with a comma.
pub(crate) fn item(id: &str, properties: &str) -> String {
    format!(r#"{{"id":"{id}","p":"a"{properties}}}"#)
}
