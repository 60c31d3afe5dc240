//! Builds a new store from a snapshot of another store.
//!
//! The state of an incomplete store has a mark until all rows are present and durable, and a store
//! with this mark is not opened. The log begins after the position of the snapshot, so that
//! positions have the same meaning in both stores.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{Disk, Position, SystemDisk};
use orrery_regions::RegionId;
use orrery_storage::{Batch, Storage};

use crate::counters::{APPLIED_KEY, counters_key};
use crate::data_directory::DataDirectory;
use crate::keyspaces::{META, NAMES};
use crate::multi_write::{REGION_KEY, next_rids_from, put_copied, put_region, rows_range};
use crate::replay::applied_position;
use crate::store::{open_log, open_storage};
use crate::{Counters, Error, SnapshotChunk, Store, StoreOptions};

/// The key of the mark of an incomplete store, in the meta keyspace.
pub(crate) const INSTALLING_KEY: &[u8] = b"filling";

/// Whether the installation of a snapshot was interrupted.
pub(crate) fn is_unfinished(storage: &Storage) -> Result<bool, Error> {
    Ok(storage.get(META, INSTALLING_KEY)?.is_some())
}

/// A store during the installation of a snapshot.
pub struct SnapshotInstaller {
    storage: Storage,
    directory: Option<DataDirectory>,
    options: StoreOptions,
    position: Position,
    /// The region of the snapshot, in a multi-write account.
    source: Option<RegionId>,
}

impl SnapshotInstaller {
    /// Starts filling an empty store with a snapshot of this position.
    pub fn begin(options: &StoreOptions, position: Position) -> Result<SnapshotInstaller, Error> {
        let (storage, directory) = match &options.directory {
            None => (Storage::in_memory(&NAMES), None),
            Some(path) => {
                let directory = DataDirectory::open(path)?;
                let storage = open_storage(&directory, options)?;
                if is_unfinished(&storage)? {
                    return Err(Error::Unfinished(path.clone()));
                }
                if applied_position(&storage)? != Position::ZERO || directory.log().exists() {
                    return Err(Error::NotEmpty(path.clone()));
                }
                (storage, Some(directory))
            }
        };
        let mut batch = Batch::default();
        batch.put(META, INSTALLING_KEY, Bytes::new());
        storage.write(batch)?;
        // The mark is durable before any row: after a crash the directory counts as incomplete.
        storage.persist()?;
        Ok(SnapshotInstaller {
            storage,
            directory,
            options: options.clone(),
            position,
            source: None,
        })
    }

    /// Writes the next chunk.
    pub fn add(&mut self, piece: SnapshotChunk) -> Result<(), Error> {
        let mut batch = Batch::with_capacity(piece.entries.len());
        for (key, value) in piece.entries {
            if piece.keyspace == META && key == REGION_KEY {
                self.source = value.first().copied().map(RegionId);
            }
            // The applied position is valid only for the complete snapshot, and the region number
            // is that of the source.
            if piece.keyspace != META || (key != APPLIED_KEY && key != REGION_KEY) {
                batch.put(piece.keyspace, key, value);
            }
        }
        Ok(self.storage.write(batch)?)
    }

    /// Opens the store after all chunks have been written.
    pub fn finish(self) -> Result<Store, Error> {
        let SnapshotInstaller {
            storage,
            directory,
            options,
            position,
            source,
        } = self;
        let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
        let log = match &directory {
            Some(directory) => Some((
                open_log(directory, &options, &disk, position, Position::ZERO)?,
                disk,
            )),
            None => None,
        };
        let mut batch = Batch::default();
        if let Some(region) = options.multi_write {
            continue_rid_counters(&storage, region, &mut batch)?;
            put_region(region, &mut batch);
            if let Some(source) = source {
                put_copied(source, position.0, &mut batch);
            }
        }
        let row = Bytes::copy_from_slice(&position.0.to_le_bytes());
        // The position and the removal of the mark are one batch, so no crash leaves a position
        // without all rows.
        batch.put(META, APPLIED_KEY, row);
        batch.delete(META, INSTALLING_KEY);
        storage.write(batch)?;
        storage.persist()?;
        Store::start(storage, log, directory, VecDeque::new(), &options)
    }
}

/// Continues the rid counters at the numbers that this region has already assigned, which differ
/// from the numbers of the source region.
fn continue_rid_counters(
    storage: &Storage,
    region: RegionId,
    batch: &mut Batch,
) -> Result<(), Error> {
    let snapshot = storage.snapshot();
    let (from, to) = rows_range();
    let rows = snapshot.range(META, &from, to.as_deref());
    let rows = rows.map(|row| Ok(row?));
    for ((container, range), next) in next_rids_from(rows, region)? {
        let key = counters_key(container, range);
        if let Some(row) = snapshot.get(META, &key)? {
            let counters = next.raise(Counters::decode(&row)?);
            batch.put(META, Bytes::copy_from_slice(&key), counters.encode());
        }
    }
    Ok(())
}
