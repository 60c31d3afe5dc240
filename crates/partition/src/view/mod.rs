//! A scope of a container at one moment: its documents, its index entries, and what is counted of
//! them. A page of a query is planned and read over one view.

mod entries;
mod places;
mod read_ahead;
mod statistics;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_index::{IndexDefinition, IndexHash};
use orrery_model::Failure;
use orrery_storage::Snapshot;

pub use entries::{Entry, EntryFlow, EntryPosition};
pub use places::PlaceWalk;
pub use statistics::ViewStatistics;

use crate::committer::internal;
use crate::counters::counters_key;
use crate::document_key::CONTAINER_BYTES;
use crate::index_state::{IndexState, state_key};
use crate::known::{Known, KnownIndex};
use crate::scan::{Documents, ScanRange, Scanned, Visit};
use crate::spaces::{DOCUMENTS, META};
use crate::stored::StoredItem;
use crate::{Container, Counters, Error, Partition, Standing};

pub struct View {
    snapshot: Arc<Snapshot>,
    /// Documents that a script has written and not yet committed; they hide the stored ones.
    pending: BTreeMap<Bytes, Option<Bytes>>,
    container: Arc<Container>,
    scope: ScanRange,
    now_seconds: u64,
    known: Arc<Known>,
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
            known: Arc::default(),
        }
    }

    /// With what other views of the same moment have found out.
    pub(crate) fn with_known(self, known: Arc<Known>) -> View {
        View { known, ..self }
    }

    /// The same moment with changes of documents in it, for which there are no index entries.
    pub(crate) fn with_pending(self, pending: BTreeMap<Bytes, Option<Bytes>>) -> View {
        View { pending, ..self }
    }

    /// Shows the visible documents of the scope in the order of places, from `from` on.
    pub fn documents(
        &self,
        from: Option<&[u8]>,
        visit: &mut dyn FnMut(Scanned<'_>) -> Visit,
    ) -> Result<Option<Bytes>, Failure> {
        let rest;
        let range = match from {
            Some(place) => {
                rest = self.scope.resume(place);
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

    /// Whether the scope is one logical partition, in which an id is enough to find a document.
    pub fn is_one_partition(&self) -> bool {
        self.scope.is_logical()
    }

    /// Where a document of this id stands in the one logical partition.
    pub fn place_of(&self, id: &str) -> Bytes {
        let (partition, _) = self.places();
        [partition, id.as_bytes()].concat().into()
    }

    /// The visible document at a place between the bounds of the scope.
    pub fn document(&self, place: &[u8]) -> Result<Option<StoredItem>, Failure> {
        if !self.scope.has(place) {
            return Ok(None);
        }
        let read = || -> Result<Option<StoredItem>, Error> {
            let key = [&self.container.rid.id().to_be_bytes()[..], place].concat();
            let bytes = match self.pending.get(&key[..]) {
                Some(pending) => pending.clone(),
                None => self.snapshot.get_kept(DOCUMENTS, &key)?,
            };
            let item = bytes.map(StoredItem::decode).transpose()?;
            let ttl = self.container.default_ttl();
            Ok(item.filter(|item| item.is_visible(ttl, self.now_seconds)))
        };
        read().map_err(|error| internal(&error))
    }

    /// The indexes that every document of this moment has.
    pub fn index(&self) -> Result<Cow<'_, IndexDefinition>, Failure> {
        if !self.pending.is_empty() {
            return Ok(Cow::Owned(IndexDefinition::nothing()));
        }
        let index = self.container.index();
        let known = self.known.index(|| {
            let row = self.snapshot.get(META, &state_key(self.number()))?;
            Ok(match row {
                None => KnownIndex::Nothing,
                Some(row) if row == index.settled() => KnownIndex::Settled,
                Some(row) => KnownIndex::Common(IndexState::decode(&row)?.common()),
            })
        });
        Ok(match known.map_err(|error| internal(&error))? {
            KnownIndex::Nothing => Cow::Owned(IndexDefinition::nothing()),
            KnownIndex::Settled => Cow::Borrowed(index.definition()),
            KnownIndex::Common(definition) => Cow::Borrowed(definition),
        })
    }

    /// How many documents the scope has, if it is made of whole physical partitions, which count
    /// theirs. Those that have expired and are not yet removed count as well.
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

    /// How many documents a physical partition has, if it knows.
    fn count_of(&self, partition: usize) -> Option<u64> {
        let count = self.known.count(partition, || {
            let id = self.container.partitions[partition].id;
            let row = self.snapshot.get(META, &counters_key(self.number(), id))?;
            let Some(row) = row else {
                return Ok(Some(0));
            };
            let counters = Counters::decode(&row)?;
            let is_exact = counters.standing == Standing::Exact;
            Ok(is_exact.then_some(counters.items))
        });
        count.ok()?
    }

    /// Whether no stored document can have expired.
    fn shows_all_stored(&self) -> bool {
        self.container.default_ttl().is_none()
    }

    fn number(&self) -> u32 {
        self.container.rid.id()
    }

    /// The places of the scope: from the first up to the second.
    fn places(&self) -> (&[u8], Option<&[u8]>) {
        let (from, to) = self.scope.bounds();
        let container = self.number().to_be_bytes();
        // A bound behind the container is no bound within it.
        let to = to.and_then(|to| to.strip_prefix(&container[..]));
        (&from[CONTAINER_BYTES..], to)
    }

    fn is_in_scope(&self, place: &[u8]) -> bool {
        let (from, to) = self.places();
        place >= from && to.is_none_or(|to| place < to) && self.scope.has(place)
    }
}

/// How many values stand in an entry of this index, one after the other.
fn values_of(definition: &IndexDefinition, index: IndexHash) -> usize {
    if [IndexHash::ROOT, IndexHash::UNINDEXED].contains(&index) {
        return 0;
    }
    let mut composites = definition.composites();
    let composite = composites.find(|(hash, _)| *hash == index);
    composite.map_or(1, |(_, paths)| paths.len())
}
