//! The operations of a script: one snapshot, its own writes above it, one record or none.
//!
//! A script runs on a thread of its own while others commit. Its operations go through the code of
//! every transaction, one at a time over an overlay of its own, and their results are final unless
//! somebody else changes the logical partition meanwhile: then the commit is refused, and the
//! script has to run again. Versions are tagged by the snapshot, because scripts see their tags; they
//! get the place of their record when it has one.

use std::sync::Arc;

use bytes::Bytes;
use orrery_keys::PartitionKey;
use orrery_model::{Failure, Lsn, Operation, OperationOutcome};
use orrery_regions::{RegionId, Sequence, Stamp};
use orrery_storage::Snapshot;

use crate::committer::internal;
use crate::counters::counters_key;
use crate::index_state::IndexStates;
use crate::overlay::{Base, Overlay};
use crate::prepare::Place;
use crate::scan::ScanRange;
use crate::spaces::{DOCUMENTS, META};
use crate::stored::StoredItem;
use crate::transaction::{Changes, ItemNumbers, Run, Stop};
use crate::watches::{Watch, Watches};
use crate::{Container, Counters, Error, LogicalPartition, Partition, View, prepare};

/// What a script reads and has written so far.
pub struct ScriptTransaction {
    container: Arc<Container>,
    partition: Arc<Partition>,
    logical: LogicalPartition,
    key: PartitionKey,
    now_seconds: u64,
    read_factor: f64,
    snapshot: Arc<Snapshot>,
    overlay: Overlay<'static>,
    states: IndexStates,
    counters: Counters,
    changes: Changes,
    watch: Watch,
    region: Option<RegionId>,
}

/// Where and when a script runs.
#[derive(Debug, Clone)]
pub struct ScriptPlace {
    pub container: Arc<Container>,
    pub key: PartitionKey,
    pub now_seconds: u64,
    /// What the consistency level multiplies reads with.
    pub read_factor: f64,
}

/// The writes of a script that ended well.
pub struct ScriptCommit {
    pub(crate) container: Arc<Container>,
    pub(crate) partition: Arc<Partition>,
    /// Of the logical partition.
    pub(crate) prefix: Bytes,
    pub(crate) now_seconds: u64,
    pub(crate) changes: Changes,
    pub(crate) watch: Watch,
    /// The item whose conflict it settles, as the hub.
    pub(crate) settles: Option<Bytes>,
}

