//! The conflict feed of a container that leaves decisions to somebody.
//!
//! It lists versions that are not shown. Everything in it follows from the version and the item,
//! so every region gives the same answer. A conflict is over when somebody writes the item, who has
//! seen the version then, or deletes the conflict, which is a write that leaves the item as it is.

use std::sync::Arc;

use bytes::Bytes;
use orrery_json::{Value, parse};
use orrery_keys::{ChildKind, ChildRid, ItemRid, PartitionKey};
use orrery_model::{ConflictPolicy, Etag, Failure};
use orrery_partition::{Container, ScanRange, SettleItem, StoredConflict, StoredVersion};
use orrery_regions::{RegionId, Sequence, Stamp, StreamId};
use tokio::sync::oneshot;
use xxhash_rust::xxh3::xxh3_64;

use crate::engine::stopping;
use crate::feed::scan_range;
use crate::items::check_key;
use crate::{Engine, Scope, continuation};

const ORIGIN_SHIFT: u32 = 52;
const SEQUENCE_SHIFT: u32 = 12;
const SEQUENCE_BITS: u64 = (1 << (ORIGIN_SHIFT - SEQUENCE_SHIFT)) - 1;

/// One version that waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Its id is the text of it.
    pub rid: ChildRid,
    pub operation: ConflictOperation,
    /// The item that it is about.
    pub resource: ItemRid,
    /// The version, as JSON text.
    pub content: Bytes,
    pub lsn: u64,
    pub modified_seconds: u64,
    pub etag: Etag,
}

/// What the version that lost was written by.
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
    /// A page of the conflicts of a container, or of a part of it.
    pub fn conflicts(
        &self,
        container: &Container,
        scope: &Scope,
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

    /// Decides that an item stays as it is shown. All its conflicts are over by that. One that is
    /// over already is no failure: whoever deletes it has often written the item before.
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
        match self.settle(container, item, loser).await {
            Err(Failure::NotFound(_)) => self.check_was_conflict(container, id),
            other => other,
        }
    }

    pub(super) async fn settle(
        &self,
        container: &Arc<Container>,
        item: Bytes,
        loser: Stamp,
    ) -> Result<(), Failure> {
        let settle = SettleItem {
            container: Arc::clone(container),
            item,
            loser,
            now_seconds: self.now_seconds(),
            is_hub: self.is_hub() || self.is_divided(),
        };
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_settle(settle, reply);
        let settled = answer.await.unwrap_or_else(|_| Err(stopping()));
        settled.map(|_| ())
    }

    /// Whether versions that lost wait in the feed. Where one region takes the writes of a key, they
    /// were acknowledged by one that was replaced, and nobody expects the policy to drop them.
    pub(super) fn lists_conflicts(&self, container: &Container) -> bool {
        is_by_hub(container) || self.is_divided()
    }

    fn find_conflict(
        &self,
        container: &Container,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<(Bytes, Stamp, Conflict)>, Failure> {
        let rid = ChildRid::parse(id).map_err(|_| Failure::NOT_FOUND)?;
        if !self.lists_conflicts(container) {
            return Err(Failure::NOT_FOUND);
        }
        check_key(container, key)?;
        let scope = ScanRange::of_logical_partition(&container.logical_partition(key));
        let items = self.store.conflicts(&scope, None, usize::MAX)?;
        let found = items.into_iter().find_map(|item| {
            let mut losers = item.losers.iter();
            let loser = losers.find(|loser| rid_of(container, &item.item, loser.stamp) == rid)?;
            let (stamp, conflict) = (loser.stamp, conflict(container, &item, loser));
            Some((item.item, stamp, conflict))
        });
        Ok(found)
    }

    /// Whether an id is one that a conflict of a change that was applied here could have had.
    fn check_was_conflict(&self, container: &Container, id: &str) -> Result<(), Failure> {
        let rid = ChildRid::parse(id).map_err(|_| Failure::NOT_FOUND)?;
        let stamp = stamp_of(rid);
        let stream = StreamId::Region(stamp.origin);
        let is_known =
            stamp.sequence > Sequence::ZERO && self.progress().has(stream, stamp.sequence);
        if rid.kind() == ChildKind::Conflict && rid.container() == container.rid && is_known {
            Ok(())
        } else {
            Err(Failure::NOT_FOUND)
        }
    }
}

/// Whether conflicts of a container wait for a decision.
pub(super) fn is_by_hub(container: &Container) -> bool {
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
    let resource = item.shown.as_ref().unwrap_or(document).rid_counter();
    // An item of its own was created, by somebody who did not know of the other.
    let operation = match &item.shown {
        Some(shown) if shown.rid_counter() == document.rid_counter() => ConflictOperation::Replace,
        None if !item.is_contested => ConflictOperation::Replace,
        _ => ConflictOperation::Create,
    };
    Conflict {
        rid: rid_of(container, &item.item, loser.stamp),
        operation,
        resource: ItemRid::new(container.rid, resource),
        content: document.text(),
        lsn: loser.stamp.sequence.0,
        modified_seconds: document.modified_seconds(),
        etag: document.etag(),
    }
}

/// The stamp, and a few bits of the item, for records that changed several.
fn rid_of(container: &Container, item: &[u8], stamp: Stamp) -> ChildRid {
    let origin = u64::from(stamp.origin.0) << ORIGIN_SHIFT;
    let sequence = (stamp.sequence.0 & SEQUENCE_BITS) << SEQUENCE_SHIFT;
    let item = xxh3_64(item) & ((1 << SEQUENCE_SHIFT) - 1);
    let counter = (origin | sequence | item).max(1);
    ChildRid::new(container.rid, ChildKind::Conflict, counter)
}

fn stamp_of(rid: ChildRid) -> Stamp {
    let counter = rid.counter();
    Stamp {
        origin: RegionId((counter >> ORIGIN_SHIFT).to_le_bytes()[0]),
        sequence: Sequence(counter >> SEQUENCE_SHIFT & SEQUENCE_BITS),
    }
}

/// The partition key of a version.
pub(super) fn key_of(container: &Container, loser: &StoredVersion) -> Option<PartitionKey> {
    let document = parse(&loser.document.text()).ok()?;
    let definition = container.definition.partition_key.definition();
    definition.extract(&document).ok()
}

/// A stored text as a value.
pub(super) fn value_of(text: &Bytes) -> Value {
    parse(text).unwrap_or(Value::Null)
}
