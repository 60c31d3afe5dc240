//! The operations of a script: one snapshot, the script's own writes over it, and at most one
//! record.
//!
//! A script runs on a thread of its own while other transactions commit. Its operations use the
//! same code as every transaction, one at a time over an overlay of the script. Their results are
//! final unless another transaction changes the logical partition meanwhile: then the commit is
//! rejected, and the script has to run again. The entity tags of the script's versions are computed
//! from the snapshot, because the script may read them; the versions get the position of their
//! record at the commit.

use std::sync::Arc;

use bytes::Bytes;
use orrery_keys::PartitionKey;
use orrery_model::{Failure, Lsn, Operation, OperationOutcome};
use orrery_regions::{RegionId, Sequence, VersionId};
use orrery_storage::Snapshot;

use crate::committer::internal;
use crate::counters::counters_key;
use crate::index_state::IndexStateCache;
use crate::keyspaces::{DOCUMENTS, META};
use crate::overlay::{Base, Overlay};
use crate::prepare::OperationContext;
use crate::scan::ScanRange;
use crate::stored_item::StoredItem;
use crate::transaction::{RidSource, TransactionChanges, TransactionError, TransactionExecutor};
use crate::watches::{Watch, Watches};
use crate::{Container, Counters, Error, LogicalPartition, Partition, View, prepare};

/// The state of a running script.
pub struct ScriptTransaction {
    container: Arc<Container>,
    partition: Arc<Partition>,
    logical: LogicalPartition,
    key: PartitionKey,
    now_seconds: u64,
    read_factor: f64,
    snapshot: Arc<Snapshot>,
    overlay: Overlay<'static>,
    states: IndexStateCache,
    counters: Counters,
    changes: TransactionChanges,
    watch: Watch,
    region: Option<RegionId>,
}

/// The target and the time of a script.
#[derive(Debug, Clone)]
pub struct ScriptContext {
    pub container: Arc<Container>,
    pub key: PartitionKey,
    pub now_seconds: u64,
    /// The factor by which the consistency level multiplies the charge of reads.
    pub read_factor: f64,
}

/// The writes of a successful script.
pub struct ScriptCommit {
    pub(crate) container: Arc<Container>,
    pub(crate) partition: Arc<Partition>,
    /// The key prefix of the logical partition.
    pub(crate) prefix: Bytes,
    pub(crate) now_seconds: u64,
    pub(crate) changes: TransactionChanges,
    pub(crate) watch: Watch,
    /// The item whose conflict the script decides, as the hub.
    pub(crate) resolves: Option<Bytes>,
}

impl ScriptTransaction {
    pub(crate) fn begin(
        context: ScriptContext,
        watches: &Arc<Watches>,
        region: Option<RegionId>,
        snapshot: impl FnOnce() -> Snapshot,
    ) -> Result<ScriptTransaction, Error> {
        let ScriptContext {
            container,
            key,
            now_seconds,
            read_factor,
        } = context;
        let logical = container.logical_partition(&key);
        let partition = Arc::clone(container.partition_of(&logical));
        // The watch begins before the snapshot: a change that the snapshot lacks marks the watch.
        let watch = watches.watch(logical.prefix_bytes());
        let snapshot = Arc::new(snapshot());
        let row = snapshot.get(META, &counters_key(container.rid.id(), partition.id))?;
        let before = row.map_or(Ok(Counters::default()), |row| Counters::decode(&row))?;
        Ok(ScriptTransaction {
            container,
            partition,
            logical,
            key,
            now_seconds,
            read_factor,
            overlay: Overlay::over(Base::Snapshot(Arc::clone(&snapshot))),
            snapshot,
            states: IndexStateCache::default(),
            counters: Counters {
                lsn: Lsn(before.lsn.0 + 1),
                ..before
            },
            changes: TransactionChanges {
                versions: Some(Vec::new()),
                ..TransactionChanges::default()
            },
            watch,
            region,
        })
    }

    pub fn container(&self) -> &Arc<Container> {
        &self.container
    }

    pub fn has_writes(&self) -> bool {
        !self.changes.list.is_empty()
    }

