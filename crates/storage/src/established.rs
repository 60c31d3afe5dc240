//! Whether the files of the engine are all there, of a store that was whole once.
//!
//! The engine takes a map without its marker for one whose creation a crash has cut off, and begins it anew. In
//! a store that has been opened before, such a map was lost.

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

/// Fails if a file is missing without which the engine would begin anew. A directory without any maps is one that
/// was never made, or that somebody has removed as a whole; what becomes of that the owner knows.
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
    // Without any journal the engine numbers its writes from the beginning, below those that it has.
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

/// Fails if the engine knows some of the maps and not all of them.
pub(crate) fn check_maps(database: &Database, names: &[&str]) -> Result<(), Error> {
    let missing = names.iter().find(|name| !database.keyspace_exists(name));
    match missing {
        Some(name) if names.iter().any(|name| database.keyspace_exists(name)) => {
            Err(Error::Missing(format!("the map `{name}`")))
        }
        _ => Ok(()),
    }
}
