//! The version ids of this region's records, and the version vector of applied streams.
//!
//! The version vector is one row of the state, written in the same batch as the records that
//! advance it. Only the committer changes it; other threads see a new vector once its batch is in
//! the state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use orrery_regions::{Epoch, RegionId, StreamId, VersionId, VersionVector};
use orrery_storage::{Batch, Snapshot, Storage};

use super::{SharedAccessTable, VersionsFilter, decode_progress, encode_progress};
use crate::Error;
use crate::keyspaces::META;
use crate::overlay::Overlay;

/// The key of the version vector in the meta keyspace.
const PROGRESS_KEY: &[u8] = b"m";

/// The key of the region number in the meta keyspace.
pub(crate) const REGION_KEY: &[u8] = b"w";

/// The key of the copy source in the meta keyspace.
const COPIED_KEY: &[u8] = b"o";

/// The fields of a multi-write record besides its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamHeader {
    pub(crate) version_id: VersionId,
    /// The epoch of the account stream at the origin when the record was made.
    pub(crate) epoch: Epoch,
    /// The version vector at the origin.
    pub(crate) deps: VersionVector,
    /// The epoch of the hub if the record decides a conflict; otherwise [`Epoch::NONE`].
    pub(crate) deciding_epoch: Epoch,
    /// The ordinals of changes that remove expired documents.
    pub(crate) expired: Vec<u16>,
}

/// The multi-write state of a region, shared by the committer and other threads.
#[derive(Debug)]
pub(crate) struct MultiWriteRegion {
    pub(crate) region: RegionId,
    /// Set by the driver of the region.
    epoch: AtomicU64,
    version_vector: Mutex<VersionVector>,
    /// The region and position that the state was copied from. LSNs before and after a copy are not
    /// comparable.
    pub(crate) copied_from: Option<(RegionId, u64)>,
    /// The documents that may have hidden versions.
    pub(crate) versions_filter: Arc<VersionsFilter>,
    /// The keys whose writes this region takes.
    pub(crate) access: SharedAccessTable,
}

/// Checks that a store is opened with its own region number. A store outside a multi-write account
/// becomes a region permanently, because later writes without a stream would be missing in other
/// regions.
pub(crate) fn check_region(region: Option<RegionId>, storage: &Storage) -> Result<(), Error> {
    let found = storage.get(META, REGION_KEY)?;
    let found = found.and_then(|row| row.first().copied()).map(RegionId);
    match (found, region) {
        (None, None) => Ok(()),
        (None, Some(region)) => {
            let mut batch = Batch::default();
            put_region(region, &mut batch);
            Ok(storage.write(batch)?)
        }
        (Some(found), wanted) if Some(found) == wanted => Ok(()),
        (Some(found), wanted) => Err(Error::OtherRegion {
            found: name_of(Some(found)),
            wanted: name_of(wanted),
        }),
    }
}

pub(crate) fn put_region(region: RegionId, batch: &mut Batch) {
    batch.put(META, REGION_KEY, Bytes::copy_from_slice(&[region.0]));
}

/// Records the source of a copied state.
pub(crate) fn put_copied(from: RegionId, position: u64, batch: &mut Batch) {
    let mut row = vec![from.0];
    row.extend_from_slice(&position.to_le_bytes());
    batch.put(META, COPIED_KEY, Bytes::from(row));
}

fn read_copied(row: Option<Bytes>) -> Option<(RegionId, u64)> {
    let row = row?;
    let (region, position) = row.split_first()?;
    let position = position.try_into().ok()?;
    Some((RegionId(*region), u64::from_le_bytes(position)))
}

fn name_of(region: Option<RegionId>) -> String {
    match region {
        None => "an account with one write region".to_owned(),
        Some(region) => format!("region {region} of a multi-write account"),
    }
}