    /// Bytes of the written documents and of their keys.
    pub fn written_bytes(&self) -> usize {
        self.changes.bytes
    }

    /// Whether another transaction changed the logical partition, so that the script cannot commit.
    pub fn is_overtaken(&self) -> bool {
        self.watch.is_marked()
    }

    /// Runs one operation. A rejected operation changes nothing.
    pub fn carry_out(&mut self, operation: Operation) -> Result<OperationOutcome, Failure> {
        let context = OperationContext {
            container: &self.container,
            key: &self.key,
            logical: &self.logical,
            now_seconds: self.now_seconds,
        };
        let prepared = prepare(context, operation)?;
        let savepoint = self.overlay.savepoint();
        let (counters, count, bytes) = (self.counters, self.changes.list.len(), self.changes.bytes);
        let mut run = TransactionExecutor {
            container: &self.container,
            partition: &self.partition,
            logical: &self.logical,
            key: &self.key,
            now_seconds: self.now_seconds,
            read_factor: self.read_factor,
            overlay: &mut self.overlay,
            states: &mut self.states,
            counters,
            changes: std::mem::take(&mut self.changes),
            items: RidSource::Reserved,
            version_id: self.region.map(|origin| VersionId {
                origin,
                sequence: Sequence::ZERO,
            }),
        };
        let result = run.operation(prepared);
        (self.counters, self.changes) = (run.counters, run.changes);
        let failure = match result {
            Ok(outcome) => return Ok(outcome),
            Err(TransactionError::Refused(failure)) => failure,
            Err(TransactionError::Broken(error)) => internal(&error),
        };
        // A script may catch the error and continue, so the rejected operation must leave no trace.
        self.overlay.roll_back(savepoint);
        self.counters = counters;
        self.changes.bytes = bytes;
        self.changes.list.truncate(count);
        self.changes
            .expired
            .retain(|ordinal| usize::from(*ordinal) < count);
        if let Some(versions) = &mut self.changes.versions {
            versions.truncate(count);
        }
        Err(failure)
    }

    /// The visible version of a document.
    pub fn item(&self, id: &str) -> Result<Option<StoredItem>, Failure> {
        let read = || -> Result<Option<StoredItem>, Error> {
            let bytes = self
                .overlay
                .get(DOCUMENTS, &self.logical.document_key(id))?;
            let item = bytes.map(StoredItem::decode).transpose()?;
            let ttl = self.container.default_ttl();
            Ok(item.filter(|item| item.is_visible(ttl, self.now_seconds)))
        };
        read().map_err(|error| internal(&error))
    }

    /// The logical partition as the script sees it. With writes of the script in it, the view has
    /// no index.
    pub fn view(&self) -> View {
        let view = self.snapshot_view();
        if self.has_writes() {
            view.with_pending(self.overlay.pending_documents())
        } else {
            view
        }
    }

    /// The logical partition before the writes of the script.
    pub fn snapshot_view(&self) -> View {
        let scope = ScanRange::of_logical_partition(&self.logical);
        View::new(
            Arc::clone(&self.snapshot),
            &self.container,
            &scope,
            self.now_seconds,
        )
    }

    /// The writes to commit; `None` if the script wrote nothing.
    pub fn finish(self) -> Option<ScriptCommit> {
        self.has_writes().then_some(ScriptCommit {
            container: self.container,
            partition: self.partition,
            prefix: self.logical.prefix_bytes(),
            now_seconds: self.now_seconds,
            changes: self.changes,
            watch: self.watch,
            resolves: None,
        })
    }

