//! The directory of a store: its lock, its format mark, and an offline check of all of it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use orrery_storage::{Options, Storage};

use crate::spaces::{DOCUMENTS, NAMES, UNIQUE};
use crate::stored::StoredItem;
use crate::{Error, unique};

const FORMAT: u32 = 1;
const CHECK_CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// An open data directory; the lock is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    _lock: File,
}

impl DataDirectory {
    pub(crate) fn open(path: &Path) -> Result<DataDirectory, Error> {
        fs::create_dir_all(path).map_err(Error::io("create the data directory", path))?;
        let lock = lock(path)?;
        let mark = path.join("FORMAT");
        match fs::read_to_string(&mark) {
            Ok(text) => check_format(&mark, &text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::write(&mark, format!("orrery {FORMAT}\n"))
                    .map_err(Error::io("write", &mark))?;
            }
            Err(error) => return Err(Error::io("read", &mark)(error)),
        }
        Ok(DataDirectory {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Puts the log out of the way, under a name that says so.
    pub(crate) fn set_log_aside(&self) -> Result<PathBuf, Error> {
        let free = (1..).map(|number| self.path.join(format!("log.aside.{number}")));
        let aside = free
            .into_iter()
            .find(|path| !path.exists())
            .expect("some number is free");
        fs::rename(self.log(), &aside).map_err(Error::io("rename", &self.log()))?;
        Ok(aside)
    }
}

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

/// What [`check`] found.
#[derive(Debug, Default)]
pub struct CheckReport {
    pub documents: u64,
    pub document_bytes: u64,
    pub log_records: u64,
    /// Each a sentence; empty when everything is as it should be.
    pub problems: Vec<String>,
}

/// Verifies a data directory that no server has open: the log's chain, every stored document and
/// its unique entries. Changes nothing but what opening the engine changes.
pub fn check(path: &Path) -> Result<CheckReport, Error> {
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    if !path.join("FORMAT").exists() {
        return Err(Error::io("find a data directory at", path)(missing()));
    }
    let directory = DataDirectory::open(path)?;
    let mut report = CheckReport::default();
    let log = orrery_log::verify(&directory.log())?;
    report.log_records = log.records;
    report.problems.extend(log.problems.iter().map(|problem| {
        format!(
            "{} at byte {}: {}",
            problem.segment.display(),
            problem.offset,
            problem.what
        )
    }));
    let options = Options {
        cache_bytes: CHECK_CACHE_BYTES,
    };
    let storage = Storage::open(&directory.state(), &NAMES, options)?;
    check_documents(&storage, &mut report)?;
    Ok(report)
}

fn check_documents(storage: &Storage, report: &mut CheckReport) -> Result<(), Error> {
    let snapshot = storage.snapshot();
    for entry in snapshot.range(DOCUMENTS, &[], None) {
        let (key, value) = match entry {
            Ok(entry) => entry,
            Err(error) => {
                report.problems.push(format!(
                    "documents cannot be read on: {}",
                    Error::from(error).chain()
                ));
                return Ok(());
            }
        };
        report.documents += 1;
        report.document_bytes += value.len() as u64;
        let problem = match StoredItem::decode(value) {
            Ok(item) => check_document(&snapshot, &key, &item)?,
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            report
                .problems
                .push(format!("document {}: {problem}", key.escape_ascii()));
        }
    }
    Ok(())
}

fn check_document(
    snapshot: &orrery_storage::Snapshot,
    key: &[u8],
    item: &StoredItem,
) -> Result<Option<String>, Error> {
    let Some((prefix, id)) = key.split_at_checked(usize::from(item.header.prefix_bytes)) else {
        return Ok(Some("its key is shorter than its header says".to_owned()));
    };
    if let Err(error) = orrery_json::parse(&item.text()) {
        return Ok(Some(format!("its text is not JSON: {error}")));
    }
    for digest in item.digests() {
        let holder = snapshot.get(UNIQUE, &unique::entry_key(prefix, &digest))?;
        if holder.as_deref() != Some(id) {
            return Ok(Some("a unique key entry does not name it".to_owned()));
        }
    }
    Ok(None)
}
