//! The conflict feed of a container whose conflicts await a decision.
//!
//! The feed lists hidden versions. An entry follows from the version and the item alone, so every
//! region gives the same answer. A conflict ends when a client writes the item, because that write
//! has seen the version, or when a client deletes the conflict, which is a write that leaves the
//! item unchanged.

use std::sync::Arc;

use bytes::Bytes;
use orrery_json::{Value, parse};
use orrery_keys::{ChildKind, ChildRid, ItemRid, PartitionKey};
use orrery_model::{ConflictPolicy, Etag, Failure};
use orrery_partition::{ConflictDecision, Container, ScanRange, StoredConflict, StoredVersion};
use orrery_regions::{RegionId, Sequence, StreamId, VersionId};
use tokio::sync::oneshot;
use xxhash_rust::xxh3::xxh3_64;

use crate::engine::stopping_failure;
use crate::feed::scan_range;
use crate::items::check_key;
use crate::{Engine, FeedScope, continuation};

/// Layout of a conflict's counter: the region, the sequence, and bits of the item's hash.
const ORIGIN_SHIFT: u32 = 52;
const SEQUENCE_SHIFT: u32 = 12;
const SEQUENCE_BITS: u64 = (1 << (ORIGIN_SHIFT - SEQUENCE_SHIFT)) - 1;

/// One hidden version that awaits a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Resource id of the conflict; its text form is also the conflict's id.
    pub rid: ChildRid,
    pub operation: ConflictOperation,
    /// Resource id of the contested item.
    pub resource: ItemRid,
    /// The losing version as JSON text.
    pub content: Bytes,
    pub lsn: u64,
    pub modified_seconds: u64,
    pub etag: Etag,
}

/// The operation that wrote the losing version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictOperation {
    Create,
    Replace,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConflictsPage {
    pub conflicts: Vec<Conflict>,
    pub continuation: Option<String>,
}

impl Engine {
    /// Reads a page of the conflicts of a container, or of a part of the container.
    pub fn conflicts(
        &self,
        container: &Container,
        scope: &FeedScope,
        items_max: usize,
        token: Option<&str>,
    ) -> Result<ConflictsPage, Failure> {
        let (scope, _) = scan_range(container, scope)?;
        if !self.lists_conflicts(container) {
            return Ok(ConflictsPage::default());
        }
        let owner = u64::from(container.rid.id());
        let after = token
            .map(|token| continuation::read(owner, token))
            .transpose()?;
        let after = after.map(Bytes::from);
        let items_max = items_max.max(1);
        let found = self.store.conflicts(&scope, after.as_ref(), items_max)?;
        let is_full = found.len() >= items_max;
        let last = found.last().filter(|_| is_full);
        let continuation = last.map(|last| continuation::write(owner, &last.item));
        let conflicts = found.iter().flat_map(|item| listed(container, item));
        Ok(ConflictsPage {
            conflicts: conflicts.collect(),
            continuation,
        })
    }