impl MultiWriteRegion {
    pub(crate) fn open(
        region: RegionId,
        storage: &Storage,
    ) -> Result<Arc<MultiWriteRegion>, Error> {
        let applied = decode_row(storage.get(META, PROGRESS_KEY)?)?;
        Ok(Arc::new(MultiWriteRegion {
            region,
            epoch: AtomicU64::new(Epoch::NONE.0),
            version_vector: Mutex::new(applied),
            copied_from: read_copied(storage.get(META, COPIED_KEY)?),
            versions_filter: Arc::new(VersionsFilter::of(storage)?),
            access: SharedAccessTable::default(),
        }))
    }

    /// Reloads the version vector from the state, after replicated records have changed it.
    pub(crate) fn reload(&self, storage: &Storage) -> Result<(), Error> {
        self.publish(decode_row(storage.get(META, PROGRESS_KEY)?)?);
        Ok(())
    }

    pub(crate) fn progress(&self) -> VersionVector {
        let applied = self.version_vector.lock();
        applied.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Publishes a version vector. Only the committer calls this, after the batch is in the state.
    pub(crate) fn publish(&self, progress: VersionVector) {
        *self
            .version_vector
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = progress;
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        self.epoch.store(epoch.0, Ordering::Release);
    }

    pub(crate) fn version_ids(&self) -> VersionIdAllocator {
        VersionIdAllocator {
            region: self.region,
            epoch: self.epoch(),
            progress: self.progress(),
            has_moved: false,
        }
    }
}

/// Assigns version ids to the records of one group.
#[derive(Debug)]
pub(crate) struct VersionIdAllocator {
    pub(crate) region: RegionId,
    pub(crate) epoch: Epoch,
    progress: VersionVector,
    has_moved: bool,
}

impl VersionIdAllocator {
    /// The version id that the next record will get.
    pub(crate) fn next(&self) -> VersionId {
        let own = StreamId::Region(self.region);
        VersionId {
            origin: self.region,
            sequence: self.progress.of(own).next(),
        }
    }

    /// Assigns the next version id to a record.
    pub(crate) fn take(&mut self, deciding_epoch: Epoch, expired: Vec<u16>) -> StreamHeader {
        let version_id = self.next();
        // The dependencies are copied before the own stream advances: a record does not depend on
        // itself.
        let deps = self.progress.clone();
        self.progress
            .advance(StreamId::Region(self.region), version_id.sequence);
        self.has_moved = true;
        StreamHeader {
            version_id,
            epoch: self.epoch,
            deps,
            deciding_epoch,
            expired,
        }
    }

    /// The version vector after the group; `None` if the group made no records.
    pub(crate) fn into_version_vector(self) -> Option<VersionVector> {
        self.has_moved.then_some(self.progress)
    }
}

pub(crate) fn put_progress(overlay: &mut Overlay<'_>, progress: &VersionVector) {
    let mut row = Vec::new();
    encode_progress(progress, &mut row);
    overlay.put(META, PROGRESS_KEY.into(), row.into());
}

/// Advances the version vector in the state during replay.
pub(crate) fn advance_progress(
    overlay: &mut Overlay<'_>,
    version_id: VersionId,
) -> Result<(), Error> {
    let stream = StreamId::Region(version_id.origin);
    change_progress(overlay, |progress| {
        progress.advance(stream, version_id.sequence);
    })
}

pub(crate) fn change_progress(
    overlay: &mut Overlay<'_>,
    change: impl FnOnce(&mut VersionVector),
) -> Result<(), Error> {
    let mut progress = decode_row(overlay.get(META, &PROGRESS_KEY.into())?)?;
    change(&mut progress);
    put_progress(overlay, &progress);
    Ok(())
}

/// The version vector in a snapshot.
pub(crate) fn read_progress(snapshot: &Snapshot) -> Result<VersionVector, Error> {
    decode_row(snapshot.get(META, PROGRESS_KEY)?)
}

fn decode_row(row: Option<Bytes>) -> Result<VersionVector, Error> {
    let Some(row) = row else {
        return Ok(VersionVector::default());
    };
    decode_progress(&mut &row[..])
        .ok_or_else(|| Error::Damaged("the progress of regions does not decode".to_owned()))
}
