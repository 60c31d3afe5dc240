//! Syncs a file of the engine before the engine syncs it. The engine blocks all writers during its
//! own sync, and after an early sync few dirty bytes are left for it. `fsync` flushes the file,
//! whichever handle wrote the bytes.
//!
//! Durability does not depend on these syncs: the engine's own sync decides what is durable. If the
//! disk fails an early sync, the engine's sync of the same file fails as well and reports the
//! error.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Syncs the file with this extension that has the greatest number: the file that the engine writes
/// now.
pub(crate) fn sync_newest(directory: &Path, extension: &str) {
    if let Err(error) = try_sync(directory, extension) {
        tracing::warn!(%error, directory = %directory.display(), "a file of the engine could not be synced ahead of it");
    }
}

fn try_sync(directory: &Path, extension: &str) -> io::Result<()> {
    let Some(newest) = newest(directory, extension)? else {
        return Ok(());
    };
    // Some platforms refuse to sync through a handle opened without write access.
    match OpenOptions::new().write(true).open(newest) {
        Ok(file) => file.sync_data(),
        // The engine has switched to the next file and deleted this one.
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
