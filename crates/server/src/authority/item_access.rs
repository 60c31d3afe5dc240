//! The operations on the items of one container that the sender of the request may call.

use std::sync::Arc;

use orrery_engine::{
    ChangeFeedPage, ChangeFeedRequest, CompiledQuery, Conflict, ConflictsPage, Container, Engine,
    FeedPage, FeedRequest, FeedScope, Partition, ProcedureRequest, ProcedureResponse, QueryText,
    ReadBudget, RequestBudget, TriggerNames, TriggeredOutcome,
};
use orrery_keys::{ItemRid, KeyComponent, PartitionKey};
use orrery_model::{
    ChargedResult, Document, Failure, GoneKind, Operation, OperationOutcome, PartitionLsn,
    Precondition, RangeId, Script,
};
use orrery_wire::{Grant, Selection};

use super::scope::{authorize_key, authorize_scope};
use super::{Authority, AuthorizedKey, AuthorizedScope, FormerRanges, item_grant};

/// The results of the operations of a batch, in the order of the operations.
type Outcomes = Vec<Result<OperationOutcome, Failure>>;

#[derive(Clone, Copy)]
pub(crate) struct ItemAccess<'x> {
    authority: &'x Authority<'x>,
    engine: &'x Arc<Engine>,
    container: &'x Arc<Container>,
}

impl Authority<'_> {
    /// The items of a container. This call checks nothing: the request called
    /// [`Authority::check_container`] when it found the container.
    pub(crate) fn item_access<'x>(
        &'x self,
        engine: &'x Arc<Engine>,
        container: &'x Arc<Container>,
    ) -> ItemAccess<'x> {
        ItemAccess {
            authority: self,
            engine,
            container,
        }
    }

    /// The partition that the headers address, for the headers of an answer. This value gives no
    /// access to items.
    pub(crate) fn addressed_partition(&self, container: &Container) -> Option<PartitionLsn> {
        let key = self.selection.partition_key().ok().flatten()?;
        container.definition.key().check_complete(&key).ok()?;
        let partition = container.partition_of(&container.logical_partition(&key));
        Some(partition.partition_lsn())
    }
}

impl<'x> ItemAccess<'x> {
    fn selection(&self) -> &'x Selection<'x> {
        &self.authority.selection
    }

