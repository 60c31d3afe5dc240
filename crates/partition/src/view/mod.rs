//! A view: a snapshot of a scope of a container, with its documents, its index entries and its
//! statistics. A page of a query is planned and executed over one view.

mod document_set;
mod entries;
mod read_ahead;
mod statistics;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_index::{IndexDefinition, IndexHash};
use orrery_model::Failure;
use orrery_storage::Snapshot;

pub use document_set::DocumentSetCursor;
pub use entries::{EntryFlow, EntryPosition, ScannedEntry};
pub use statistics::ViewStatistics;

use crate::committer::internal;
use crate::counters::counters_key;
use crate::document_key::CONTAINER_BYTES;
use crate::index_state::{IndexState, state_key};
use crate::keyspaces::{DOCUMENTS, META};
use crate::planner_facts::{EffectiveIndex, PlannerFacts};
use crate::scan::{Documents, ScanRange, ScannedItem, Visit};
use crate::stored_item::StoredItem;
use crate::{Container, CounterStatus, Counters, Error, Partition};

pub struct View {
    snapshot: Arc<Snapshot>,
    /// Documents that a script has written and not yet committed. They hide the stored documents.
    pending: BTreeMap<Bytes, Option<Bytes>>,
    container: Arc<Container>,
    scope: ScanRange,
    now_seconds: u64,
    planner_facts: Arc<PlannerFacts>,
}

impl View {
    pub(crate) fn new(
        snapshot: Arc<Snapshot>,
        container: &Arc<Container>,
        scope: &ScanRange,
        now_seconds: u64,
    ) -> View {
        View {
            snapshot,
            pending: BTreeMap::new(),
            container: Arc::clone(container),
            scope: scope.clone(),
            now_seconds,
            planner_facts: Arc::default(),
        }
    }

    /// Shares the facts that other views of the same batch sequence have read.
    pub(crate) fn with_planner_facts(self, known: Arc<PlannerFacts>) -> View {
        View {
            planner_facts: known,
            ..self
        }
    }

    /// The same view with uncommitted document changes, which have no index entries.
    pub(crate) fn with_pending(self, pending: BTreeMap<Bytes, Option<Bytes>>) -> View {
        View { pending, ..self }
    }

    /// Visits the visible documents of the scope in key order, starting at `from`.
    pub fn documents(
        &self,
        from: Option<&[u8]>,
        visit: &mut dyn FnMut(ScannedItem<'_>) -> Visit,
    ) -> Result<Option<Bytes>, Failure> {
        let rest;
        let range = match from {
            Some(key_position) => {
                rest = self.scope.resume(key_position);
                &rest
            }
            None => &self.scope,
        };
        let ttl = self.container.default_ttl();
        let documents = Documents {
            snapshot: &self.snapshot,
            pending: &self.pending,
            default_ttl: ttl,
            now_seconds: self.now_seconds,
        };
        documents
            .scan(range, visit)
            .map_err(|error| internal(&error))
    }

    /// Whether the scope is one logical partition, in which an id determines the document key.
    pub fn is_one_partition(&self) -> bool {
        self.scope.is_logical()
    }

    /// The key position of a document with this id in the one logical partition.
    pub fn key_position_of(&self, id: &str) -> Bytes {
        let (partition, _) = self.position_bounds();
        [partition, id.as_bytes()].concat().into()
    }

    /// The visible document at a key position within the bounds of the scope.
    pub fn document(&self, key_position: &[u8]) -> Result<Option<StoredItem>, Failure> {
        if !self.scope.matches_first_levels(key_position) {
            return Ok(None);
        }
        let read = || -> Result<Option<StoredItem>, Error> {
            let key = [&self.container.rid.id().to_be_bytes()[..], key_position].concat();
            let bytes = match self.pending.get(&key[..]) {
                Some(pending) => pending.clone(),
                None => self.snapshot.get_cached(DOCUMENTS, &key)?,
            };
            let item = bytes.map(StoredItem::decode).transpose()?;
            let ttl = self.container.default_ttl();
            Ok(item.filter(|item| item.is_visible(ttl, self.now_seconds)))
        };
        read().map_err(|error| internal(&error))
    }

    /// The indexes that every document of this view has.
    pub fn index(&self) -> Result<Cow<'_, IndexDefinition>, Failure> {
        if !self.pending.is_empty() {
            return Ok(Cow::Owned(IndexDefinition::nothing()));
        }
        let index = self.container.index();
        let known = self.planner_facts.index(|| {
            let row = self.snapshot.get(META, &state_key(self.number()))?;
            Ok(match row {
                None => EffectiveIndex::Nothing,
                Some(row) if row == index.settled() => EffectiveIndex::Settled,
                Some(row) => EffectiveIndex::Common(IndexState::decode(&row)?.common()),
            })
        });
        Ok(match known.map_err(|error| internal(&error))? {
            EffectiveIndex::Nothing => Cow::Owned(IndexDefinition::nothing()),
            EffectiveIndex::Settled => Cow::Borrowed(index.definition()),
            EffectiveIndex::Common(definition) => Cow::Borrowed(definition),
        })
    }

