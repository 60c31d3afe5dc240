//! Checks that no file of the engine is missing, for a store that was whole once.
//!
//! The engine takes a map without its marker for one whose creation a crash has cut off, and begins it anew. In
//! a store that has been opened before, a map without its marker is a map that was lost.

use std::fs;
use std::io;
use std::path::Path;

use fjall::Database;

use crate::Error;
use crate::ahead::newest;
use crate::journal::EXTENSION as JOURNAL_EXTENSION;

const MAPS: &str = "keyspaces";
const MAP_MARKER: &str = "current";
const MARKER: &str = "version";

/// Fails if a file is missing without which the engine would begin anew. A directory without any maps belongs
/// to a store that was never made, or whose files somebody has removed as a whole; the caller knows which of
/// the two it is and acts on it.
pub(crate) fn check_files(directory: &Path) -> Result<(), Error> {
    let maps = directory.join(MAPS);
    let entries = match fs::read_dir(&maps) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::Engine(error.into())),
    };
    let mut markers = vec![directory.join(MARKER)];
    for entry in entries {
        let path = entry.map_err(|error| Error::Engine(error.into()))?.path();
        if path.is_dir() {
            markers.push(path.join(MAP_MARKER));
        }
    }
    // Without any journal the engine would number its writes from the beginning, below the numbers
    // of the writes that it has.
    let journal =
        newest(directory, JOURNAL_EXTENSION).map_err(|error| Error::Engine(error.into()))?;
    if journal.is_none() {
        return Err(Error::Missing("the journal of the engine".to_owned()));
    }
    match markers.into_iter().find(|marker| !marker.exists()) {
        Some(missing) => Err(Error::Missing(missing.display().to_string())),
        None => Ok(()),
    }
}

/// Fails if the engine knows some of the maps in `names` and lacks others.
pub(crate) fn check_maps(database: &Database, names: &[&str]) -> Result<(), Error> {
    let missing = names.iter().find(|name| !database.keyspace_exists(name));
    match missing {
        Some(name) if names.iter().any(|name| database.keyspace_exists(name)) => {
            Err(Error::Missing(format!("the map `{name}`")))
        }
        _ => Ok(()),
    }
}
