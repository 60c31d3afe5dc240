//! The disk interface of the log: a flat directory of files with positional reads and writes.
//!
//! The interface is a trait because it has two implementations: the operating system, and a
//! simulated disk for tests that loses unsynced sectors, tears writes, fills up and fails syncs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub trait Disk: Send + Sync {
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// The paths of the files in `dir`, in any order; empty if the directory does not exist.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    fn open_write(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Creates an empty file. Fails if a file with this name exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in `dir` durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

pub trait DiskFile: Send {
    fn size(&mut self) -> io::Result<u64>;
    /// Fills `buffer` from `offset`. Returns fewer bytes only at the end of the file.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`, growing the file if needed.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&mut self, size: u64) -> io::Result<()>;
    /// Makes the bytes durable, with the metadata that is needed to read them.
    fn sync(&mut self) -> io::Result<()>;
}

/// The files of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.map_or(Ok(()), |parent| self.create_dir(parent))?;
        private_dir().create(dir)?;
        // Without this sync a crash could lose the new directory together with all files in it.
        self.sync_dir(parent.unwrap_or(Path::new(".")))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        match fs::read_dir(dir) {
            Ok(entries) => entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn open_read(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(File::open(path)?))
    }

    fn open_write(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(
            OpenOptions::new().read(true).write(true).open(path)?,
        ))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(private_file().create_new(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    #[cfg(unix)]
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    /// Other systems cannot open a directory as a file. NTFS journals name changes itself.
    #[cfg(not(unix))]
    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// Restricts access to the directories and files of the log to their owner, regardless of the
/// default permissions of the process.
#[cfg(unix)]
fn private_dir() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// On other systems, directories and files of the log inherit the permissions of their parent
/// directory.
#[cfg(not(unix))]
fn private_dir() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

impl DiskFile for File {
    fn size(&mut self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.seek(SeekFrom::Start(offset))?;
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