impl ScriptTransaction {
    pub(crate) fn begin(
        place: ScriptPlace,
        watches: &Arc<Watches>,
        region: Option<RegionId>,
        snapshot: impl FnOnce() -> Snapshot,
    ) -> Result<ScriptTransaction, Error> {
        let ScriptPlace {
            container,
            key,
            now_seconds,
            read_factor,
        } = place;
        let logical = container.logical_partition(&key);
        let partition = Arc::clone(container.partition_of(&logical));
        // In this order: what the snapshot does not have marks the watch.
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
            states: IndexStates::default(),
            counters: Counters {
                lsn: Lsn(before.lsn.0 + 1),
                ..before
            },
            changes: Changes {
                versions: Some(Vec::new()),
                ..Changes::default()
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

    /// Bytes of the documents written so far, and of their keys.
    pub fn written_bytes(&self) -> usize {
        self.changes.bytes
    }

    /// Whether somebody changed the logical partition meanwhile, so that nothing can be committed.
    pub fn is_overtaken(&self) -> bool {
        self.watch.is_marked()
    }

    /// Carries out one operation. One that is refused changes nothing.
    pub fn carry_out(&mut self, operation: Operation) -> Result<OperationOutcome, Failure> {
        let place = Place {
            container: &self.container,
            key: &self.key,
            logical: &self.logical,
            now_seconds: self.now_seconds,
        };
        let prepared = prepare(place, operation)?;
        let savepoint = self.overlay.savepoint();
        let (counters, count, bytes) = (self.counters, self.changes.list.len(), self.changes.bytes);
        let mut run = Run {
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
            items: ItemNumbers::Taken,
            stamp: self.region.map(|origin| Stamp {
                origin,
                sequence: Sequence::ZERO,
            }),
        };
        let result = run.operation(prepared);
        (self.counters, self.changes) = (run.counters, run.changes);
        let failure = match result {
            Ok(outcome) => return Ok(outcome),
            Err(Stop::Refused(failure)) => failure,
            Err(Stop::Broken(error)) => internal(&error),
        };
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

    /// The logical partition as the script sees it. With writes of its own in it there is no index.
    pub fn view(&self) -> View {
        let view = self.snapshot_view();
        if self.has_writes() {
            view.with_pending(self.overlay.pending_documents())
        } else {
            view
        }
    }

    /// The logical partition as it was before the script.
    pub fn snapshot_view(&self) -> View {
        let scope = ScanRange::of_logical_partition(&self.logical);
        View::new(
            Arc::clone(&self.snapshot),
            &self.container,
            &scope,
            self.now_seconds,
        )
    }

    /// What is left to commit; none if nothing was written.
    pub fn finish(self) -> Option<ScriptCommit> {
        self.has_writes().then_some(ScriptCommit {
            container: self.container,
            partition: self.partition,
            prefix: self.logical.prefix_bytes(),
            now_seconds: self.now_seconds,
            changes: self.changes,
            watch: self.watch,
            settles: None,
        })
    }

    /// What is left to commit of a run that settles the conflict of an item, whatever it wrote.
    pub fn finish_settling(self, item: Bytes) -> ScriptCommit {
        ScriptCommit {
            container: self.container,
            partition: self.partition,
            prefix: self.logical.prefix_bytes(),
            now_seconds: self.now_seconds,
            changes: self.changes,
            watch: self.watch,
            settles: Some(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use orrery_json::parse;
    use orrery_keys::{ContainerRid, DatabaseRid, EpkRange};
    use orrery_model::{ContainerDefinition, Document, OperationKind, RangeId, Stamp};

    use super::*;
    use crate::{Durability, ItemTransaction, Seen, Store, StoreOptions, policy_change};

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
                seen: Seen::Durable,
                multi_write: None,
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

        fn place(&self, key: &str) -> ScriptPlace {
            ScriptPlace {
                container: Arc::clone(&self.container),
                key: PartitionKey::parse_header(&format!(r#"["{key}"]"#)).unwrap(),
                now_seconds: 1_000,
                read_factor: 1.0,
            }
        }

        fn begin(&self, key: &str) -> ScriptTransaction {
            self.store.begin_script(self.place(key)).unwrap()
        }

        fn commit(&self, transaction: ScriptTransaction) -> Result<Stamp, Failure> {
            let (reply, answer) = channel();
            let reply = Box::new(move |result| reply.send(result).unwrap());
            self.store
                .submit_script(transaction.finish().unwrap(), reply);
            answer.recv().unwrap()
        }

        /// A write that is no script's.
        fn write(&self, key: &str, operation: Operation) {
            let ScriptPlace { key, .. } = self.place(key);
            let logical = self.container.logical_partition(&key);
            let place = Place {
                container: &self.container,
                key: &key,
                logical: &logical,
                now_seconds: 1_000,
            };
            let transaction = ItemTransaction {
                operations: vec![prepare(place, operation).unwrap()],
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
        // A container that is gone takes nothing more.
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

    /// What a view shows from a place on, by id and entity tag.
    fn shown(view: &View, from: Option<&[u8]>) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        let show = &mut |scanned: crate::Scanned<'_>| {
            let id = String::from_utf8(scanned.id.to_vec()).unwrap();
            shown.push((id, scanned.item.etag().into_string()));
            crate::Visit::Taken
        };
        view.documents(from, show).unwrap();
        shown
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
        let stored = shown(&script.view(), None);
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
        assert_eq!(shown(&view, None), expected);
        // From any place on, also from one that is stored no more.
        for number in 0..50 {
            let key = script.logical.document_key(&format!("{number:02}"));
            let place = &key[crate::document_key::CONTAINER_BYTES..];
            let rest = expected
                .iter()
                .filter(|(id, _)| *id >= format!("{number:02}"));
            let rest: Vec<_> = rest.cloned().collect();
            assert_eq!(shown(&view, Some(place)), rest);
            let item = view.document(place).unwrap();
            let is_there = expected.iter().any(|(id, _)| *id == format!("{number:02}"));
            assert_eq!(item.is_some(), is_there);
        }
        // The commit leaves exactly that.
        drop(view);
        world.commit(script).unwrap();
        assert_eq!(shown(&world.begin("a").view(), None), expected);
        assert_eq!(shown(&world.begin("b").view(), None).len(), 40);
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
        let show = &mut |scanned: crate::Scanned<'_>| {
            seen.push((scanned.id.to_vec(), Some(scanned.item.etag()) == after));
            crate::Visit::Taken
        };
        view.documents(None, show).unwrap();
        assert_eq!(seen, [(b"1".to_vec(), true)]);
    }
}