    /// The number of documents in the scope, if the scope consists of whole physical partitions
    /// with exact counters. The count includes expired documents that are not yet removed.
    fn stored_count(&self) -> Option<u64> {
        if !self.pending.is_empty() {
            return None;
        }
        let partition_scope =
            |partition: &Partition| ScanRange::of_epk_range(&self.container, &partition.range);
        let partitions = self.container.partitions.iter().enumerate();
        let inside: Vec<_> = partitions
            .map(|(number, partition)| (number, partition_scope(partition)))
            .filter(|(_, scope)| scope.is_within(&self.scope))
            .collect();
        let (first, last) = (inside.first()?, inside.last()?);
        if first.1.bounds().0 != self.scope.bounds().0 || last.1.bounds().1 != self.scope.bounds().1
        {
            return None;
        }
        inside
            .iter()
            .map(|(number, _)| self.count_of(*number))
            .sum()
    }

    /// The number of documents in a physical partition; `None` if its counter is an estimate.
    fn count_of(&self, partition: usize) -> Option<u64> {
        let count = self.planner_facts.count(partition, || {
            let id = self.container.partitions[partition].id;
            let row = self.snapshot.get(META, &counters_key(self.number(), id))?;
            let Some(row) = row else {
                return Ok(Some(0));
            };
            let counters = Counters::decode(&row)?;
            let is_exact = counters.status == CounterStatus::Exact;
            Ok(is_exact.then_some(counters.items))
        });
        count.ok()?
    }

    /// Whether no stored document can be expired.
    fn shows_all_stored(&self) -> bool {
        self.container.default_ttl().is_none()
    }

    fn number(&self) -> u32 {
        self.container.rid.id()
    }

    /// The key positions of the scope: from the first up to the second.
    fn position_bounds(&self) -> (&[u8], Option<&[u8]>) {
        let (from, to) = self.scope.bounds();
        let container = self.number().to_be_bytes();
        // An upper bound outside the container means the end of the container.
        let to = to.and_then(|to| to.strip_prefix(&container[..]));
        (&from[CONTAINER_BYTES..], to)
    }

    fn is_in_scope(&self, key_position: &[u8]) -> bool {
        let (from, to) = self.position_bounds();
        key_position >= from
            && to.is_none_or(|to| key_position < to)
            && self.scope.matches_first_levels(key_position)
    }
}

/// The number of encoded values in an entry of this index.
fn values_of(definition: &IndexDefinition, index: IndexHash) -> usize {
    if [IndexHash::ROOT, IndexHash::UNINDEXED].contains(&index) {
        return 0;
    }
    let mut composites = definition.composites();
    let composite = composites.find(|(hash, _)| *hash == index);
    composite.map_or(1, |(_, paths)| paths.len())
}
