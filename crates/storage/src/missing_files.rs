//! Checks that no file of the engine is missing from a store that was once complete.
//!
//! The engine reads a keyspace without its marker file as a creation that a crash cut off, and
//! creates the keyspace anew. In a store that has been opened before, a missing marker means lost
//! data.

use std::fs;
use std::io;
use std::path::Path;

use fjall::Database;

use crate::Error;
use crate::early_sync::newest;
use crate::journal::EXTENSION as JOURNAL_EXTENSION;

const MAPS: &str = "keyspaces";
const MAP_MARKER: &str = "current";
const MARKER: &str = "version";

/// Fails if a file is missing whose absence makes the engine start from empty. A directory without
/// any keyspaces passes: either the store was never created or an operator removed all its files.
/// The caller can tell these two cases apart and decides.
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
    // Without a journal the engine restarts its sequence numbers from zero, below the numbers of
    // the entries that its tables already have. New writes would then be hidden by old ones.
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

/// Fails if the engine has some of the keyspaces in `names` and lacks one of the first `required`,
/// or one before another that is there: keyspaces are created in their order.
pub(crate) fn check_keyspaces(
    database: &Database,
    names: &[&str],
    required: usize,
) -> Result<(), Error> {
    let is_there = |name: &&str| database.keyspace_exists(name);
    let Some(last) = names.iter().rposition(is_there) else {
        return Ok(());
    };
    let known = &names[..required.max(last + 1)];
    match known.iter().find(|name| !is_there(name)) {
        Some(name) => Err(Error::Missing(format!("the map `{name}`"))),
        None => Ok(()),
    }
}
