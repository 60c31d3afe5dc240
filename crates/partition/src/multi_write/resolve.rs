//! Conflict decisions: a write that has seen all versions of an item and keeps the visible one.
//!
//! A decision is replicated like any other write. The visible version keeps its entity tag and its
//! position in the feed. A version that is hidden because of a unique key is removed.

use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, Lsn, PartitionLsn};
use orrery_regions::{Epoch, VersionId};

use super::versioned_item::VersionedItem;
use super::{VersionIdAllocator, finish_local_write};
use crate::apply::{ChangeContext, apply_change};
use crate::committer::internal;
use crate::document_key::CONTAINER_BYTES;
use crate::group::{CommitGroup, RecordChanges, record_header};
use crate::indexing::PrecomputedEntries;
use crate::overlay::Overlay;
use crate::record::RecordHeader;
use crate::stored_item::with_version_id;
use crate::{Container, Counters, Error, Reply};

/// A decision about the conflict of one item.
pub struct ConflictDecision {
    pub container: Arc<Container>,
    /// The document key from the conflict.
    pub item: Bytes,
    /// A hidden version of the item. If the item no longer has this version, the conflict is
    /// already decided.
    pub loser: VersionId,
    pub now_seconds: u64,
    /// Whether this region is the hub, which decides for all regions.
    pub is_hub: bool,
}

/// The value of the visible version with a new version id; `None` if no version is visible.
pub(crate) fn visible_value(
    overlay: &Overlay<'_>,
    key: &Bytes,
    version_id: VersionId,
    deciding_epoch: Epoch,
) -> Result<Option<Bytes>, Error> {
    let item = VersionedItem::load(overlay, key.clone())?;
    let visible = item
        .visible()
        .filter(|visible| visible.header.version.is_some());
    Ok(visible.map(|visible| with_version_id(visible.stored(), version_id, deciding_epoch)))
}

impl CommitGroup<'_> {
    pub(crate) fn resolve(
        &mut self,
        decision: &ConflictDecision,
        reply: Reply<Result<PartitionLsn, Failure>>,
    ) {
        let resolved = self.resolve_record(decision);
        self.replies.push(Box::new(move |failure| {
            reply(match failure {
                None => resolved,
                Some(failure) => resolved.and(Err(failure)),
            });
        }));
    }

    fn resolve_record(&mut self, decision: &ConflictDecision) -> Result<PartitionLsn, Failure> {
        let Some(version_ids) = &self.version_ids else {
            return Err(Failure::NOT_FOUND);
        };
        if !decision.container.is_alive() {
            return Err(Failure::NOT_FOUND);
        }
        let (version_id, epoch) = (VersionIdAllocator::next(version_ids), version_ids.epoch);
        let deciding_epoch = if decision.is_hub { epoch } else { Epoch::NONE };
        let key = &decision.item;
        let key_position = key.get(CONTAINER_BYTES..).unwrap_or_default();
        let container = &decision.container;
        self.check_write(container.rid.id(), key_position)?;
        let partition = Arc::clone(container.partition_at(key_position).holder(key_position));
        let load = VersionedItem::load(&self.overlay, key.clone());
        let item = load.map_err(|error| internal(&error))?;
        if !item.has_hidden(decision.loser) {
            return Err(Failure::NOT_FOUND);
        }
        let value = visible_value(&self.overlay, key, version_id, deciding_epoch);
        let value = value.map_err(|error| internal(&error))?;
        let number = container.rid.id();
        let before = self.counters(number, &partition);
        let lsn = Lsn(before.lsn.0 + 1);
        let mut counters = Counters { lsn, ..before };
        let header = RecordHeader {
            version_id: Some(version_id),
            deciding_epoch,
            ..record_header(number, &partition, lsn, decision.now_seconds)
        };
        let at = ChangeContext {
            header,
            ordinal: 0,
            is_expiry: false,
        };
        let savepoint = self.overlay.savepoint();
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        let (new, known) = (value.as_ref(), PrecomputedEntries::default());
        let applied = apply_change(overlay, states, at, key, new, known, &mut counters)
            .and_then(|()| finish_local_write(overlay, states, header, 1, &mut counters));
        if let Err(error) = applied {
            self.overlay.roll_back(savepoint);
            return Err(internal(&error));
        }
        let changed = RecordChanges {
            list: vec![(key.clone(), value)],
            expired: Vec::new(),
        };
        self.record(header, &partition, counters, changed);
        Ok(PartitionLsn {
            range: partition.id,
            lsn,
        })
    }
}
