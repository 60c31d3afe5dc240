//! A new store from the state of another one.
//!
//! A directory that is being filled has a mark in its state until all of it is there and safe; with
//! the mark it is not opened. The log begins after the position of the state, so that positions go
//! on meaning the same in both stores.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{Disk, Position, SystemDisk};
use orrery_regions::RegionId;
use orrery_storage::{Batch, Storage};

use crate::counters::{APPLIED_KEY, counters_key};
use crate::data_directory::DataDirectory;
use crate::multi::{REGION_KEY, next_rids_from, put_copied, put_region, rows_range};
use crate::replay::applied;
use crate::spaces::{META, NAMES};
use crate::store::{open_log, open_storage};
use crate::{Counters, Error, SnapshotPiece, Store, StoreOptions};

/// In the meta space, while not everything is there.
pub(crate) const FILLING_KEY: &[u8] = b"filling";

/// Whether a store was left while it was being filled.
pub(crate) fn is_unfinished(storage: &Storage) -> Result<bool, Error> {
    Ok(storage.get(META, FILLING_KEY)?.is_some())
}

/// A store that does not yet have everything.
pub struct Filling {
    storage: Storage,
    directory: Option<DataDirectory>,
    options: StoreOptions,
    position: Position,
    /// The region that gave the state, if it is of several that write.
    source: Option<RegionId>,
}

impl Filling {
    /// Begins to fill an empty store with a state of this position.
    pub fn begin(options: &StoreOptions, position: Position) -> Result<Filling, Error> {
        let (storage, directory) = match &options.directory {
            None => (Storage::in_memory(&NAMES), None),
            Some(path) => {
                let directory = DataDirectory::open(path)?;
                let storage = open_storage(&directory, options)?;
                if is_unfinished(&storage)? {
                    return Err(Error::Unfinished(path.clone()));
                }
                if applied(&storage)? != Position::ZERO || directory.log().exists() {
                    return Err(Error::NotEmpty(path.clone()));
                }
                (storage, Some(directory))
            }
        };
        let mut batch = Batch::default();
        batch.put(META, FILLING_KEY, Bytes::new());
        storage.write(batch)?;
        storage.persist()?;
        Ok(Filling {
            storage,
            directory,
            options: options.clone(),
            position,
            source: None,
        })
    }

    /// Takes the next piece.
    pub fn add(&mut self, piece: SnapshotPiece) -> Result<(), Error> {
        let mut batch = Batch::with_capacity(piece.entries.len());
        for (key, value) in piece.entries {
            if piece.space == META && key == REGION_KEY {
                self.source = value.first().copied().map(RegionId);
            }
            // The position is true of the whole only, and the region is another one.
            if piece.space != META || (key != APPLIED_KEY && key != REGION_KEY) {
                batch.put(piece.space, key, value);
            }
        }
        Ok(self.storage.write(batch)?)
    }

    /// Opens the store when all pieces are there.
    pub fn finish(self) -> Result<Store, Error> {
        let Filling {
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
            go_on_numbering(&storage, region, &mut batch)?;
            put_region(region, &mut batch);
            if let Some(source) = source {
                put_copied(source, position.0, &mut batch);
            }
        }
        let row = Bytes::copy_from_slice(&position.0.to_le_bytes());
        batch.put(META, APPLIED_KEY, row);
        batch.delete(META, FILLING_KEY);
        storage.write(batch)?;
        storage.persist()?;
        Store::start(storage, log, directory, VecDeque::new(), &options)
    }
}

/// Numbers of items go on where this region was, not where the one is that gave the state.
fn go_on_numbering(storage: &Storage, region: RegionId, batch: &mut Batch) -> Result<(), Error> {
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