    /// The writes to commit for a script that decides the conflict of an item, even without a
    /// write.
    pub fn finish_resolving(self, item: Bytes) -> ScriptCommit {
        ScriptCommit {
            container: self.container,
            partition: self.partition,
            prefix: self.logical.prefix_bytes(),
            now_seconds: self.now_seconds,
            changes: self.changes,
            watch: self.watch,
            resolves: Some(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use orrery_json::parse;
    use orrery_keys::{ContainerRid, DatabaseRid, EpkRange};
    use orrery_model::{ContainerDefinition, Document, OperationKind, PartitionLsn, RangeId};

    use super::*;
    use crate::{ApplyAfter, Durability, ItemTransaction, Store, StoreOptions, policy_change};

    struct World {
        store: Store,
        container: Arc<Container>,
    }

    impl World {
        fn new() -> World {
            let options = StoreOptions {
                directory: None,
                durability: Durability::None,
                cache_bytes: 0,
                apply_after: ApplyAfter::Durable,
                multi_write: None,
                maintenance: crate::MaintenanceOptions::default(),
            };
            let store = Store::open(&options).unwrap();
            let definition = br#"{"id":"c","partitionKey":{"paths":["/p"]}}"#;
            let definition = ContainerDefinition::parse(&parse(definition).unwrap()).unwrap();
            let partition = Partition::new(RangeId(0), EpkRange::full(), Counters::default());
            let rid = ContainerRid::new(DatabaseRid::new(1), 1);
            let partitions = vec![Arc::new(partition)];
            let container = Container::new(rid, definition, partitions, String::new());
            let (reply, answer) = channel();
            let change = policy_change(&container, true);
            let reply = Box::new(move |result| reply.send(result).unwrap());
            store.submit_catalogue(vec![change], reply);
            answer.recv().unwrap().unwrap();
            let container = Arc::new(container);
            World { store, container }
        }

        fn context(&self, key: &str) -> ScriptContext {
            ScriptContext {
                container: Arc::clone(&self.container),
                key: PartitionKey::parse_header(&format!(r#"["{key}"]"#)).unwrap(),
                now_seconds: 1_000,
                read_factor: 1.0,
            }
        }

        fn begin(&self, key: &str) -> ScriptTransaction {
            self.store.begin_script(self.context(key)).unwrap()
        }

        fn commit(&self, transaction: ScriptTransaction) -> Result<PartitionLsn, Failure> {
            let (reply, answer) = channel();
            let reply = Box::new(move |result| reply.send(result).unwrap());
            self.store
                .submit_script(transaction.finish().unwrap(), reply);
            answer.recv().unwrap()
        }

        /// A write outside of any script.
        fn write(&self, key: &str, operation: Operation) {
            let ScriptContext { key, .. } = self.context(key);
            let logical = self.container.logical_partition(&key);
            let context = OperationContext {
                container: &self.container,
                key: &key,
                logical: &logical,
                now_seconds: 1_000,
            };
            let transaction = ItemTransaction {
                operations: vec![prepare(context, operation).unwrap()],
                container: Arc::clone(&self.container),
                partition: Arc::clone(&self.container.partitions[0]),
                logical: logical.clone(),
                key: key.clone(),
                now_seconds: 1_000,
                read_factor: 1.0,
            };
            let (reply, answer) = channel();
            let reply = Box::new(move |outcome| reply.send(outcome).unwrap());
            self.store.submit(transaction, reply);
            let outcome = answer.recv().unwrap();
            assert!(outcome.results.iter().all(Result::is_ok), "{outcome:?}");
        }
    }

    fn upsert(id: &str, key: &str) -> Operation {
        let text = format!(r#"{{"id":"{id}","p":"{key}"}}"#);
        let document = Document::parse(text.as_bytes()).unwrap();
        Operation::new(OperationKind::Upsert(document))
    }

    fn read(id: &str) -> Operation {
        Operation::new(OperationKind::Read { id: id.to_owned() })
    }

    #[test]
    fn whoever_changes_the_same_logical_partition_is_a_conflict() {
        let world = World::new();
        world.write("a", upsert("1", "a"));
        for (other, is_conflict) in [("a", true), ("b", false)] {
            let mut script = world.begin("a");
            script.carry_out(upsert("2", "a")).unwrap();
            world.write(other, upsert("3", other));
            assert_eq!(script.is_overtaken(), is_conflict);
            let committed = world.commit(script);
            assert_eq!(committed.is_err(), is_conflict, "{committed:?}");
            if is_conflict {
                assert_eq!(committed, Err(Failure::RetryWith));
                assert!(world.begin("a").item("2").unwrap().is_none());
            }
        }
        assert!(world.begin("a").item("2").unwrap().is_some());
        assert_eq!(world.container.partitions[0].counters().lsn, Lsn(4));
        // A deleted container rejects writes.
        let mut script = world.begin("a");
        script.carry_out(upsert("4", "a")).unwrap();
        world
            .container
            .alive
            .store(false, std::sync::atomic::Ordering::Release);
        assert_eq!(world.commit(script), Err(Failure::NOT_FOUND));
    }

    fn delete(id: &str) -> Operation {
        Operation::new(OperationKind::Delete { id: id.to_owned() })
    }

    /// The documents of a view from a key position on, by id and entity tag.
    fn items_of(view: &View, from: Option<&[u8]>) -> Vec<(String, String)> {
        let mut items = Vec::new();
        let collect = &mut |scanned: crate::ScannedItem<'_>| {
            let id = String::from_utf8(scanned.id.to_vec()).unwrap();
            items.push((id, scanned.item.etag().into_string()));
            crate::Visit::Taken
        };
        view.documents(from, collect).unwrap();
        items
    }

    #[test]
    fn a_view_shows_stored_and_pending_documents_in_one_order() {
        let world = World::new();
        for number in 0..40 {
            let id = format!("{:02}", number * 7 % 40);
            if number % 3 != 0 {
                world.write("a", upsert(&id, "a"));
            }
            world.write("b", upsert(&id, "b"));
        }
        let mut script = world.begin("a");
        let stored = items_of(&script.view(), None);
        let mut expected: std::collections::BTreeMap<_, _> = stored.into_iter().collect();
        for number in 0..60 {
            let id = format!("{:02}", number * 11 % 50);
            let result = if number % 4 == 0 {
                script.carry_out(delete(&id))
            } else {
                script.carry_out(upsert(&id, "a"))
            };
            match result.map(|outcome| outcome.etag) {
                Ok(Some(etag)) => drop(expected.insert(id, etag.into_string())),
                Ok(None) => assert!(expected.remove(&id).is_some()),
                Err(failure) => assert_eq!(failure, Failure::NOT_FOUND),
            }
        }
        let expected: Vec<_> = expected.into_iter().collect();
        let view = script.view();
        assert_eq!(items_of(&view, None), expected);
        // From any key position, including the position of a deleted document.
        for number in 0..50 {
            let key = script.logical.document_key(&format!("{number:02}"));
            let key_position = &key[crate::document_key::CONTAINER_BYTES..];
            let rest = expected
                .iter()
                .filter(|(id, _)| *id >= format!("{number:02}"));
            let rest: Vec<_> = rest.cloned().collect();
            assert_eq!(items_of(&view, Some(key_position)), rest);
            let item = view.document(key_position).unwrap();
            let is_there = expected.iter().any(|(id, _)| *id == format!("{number:02}"));
            assert_eq!(item.is_some(), is_there);
        }
        // The commit produces exactly these documents.
        drop(view);
        world.commit(script).unwrap();
        assert_eq!(items_of(&world.begin("a").view(), None), expected);
        assert_eq!(items_of(&world.begin("b").view(), None).len(), 40);
    }

    #[test]
    fn a_snapshot_does_not_see_what_comes_later() {
        let world = World::new();
        world.write("a", upsert("1", "a"));
        let mut script = world.begin("a");
        world.write("a", upsert("2", "a"));
        assert_eq!(script.carry_out(read("2")).unwrap_err(), Failure::NOT_FOUND);
        let before = script.carry_out(read("1")).unwrap().etag;
        let after = script.carry_out(upsert("1", "a")).unwrap().etag;
        assert_ne!(before, after);
        let mut seen = Vec::new();
        let view = script.view();
        let collect = &mut |scanned: crate::ScannedItem<'_>| {
            seen.push((scanned.id.to_vec(), Some(scanned.item.etag()) == after));
            crate::Visit::Taken
        };
        view.documents(None, collect).unwrap();
        assert_eq!(seen, [(b"1".to_vec(), true)]);
    }
}
