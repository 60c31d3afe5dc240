//! The stamps of the records that this region makes, and how far it has come in every stream.
//!
//! The progress is one row of the state, written in the batch of the records that move it. The
//! committer owns it; everybody else sees it when the batch is in the state.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use orrery_regions::{Epoch, Progress, RegionId, Stamp, StreamId};
use orrery_storage::{Batch, Snapshot, Storage};

use super::{Access, Rows, decode_progress, encode_progress};
use crate::Error;
use crate::overlay::Overlay;
use crate::spaces::META;

/// Key of the progress in the meta space.
const PROGRESS_KEY: &[u8] = b"m";

/// Key of the number of the region in the meta space.
pub(crate) const REGION_KEY: &[u8] = b"w";

/// Key of where the state was copied from, in the meta space.
const COPIED_KEY: &[u8] = b"o";

/// What a record of a multi-write account says beside its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamped {
    pub(crate) stamp: Stamp,
    /// Of the account stream, where it was made.
    pub(crate) epoch: Epoch,
    /// What was applied there.
    pub(crate) deps: Progress,
    /// The epoch of the hub, if it settles a conflict; otherwise none.
    pub(crate) decided: Epoch,
    /// Which of its changes remove what had expired.
    pub(crate) expired: Vec<u16>,
}

/// One region of a multi-write account, shared by the committer and those who ask.
#[derive(Debug)]
pub(crate) struct Multi {
    pub(crate) region: RegionId,
    /// Told by whoever drives the regions.
    epoch: AtomicU64,
    applied: Mutex<Progress>,
    /// The region and position that the state was copied from, if it was: LSNs before a copy and
    /// after it are of different orders.
    pub(crate) copied_from: Option<(RegionId, u64)>,
    /// Which documents may have hidden versions.
    pub(crate) rows: Arc<Rows>,
    /// Which keys it answers for.
    pub(crate) access: Access,
}

/// Checks that a store is what it is to be opened as; an ordinary one becomes a region for good,
/// because what it would write as an ordinary one again would be missing in the others.
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

/// Notes where a state comes from.
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

impl Multi {
    pub(crate) fn open(region: RegionId, storage: &Storage) -> Result<Arc<Multi>, Error> {
        let applied = decode_row(storage.get(META, PROGRESS_KEY)?)?;
        Ok(Arc::new(Multi {
            region,
            epoch: AtomicU64::new(Epoch::NONE.0),
            applied: Mutex::new(applied),
            copied_from: read_copied(storage.get(META, COPIED_KEY)?),
            rows: Arc::new(Rows::of(storage)?),
            access: Access::default(),
        }))
    }

    /// Takes the progress that the state has, when records of another store have moved it.
    pub(crate) fn reload(&self, storage: &Storage) -> Result<(), Error> {
        self.publish(decode_row(storage.get(META, PROGRESS_KEY)?)?);
        Ok(())
    }

    pub(crate) fn progress(&self) -> Progress {
        let applied = self.applied.lock();
        applied.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Called by the committer alone, when the state has it.
    pub(crate) fn publish(&self, progress: Progress) {
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        self.epoch.store(epoch.0, Ordering::Release);
    }

    pub(crate) fn stamps(&self) -> Stamps {
        Stamps {
            region: self.region,
            epoch: self.epoch(),
            progress: self.progress(),
            has_moved: false,
        }
    }
}

/// The stamps of one group of records.
#[derive(Debug)]
pub(crate) struct Stamps {
    pub(crate) region: RegionId,
    pub(crate) epoch: Epoch,
    progress: Progress,
    has_moved: bool,
}

impl Stamps {
    /// What the next record gets, if it comes to that.
    pub(crate) fn next(&self) -> Stamp {
        let own = StreamId::Region(self.region);
        Stamp {
            origin: self.region,
            sequence: self.progress.of(own).next(),
        }
    }

    /// Gives the stamp to a record.
    pub(crate) fn take(&mut self, decided: Epoch, expired: Vec<u16>) -> Stamped {
        let stamp = self.next();
        let deps = self.progress.clone();
        self.progress
            .advance(StreamId::Region(self.region), stamp.sequence);
        self.has_moved = true;
        Stamped {
            stamp,
            epoch: self.epoch,
            deps,
            decided,
            expired,
        }
    }

    /// The progress after the group, if it made records.
    pub(crate) fn moved(self) -> Option<Progress> {
        self.has_moved.then_some(self.progress)
    }
}

pub(crate) fn put_progress(overlay: &mut Overlay<'_>, progress: &Progress) {
    let mut row = Vec::new();
    encode_progress(progress, &mut row);
    overlay.put(META, PROGRESS_KEY.into(), row.into());
}

/// Moves the progress in the state on, at a replay.
pub(crate) fn advance_progress(overlay: &mut Overlay<'_>, stamp: Stamp) -> Result<(), Error> {
    let stream = StreamId::Region(stamp.origin);
    change_progress(overlay, |progress| progress.advance(stream, stamp.sequence))
}

pub(crate) fn change_progress(
    overlay: &mut Overlay<'_>,
    change: impl FnOnce(&mut Progress),
) -> Result<(), Error> {
    let mut progress = decode_row(overlay.get(META, &PROGRESS_KEY.into())?)?;
    change(&mut progress);
    put_progress(overlay, &progress);
    Ok(())
}

/// What a state has of every stream.
pub(crate) fn read_progress(snapshot: &Snapshot) -> Result<Progress, Error> {
    decode_row(snapshot.get(META, PROGRESS_KEY)?)
}

fn decode_row(row: Option<Bytes>) -> Result<Progress, Error> {
    let Some(row) = row else {
        return Ok(Progress::default());
    };
    decode_progress(&mut &row[..])
        .ok_or_else(|| Error::Damaged("the progress of regions does not decode".to_owned()))
}