    pub fn conflict(
        &self,
        container: &Container,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Conflict, Failure> {
        let found = self.find_conflict(container, key, id)?;
        found
            .map(|(_, _, conflict)| conflict)
            .ok_or(Failure::NOT_FOUND)
    }

    /// Decides that an item stays as it is shown, which ends all its conflicts. Deleting a conflict
    /// that has already ended succeeds: a client usually writes the item before it deletes the
    /// conflict.
    pub async fn delete_conflict(
        &self,
        container: &Arc<Container>,
        key: &PartitionKey,
        id: &str,
    ) -> Result<(), Failure> {
        self.check_writer()?;
        let Some((item, loser, _)) = self.find_conflict(container, key, id)? else {
            return self.check_was_conflict(container, id);
        };
        match self.resolve_conflict(container, item, loser).await {
            // Another decision ended the conflict between the lookup and the commit.
            Err(Failure::NotFound(_)) => self.check_was_conflict(container, id),
            other => other,
        }
    }

    pub(super) async fn resolve_conflict(
        &self,
        container: &Arc<Container>,
        item: Bytes,
        loser: VersionId,
    ) -> Result<(), Failure> {
        let decision = ConflictDecision {
            container: Arc::clone(container),
            item,
            loser,
            now_seconds: self.now_seconds(),
            is_hub: self.is_hub() || self.has_access_table(),
        };
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_resolve(decision, reply);
        let resolved = answer.await.unwrap_or_else(|_| Err(stopping_failure()));
        resolved.map(|_| ())
    }

    /// Whether losing versions wait in the conflict feed. With an access table, a losing version
    /// was acknowledged by a write region that was replaced, so the conflict policy must not drop
    /// it silently.
    pub(super) fn lists_conflicts(&self, container: &Container) -> bool {
        has_custom_resolution(container) || self.has_access_table()
    }

    fn find_conflict(
        &self,
        container: &Container,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<(Bytes, VersionId, Conflict)>, Failure> {
        let rid = ChildRid::parse(id).map_err(|_| Failure::NOT_FOUND)?;
        if !self.lists_conflicts(container) {
            return Err(Failure::NOT_FOUND);
        }
        check_key(container, key)?;
        let scope = ScanRange::of_logical_partition(&container.logical_partition(key));
        let items = self.store.conflicts(&scope, None, usize::MAX)?;
        let found = items.into_iter().find_map(|item| {
            let mut losers = item.losers.iter();
            let loser = losers.find(|loser| rid_of(container, &item.item, loser.id) == rid)?;
            let (version, conflict) = (loser.id, conflict(container, &item, loser));
            Some((item.item, version, conflict))
        });
        Ok(found)
    }

    /// Whether an id can have named a conflict of a change that this region has applied.
    fn check_was_conflict(&self, container: &Container, id: &str) -> Result<(), Failure> {
        let rid = ChildRid::parse(id).map_err(|_| Failure::NOT_FOUND)?;
        let version = version_of(rid);
        let stream = StreamId::Region(version.origin);
        let is_known = version.sequence > Sequence::ZERO
            && self.version_vector().includes(stream, version.sequence);
        if rid.kind() == ChildKind::Conflict && rid.container() == container.rid && is_known {
            Ok(())
        } else {
            Err(Failure::NOT_FOUND)
        }
    }
}

/// Whether the conflict policy of a container leaves decisions to a procedure or a client.
pub(super) fn has_custom_resolution(container: &Container) -> bool {
    matches!(container.definition.conflict, ConflictPolicy::Custom { .. })
}

fn listed<'a>(
    container: &'a Container,
    item: &'a StoredConflict,
) -> impl Iterator<Item = Conflict> + 'a {
    let losers = item.losers.iter();
    losers.map(move |loser| conflict(container, item, loser))
}

fn conflict(container: &Container, item: &StoredConflict, loser: &StoredVersion) -> Conflict {
    let document = &loser.document;
    let resource = item.visible.as_ref().unwrap_or(document).rid_counter();
    // Different resource ids mean two concurrent creations of the same id.
    let operation = match &item.visible {
        Some(visible) if visible.rid_counter() == document.rid_counter() => {
            ConflictOperation::Replace
        }
        None if !item.is_contested => ConflictOperation::Replace,
        _ => ConflictOperation::Create,
    };
    Conflict {
        rid: rid_of(container, &item.item, loser.id),
        operation,
        resource: ItemRid::new(container.rid, resource),
        content: document.text(),
        lsn: loser.id.sequence.0,
        modified_seconds: document.modified_seconds(),
        etag: document.etag(),
    }
}

/// The resource id of a conflict: the version id plus some bits of the item's hash, because one
/// record can change several items.
fn rid_of(container: &Container, item: &[u8], version: VersionId) -> ChildRid {
    let origin = u64::from(version.origin.0) << ORIGIN_SHIFT;
    let sequence = (version.sequence.0 & SEQUENCE_BITS) << SEQUENCE_SHIFT;
    let item = xxh3_64(item) & ((1 << SEQUENCE_SHIFT) - 1);
    let counter = (origin | sequence | item).max(1);
    ChildRid::new(container.rid, ChildKind::Conflict, counter)
}

fn version_of(rid: ChildRid) -> VersionId {
    let counter = rid.counter();
    VersionId {
        origin: RegionId((counter >> ORIGIN_SHIFT).to_le_bytes()[0]),
        sequence: Sequence(counter >> SEQUENCE_SHIFT & SEQUENCE_BITS),
    }
}

/// Extracts the partition key of a version.
pub(super) fn key_of(container: &Container, loser: &StoredVersion) -> Option<PartitionKey> {
    let document = parse(&loser.document.text()).ok()?;
    let definition = container.definition.partition_key.definition();
    Some(definition.extract(&document))
}

/// Parses a stored text.
pub(super) fn value_of(text: &Bytes) -> Value {
    parse(text).unwrap_or(Value::Null)
}