    pub(super) fn grant(&self) -> Option<&'x Grant> {
        self.authority.grant()
    }

    /// The partition key that the request names. In a container without a partition key definition,
    /// a request without a key means the items without a key.
    pub(crate) fn key(&self) -> Result<AuthorizedKey, Failure> {
        match self.named_key()? {
            Some(key) => Ok(key),
            None if self.has_system_key() => authorize_key(self.grant(), PartitionKey::default()),
            None => Err(Failure::PartitionKeyMissing),
        }
    }

    fn has_system_key(&self) -> bool {
        self.container.definition.partition_key.is_system_key()
    }

    /// The partition key in the headers, if the authority covers it.
    pub(crate) fn named_key(&self) -> Result<Option<AuthorizedKey>, Failure> {
        let named = self.selection().partition_key()?;
        named
            .map(|key| authorize_key(self.grant(), key))
            .transpose()
    }

    /// The partition key of a new document: the key in the headers or, without such a header, the
    /// key in the document.
    pub(crate) fn key_for(&self, document: &Document) -> Result<AuthorizedKey, Failure> {
        if let Some(key) = self.named_key()? {
            return Ok(key);
        }
        let key = self.container.definition.key().extract(document.value());
        let is_none = key
            .components()
            .iter()
            .all(|one| *one == KeyComponent::Undefined);
        if is_none && self.has_system_key() {
            return self.key();
        }
        authorize_key(self.grant(), key)
    }

    /// The partition key of an operation in a bulk request: its own key, or the key of the request.
    pub(crate) fn operation_key(
        &self,
        own: Option<PartitionKey>,
        named: Option<&AuthorizedKey>,
    ) -> Result<AuthorizedKey, Failure> {
        match own {
            // The key in the body is checked like a key in the headers.
            Some(key) => authorize_key(self.grant(), key),
            None => named.cloned().ok_or(Failure::PartitionKeyMissing),
        }
    }

    /// The items that a feed or a query may read, out of those that the request selects.
    pub(crate) fn scope(
        &self,
        query: Option<&CompiledQuery>,
        enable_cross_partition: bool,
        former: FormerRanges,
    ) -> Result<AuthorizedScope, Failure> {
        authorize_scope(
            self.grant(),
            self.selection(),
            self.container,
            query,
            // Old clients know no partition keys, so they never enable queries across partition
            // keys.
            enable_cross_partition || self.has_system_key(),
            former,
        )
    }

    /// The physical partition that the request names. Fails if this partition has been split or
    /// merged.
    pub(crate) fn named_range(&self) -> Result<Option<RangeId>, Failure> {
        let range = self.selection().range()?;
        if let Some(range) = range {
            self.container
                .partition(range)
                .ok_or(Failure::Gone(GoneKind::PartitionKeyRange))?;
        }
        Ok(range)
    }

    /// Whether the items of a complete partition key are in another physical partition than
    /// `range`.
    pub(crate) fn is_outside(&self, key: &AuthorizedKey, range: RangeId) -> bool {
        let container = self.container;
        let is_complete = container.definition.key().check_complete(&key.0).is_ok();
        let partition = || container.partition_of(&container.logical_partition(&key.0));
        is_complete && partition().id != range
    }

    /// The physical partition that a request names in addition to one partition key. The Go SDK
    /// sends a query for one key to every physical partition, so the partitions without the key
    /// must answer with no items. A physical partition that no longer exists is ignored, because
    /// the partition key alone determines the items.
    pub(crate) fn named_beside_a_key(
        &self,
        scope: &AuthorizedScope,
    ) -> Result<Option<&'x Partition>, Failure> {
        let (FeedScope::Key(_), Some(range)) = (&scope.0, self.selection().range()?) else {
            return Ok(None);
        };
        let mut partitions = self.container.partitions.iter();
        let named = partitions.find(|partition| partition.id == range);
        Ok(named.map(AsRef::as_ref))
    }

    /// The physical partitions that a scope reads.
    pub(crate) fn partitions_of(
        &self,
        scope: &AuthorizedScope,
    ) -> Result<Vec<Arc<Partition>>, Failure> {
        Engine::partitions_of(self.container, &scope.0)
    }

    /// Compiles a query for the container. The engine caches compiled queries by their text.
    pub(crate) fn compile(&self, query: &QueryText) -> Result<Arc<CompiledQuery>, Failure> {
        self.engine.compile(query, self.container)
    }

    pub(crate) async fn feed(
        &self,
        scope: AuthorizedScope,
        request: impl FnOnce(FeedScope) -> FeedRequest,
    ) -> ChargedResult<FeedPage> {
        self.engine.feed(self.container, request(scope.0)).await
    }

    pub(crate) async fn changes(
        &self,
        scope: AuthorizedScope,
        request: impl FnOnce(FeedScope) -> ChangeFeedRequest,
    ) -> ChargedResult<ChangeFeedPage> {
        self.engine.changes(self.container, request(scope.0)).await
    }

    pub(crate) fn conflicts(
        &self,
        scope: &AuthorizedScope,
        items_max: usize,
        continuation: Option<&str>,
    ) -> Result<ConflictsPage, Failure> {
        let engine = self.engine;
        engine.conflicts(self.container, &scope.0, items_max, continuation)
    }

    pub(crate) fn conflict(&self, key: &AuthorizedKey, id: &str) -> Result<Conflict, Failure> {
        self.engine.conflict(self.container, &key.0, id)
    }

    pub(crate) async fn delete_conflict(
        &self,
        key: &AuthorizedKey,
        id: &str,
    ) -> Result<(), Failure> {
        self.engine
            .delete_conflict(self.container, &key.0, id)
            .await
    }

    /// The id of the item with this resource id, for paths of resource ids.
    pub(crate) async fn item_id(
        &self,
        key: &AuthorizedKey,
        rid: ItemRid,
    ) -> Result<String, Failure> {
        if let Some(items) = self.grant().and_then(Grant::items) {
            item_grant::check_rid(items, rid)?;
        }
        let key = key.0.clone();
        self.engine.item_id(self.container, key, rid).await
    }

    /// Reads an item. Under a token for single items the item must be a granted one.
    pub(crate) fn read_item(
        &self,
        key: &AuthorizedKey,
        id: &str,
        if_none_match: Option<&Precondition>,
        budget: ReadBudget,
    ) -> ChargedResult<OperationOutcome> {
        if let Some(items) = self.grant().and_then(Grant::items) {
            return item_grant::read(self, items, key, id, if_none_match, budget);
        }
        self.read_any_item(key, id, if_none_match, budget)
    }

    /// Reads an item without the check of a grant for single items: for such a grant the caller
    /// must compare the resource id of the item that comes back.
    pub(super) fn read_any_item(
        &self,
        key: &AuthorizedKey,
        id: &str,
        if_none_match: Option<&Precondition>,
        budget: ReadBudget,
    ) -> ChargedResult<OperationOutcome> {
        let (engine, container) = (self.engine, self.container);
        engine.read_item(container, &key.0, id, if_none_match, budget)
    }

    /// Writes an item and runs its triggers. Under a token for single items the item must be a
    /// granted one.
    pub(crate) async fn write_item(
        &self,
        key: AuthorizedKey,
        operation: Operation,
        triggers: &TriggerNames,
        budget: RequestBudget,
    ) -> ChargedResult<TriggeredOutcome> {
        if let Some(items) = self.grant().and_then(Grant::items) {
            return item_grant::write(self, items, key, operation, triggers, budget).await;
        }
        self.write_any_item(key, operation, triggers, budget).await
    }

    /// Writes an item without the check of a grant for single items: for such a grant the caller
    /// must have found that the item is a granted one, and must make its entity tag the
    /// precondition.
    pub(super) async fn write_any_item(
        &self,
        key: AuthorizedKey,
        operation: Operation,
        triggers: &TriggerNames,
        budget: RequestBudget,
    ) -> ChargedResult<TriggeredOutcome> {
        let (engine, container) = (self.engine, self.container);
        engine
            .write_item_with_triggers(container, key.0, operation, triggers, budget)
            .await
    }

    pub(crate) async fn transact(
        &self,
        key: AuthorizedKey,
        operations: Vec<Result<Operation, Failure>>,
        budget: RequestBudget,
    ) -> ChargedResult<Outcomes> {
        let (engine, container) = (self.engine, self.container);
        engine.transact(container, key.0, operations, budget).await
    }

    /// Runs independent operations. The caller has authorized each key separately.
    pub(crate) async fn bulk(
        &self,
        operations: Vec<(AuthorizedKey, Operation)>,
        budget: RequestBudget,
        stop_at_failure: bool,
    ) -> Vec<ChargedResult<OperationOutcome>> {
        let operations = operations.into_iter();
        let operations = operations.map(|(key, operation)| (key.0, operation));
        let (engine, container) = (self.engine, self.container);
        engine
            .bulk(container, operations.collect(), budget, stop_at_failure)
            .await
    }

    /// Deletes all items of a logical partition.
    pub(crate) async fn delete_items(
        &self,
        key: AuthorizedKey,
        budget: RequestBudget,
    ) -> ChargedResult<()> {
        let (engine, container) = (self.engine, self.container);
        engine.delete_partition_key(container, key.0, budget).await
    }

    /// Runs a stored procedure in the logical partition of `key`.
    pub(crate) async fn execute(
        &self,
        script: &Script,
        key: AuthorizedKey,
        request: impl FnOnce(PartitionKey) -> ProcedureRequest,
    ) -> ChargedResult<ProcedureResponse> {
        let (engine, container) = (self.engine, self.container);
        engine.execute(container, script, request(key.0)).await
    }
}
