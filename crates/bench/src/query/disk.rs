//! The disk space of a folder.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

const SETTLE_POLL: Duration = Duration::from_millis(500);
/// A folder whose size has not changed for this long is settled.
const SETTLE_QUIET: Duration = Duration::from_secs(3);
const SETTLE_MAX: Duration = Duration::from_secs(45);

/// Waits until background work no longer changes the size of the folder, and returns the size.
pub(crate) async fn settled_bytes(folder: &Path, quiet: Option<Duration>) -> Result<u64> {
    let quiet = quiet.unwrap_or(SETTLE_QUIET).min(SETTLE_QUIET);
    let began = Instant::now();
    let mut last = (began, disk_bytes(folder)?);
    while last.0.elapsed() < quiet && began.elapsed() < SETTLE_MAX {
        tokio::time::sleep(SETTLE_POLL.min(quiet)).await;
        let bytes = disk_bytes(folder)?;
        if bytes != last.1 {
            last = (Instant::now(), bytes);
        }
    }
    // After the longest wait a folder that still changes is measured as it is.
    Ok(last.1)
}

/// The allocated bytes of all files below a folder.
fn disk_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        // Compaction deletes files while they are counted.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            // A directory may disappear between the listing and the visit.
            bytes += disk_bytes(&path).unwrap_or(0);
        } else {
            bytes += allocated(&metadata);
        }
    }
    Ok(bytes)
}

/// The blocks of a file, since a sparse file takes less space than its length.
#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    const BLOCK_BYTES: u64 = 512;
    metadata.blocks() * BLOCK_BYTES
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_in_folders_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        let path = folder.path().join("a/b");
        fs::write(&path, vec![1; 100_000]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        let quiet = Some(Duration::from_millis(1));
        let bytes = settled_bytes(folder.path(), quiet).await.unwrap();
        assert!((100_000..150_000).contains(&bytes), "{bytes}");
    }
}
