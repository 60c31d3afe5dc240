//! Syncs what the engine has written to a file before the engine does: whoever syncs it then has little to
//! do, and the engine lets nobody write meanwhile. A sync is of the file and not of whoever has it open.
//!
//! Nothing relies on these syncs: the engine's own says what is durable, and if one here fails, that one
//! fails as well.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Syncs the file with the greatest number of those with an extension, which is the one being written.
pub(crate) fn sync_newest(directory: &Path, extension: &str) {
    if let Err(error) = try_sync(directory, extension) {
        tracing::warn!(%error, directory = %directory.display(), "a file of the engine could not be synced ahead of it");
    }
}

fn try_sync(directory: &Path, extension: &str) -> io::Result<()> {
    let Some(newest) = newest(directory, extension)? else {
        return Ok(());
    };
    // A handle that cannot write cannot sync everywhere.
    match OpenOptions::new().write(true).open(newest) {
        Ok(file) => file.sync_data(),
        // The engine has gone on to the next one and needs this one no more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

pub(crate) fn newest(directory: &Path, extension: &str) -> io::Result<Option<PathBuf>> {
    let mut newest = None;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        newest = newest.max(number_of(&path, extension).map(|number| (number, path)));
    }
    Ok(newest.map(|(_, path)| path))
}

fn number_of(path: &Path, extension: &str) -> Option<u64> {
    let found = path.extension().unwrap_or(OsStr::new(""));
    let stem = path.file_stem().filter(|_| found == extension)?;
    stem.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_the_one_with_the_greatest_number() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(newest(directory.path(), "jnl").unwrap(), None);
        for name in ["9.jnl", "10.jnl", "11.tmp", "lock", "x.jnl", "3", "12"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        for (extension, expected) in [("jnl", "10.jnl"), ("", "12")] {
            let found = newest(directory.path(), extension).unwrap();
            assert_eq!(found, Some(directory.path().join(expected)));
        }
    }
}
