//! The operations that the sender of a request may carry out on the items of one container.

use std::sync::Arc;

use orrery_engine::{
    ChangesPage, ChangesRequest, CompiledQuery, Conflict, ConflictsPage, Container, Engine,
    Executed, FeedPage, FeedRequest, Partition, ProcedureRequest, QueryText, ReadTerms, Scope,
    Terms, Triggers, Written,
};
use orrery_keys::{ItemRid, PartitionKey};
use orrery_model::{
    Answer, Document, Failure, GoneKind, Operation, OperationOutcome, Precondition, RangeId,
    Script, Stamp,
};
use orrery_wire::{Grant, Selection};

use super::area::{covered_area, covered_key};
use super::{Area, Authority, Key, item_grant};

/// Results of the operations of a batch, in their order.
type Outcomes = Vec<Result<OperationOutcome, Failure>>;

#[derive(Clone, Copy)]
pub(crate) struct Reach<'x> {
    authority: &'x Authority<'x>,
    engine: &'x Arc<Engine>,
    container: &'x Arc<Container>,
}

impl Authority<'_> {
    /// Checks nothing: the request called [`Authority::check_container`] when it found the
    /// container.
    pub(crate) fn reach<'x>(
        &'x self,
        engine: &'x Arc<Engine>,
        container: &'x Arc<Container>,
    ) -> Reach<'x> {
        Reach {
            authority: self,
            engine,
            container,
        }
    }

    /// The partition that the headers address, to be named in an answer. It opens nothing.
    pub(crate) fn addressed_partition(&self, container: &Container) -> Option<Stamp> {
        let key = self.selection.partition_key().ok().flatten()?;
        container.definition.key().check_complete(&key).ok()?;
        let partition = container.partition_of(&container.logical_partition(&key));
        Some(partition.stamp())
    }
}

impl<'x> Reach<'x> {
    fn selection(&self) -> &'x Selection<'x> {
        &self.authority.selection
    }

