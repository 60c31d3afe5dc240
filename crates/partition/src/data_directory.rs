//! The data directory of a store: its lock and its format file.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use orrery_log::{Disk, SystemDisk};

use crate::Error;
use crate::keyspaces::{FIRST_NAMES, NAMES};

/// Version 2: statistics in pages, and a feed entry for every document.
const FORMAT: u32 = 2;

/// An open data directory. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    _lock: File,
}

impl DataDirectory {
    pub(crate) fn open(path: &Path) -> Result<DataDirectory, Error> {
        SystemDisk
            .create_dir(path)
            .map_err(Error::io("create the data directory", path))?;
        keep_private(path);
        let lock = lock(path)?;
        let mark = DataDirectory::format_path(path);
        // The lock is taken before the format file is written, so that only one process creates it.
        match fs::read_to_string(&mark) {
            Ok(text) => check_format(&mark, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_format_file(path, &mark).map_err(Error::io("write", &mark))?;
            }
            Err(error) => return Err(Error::io("read", &mark)(error)),
        }
        Ok(DataDirectory {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// The format file. A directory without this file is not a data directory.
    pub(crate) fn format_path(path: &Path) -> PathBuf {
        path.join("FORMAT")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// The watermark file of the log.
    pub(crate) fn watermark_path(&self) -> PathBuf {
        self.path.join("log.durable")
    }

    /// The number of keyspaces that must be there; 0 if the store may never have been complete. A
    /// store creates its log after all files of its state, so a log or a watermark proves that it
    /// was complete. A program that wrote no watermark may have known only the first keyspaces.
    pub(crate) fn required_keyspaces(&self) -> usize {
        if self.watermark_path().exists() {
            NAMES.len()
        } else if self.log().exists() {
            FIRST_NAMES
        } else {
            0
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the log directory, under a name that says so.
    pub(crate) fn set_log_aside(&self) -> Result<PathBuf, Error> {
        let free = (1..).map(|number| self.path.join(format!("log.aside.{number}")));
        let aside = free
            .into_iter()
            .find(|path| !path.exists())
            .expect("some number is free");
        fs::rename(self.log(), &aside).map_err(Error::io("rename", &self.log()))?;
        SystemDisk
            .sync_dir(&self.path)
            .map_err(Error::io("sync", &self.path))?;
        Ok(aside)
    }
}

/// Removes the access rights of other users on the directory. Other users then cannot reach any
/// file in it, including files that the engine creates later.
#[cfg(unix)]
fn keep_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let tighten = || -> io::Result<()> {
        let mode = fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
            tracing::info!(path = %path.display(), "others had rights on the data directory; they have none any more");
        }
        Ok(())
    };
    if let Err(error) = tighten() {
        tracing::warn!(%error, path = %path.display(), "other users have rights on the data directory, and they cannot be taken away");
    }
}

/// On other systems, a directory inherits the permissions of its parent directory.
#[cfg(not(unix))]
fn keep_private(_path: &Path) {}

fn lock(path: &Path) -> Result<File, Error> {
    let name = path.join("LOCK");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(Error::io("open", &name))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &name)(error)),
    }
}

/// Writes the file under a temporary name first, so that after a crash the format file is complete
/// or absent.
fn write_format_file(path: &Path, mark: &Path) -> io::Result<()> {
    let unfinished = path.join("FORMAT.new");
    let mut file = File::create(&unfinished)?;
    file.write_all(format!("orrery {FORMAT}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, mark)?;
    SystemDisk.sync_dir(path)
}

fn check_format(mark: &Path, text: &str) -> Result<(), Error> {
    let found = text.trim().strip_prefix("orrery ").unwrap_or(text.trim());
    if found == FORMAT.to_string() {
        return Ok(());
    }
    Err(Error::Format {
        path: mark.to_owned(),
        found: found.to_owned(),
        known: FORMAT,
    })
}