    pub(super) fn grant(&self) -> Option<&'x Grant> {
        self.authority.grant()
    }

    /// The key that the request names.
    pub(crate) fn key(&self) -> Result<Key, Failure> {
        self.named_key()?.ok_or(Failure::PartitionKeyMissing)
    }

    pub(crate) fn named_key(&self) -> Result<Option<Key>, Failure> {
        let named = self.selection().partition_key()?;
        named.map(|key| covered_key(self.grant(), key)).transpose()
    }

    /// The partition key for a new document: the key in the headers, or, if the client sent none
    /// there, the key in the document.
    pub(crate) fn key_for(&self, document: &Document) -> Result<Key, Failure> {
        if let Some(key) = self.named_key()? {
            return Ok(key);
        }
        let definition = self.container.definition.key();
        let key = definition.extract(document.value()).map_err(|error| {
            Failure::BadRequest(format!("One of the input values is invalid. {error}."))
        })?;
        covered_key(self.grant(), key)
    }

    /// The key of an operation in a bulk request: its own, or the request's.
    pub(crate) fn operation_key(
        &self,
        own: Option<PartitionKey>,
        named: Option<&Key>,
    ) -> Result<Key, Failure> {
        match own {
            Some(key) => covered_key(self.grant(), key),
            None => named.cloned().ok_or(Failure::PartitionKeyMissing),
        }
    }

    /// What a feed or a query may read of what the request selects.
    pub(crate) fn area(
        &self,
        query: Option<&CompiledQuery>,
        enable_cross_partition: bool,
    ) -> Result<Area, Failure> {
        covered_area(
            self.grant(),
            self.selection(),
            self.container,
            query,
            enable_cross_partition,
        )
    }

    /// The physical partition that the request names, if it is still there.
    pub(crate) fn named_range(&self) -> Result<Option<RangeId>, Failure> {
        let range = self.selection().range()?;
        if let Some(range) = range {
            self.container
                .partition(range)
                .ok_or(Failure::Gone(GoneKind::PartitionKeyRange))?;
        }
        Ok(range)
    }

    /// Whether a complete key has its items in another physical partition.
    pub(crate) fn is_outside(&self, key: &Key, range: RangeId) -> bool {
        let container = self.container;
        let is_complete = container.definition.key().check_complete(&key.0).is_ok();
        let partition = || container.partition_of(&container.logical_partition(&key.0));
        is_complete && partition().id != range
    }

    /// The physical partition that a request for one partition key names as well. The Go SDK sends
    /// a query for one key to every physical partition, so those without the key must answer with
    /// no items. A physical partition that no longer exists is ignored, because the partition key
    /// alone determines the items.
    pub(crate) fn named_beside_a_key(&self, area: &Area) -> Result<Option<&'x Partition>, Failure> {
        let (Scope::Key(_), Some(range)) = (&area.0, self.selection().range()?) else {
            return Ok(None);
        };
        let mut partitions = self.container.partitions.iter();
        let named = partitions.find(|partition| partition.id == range);
        Ok(named.map(AsRef::as_ref))
    }

    pub(crate) fn partitions_of(&self, area: &Area) -> Result<Vec<Arc<Partition>>, Failure> {
        Engine::partitions_of(self.container, &area.0)
    }

    pub(crate) fn compile(&self, query: &QueryText) -> Result<Arc<CompiledQuery>, Failure> {
        self.engine.compile(query, self.container)
    }

    pub(crate) async fn feed(
        &self,
        area: Area,
        request: impl FnOnce(Scope) -> FeedRequest,
    ) -> Answer<FeedPage> {
        self.engine.feed(self.container, request(area.0)).await
    }

    pub(crate) async fn changes(
        &self,
        area: Area,
        request: impl FnOnce(Scope) -> ChangesRequest,
    ) -> Answer<ChangesPage> {
        self.engine.changes(self.container, request(area.0)).await
    }

    pub(crate) fn conflicts(
        &self,
        area: &Area,
        items_max: usize,
        continuation: Option<&str>,
    ) -> Result<ConflictsPage, Failure> {
        let engine = self.engine;
        engine.conflicts(self.container, &area.0, items_max, continuation)
    }

    pub(crate) fn conflict(&self, key: &Key, id: &str) -> Result<Conflict, Failure> {
        self.engine.conflict(self.container, &key.0, id)
    }

    pub(crate) async fn delete_conflict(&self, key: &Key, id: &str) -> Result<(), Failure> {
        self.engine
            .delete_conflict(self.container, &key.0, id)
            .await
    }

    pub(crate) async fn item_id(&self, key: &Key, rid: ItemRid) -> Result<String, Failure> {
        if let Some(items) = self.grant().and_then(Grant::items) {
            item_grant::check_rid(items, rid)?;
        }
        let key = key.0.clone();
        self.engine.item_id(self.container, key, rid).await
    }

    pub(crate) fn read_item(
        &self,
        key: &Key,
        id: &str,
        if_none_match: Option<&Precondition>,
        terms: ReadTerms,
    ) -> Answer<OperationOutcome> {
        if let Some(items) = self.grant().and_then(Grant::items) {
            return item_grant::read(self, items, key, id, if_none_match, terms);
        }
        self.read_any_item(key, id, if_none_match, terms)
    }

    /// Reads an item without the check of a grant for single items: for such a grant the caller
    /// must compare the resource id of the item that comes back.
    pub(super) fn read_any_item(
        &self,
        key: &Key,
        id: &str,
        if_none_match: Option<&Precondition>,
        terms: ReadTerms,
    ) -> Answer<OperationOutcome> {
        let (engine, container) = (self.engine, self.container);
        engine.read_item(container, &key.0, id, if_none_match, terms)
    }

    pub(crate) async fn write_item(
        &self,
        key: Key,
        operation: Operation,
        triggers: &Triggers,
        terms: Terms,
    ) -> Answer<Written> {
        if let Some(items) = self.grant().and_then(Grant::items) {
            return item_grant::write(self, items, key, operation, triggers, terms).await;
        }
        self.write_any_item(key, operation, triggers, terms).await
    }

    /// Writes an item without the check of a grant for single items: for such a grant the caller
    /// must have found that the item is a granted one, and must make its entity tag the
    /// precondition.
    pub(super) async fn write_any_item(
        &self,
        key: Key,
        operation: Operation,
        triggers: &Triggers,
        terms: Terms,
    ) -> Answer<Written> {
        let (engine, container) = (self.engine, self.container);
        engine
            .write_item_with_triggers(container, key.0, operation, triggers, terms)
            .await
    }

    pub(crate) async fn transact(
        &self,
        key: Key,
        operations: Vec<Result<Operation, Failure>>,
        terms: Terms,
    ) -> Answer<Outcomes> {
        let (engine, container) = (self.engine, self.container);
        engine.transact(container, key.0, operations, terms).await
    }

    pub(crate) async fn bulk(
        &self,
        operations: Vec<(Key, Operation)>,
        terms: Terms,
        stop_at_failure: bool,
    ) -> Vec<Answer<OperationOutcome>> {
        let operations = operations.into_iter();
        let operations = operations.map(|(key, operation)| (key.0, operation));
        let (engine, container) = (self.engine, self.container);
        engine
            .bulk(container, operations.collect(), terms, stop_at_failure)
            .await
    }

    pub(crate) async fn delete_items(&self, key: Key, terms: Terms) -> Answer<()> {
        let (engine, container) = (self.engine, self.container);
        engine.delete_partition_key(container, key.0, terms).await
    }

    pub(crate) async fn execute(
        &self,
        script: &Script,
        key: Key,
        request: impl FnOnce(PartitionKey) -> ProcedureRequest,
    ) -> Answer<Executed> {
        let (engine, container) = (self.engine, self.container);
        engine.execute(container, script, request(key.0)).await
    }
}
