//! Errors of a store.

use std::path::PathBuf;

/// The disk or the operating system failed, or the files of the store are damaged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the data directory {0} is in use by another Orrery process")]
    InUse(PathBuf),
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("data format {found} in {} is not known to this program, which writes format {known}", path.display())]
    Format {
        path: PathBuf,
        found: String,
        known: u32,
    },
    /// A snapshot installation did not finish. The operator removes the directory and starts again.
    #[error("the data directory {0} was being filled from another store and is not whole")]
    Unfinished(PathBuf),
    #[error("the data directory {0} is not empty and cannot be filled from another store")]
    NotEmpty(PathBuf),
    #[error("the store is {found} and was to be opened as {wanted}")]
    OtherRegion { found: String, wanted: String },
    #[error(transparent)]
    Storage(#[from] orrery_storage::Error),
    #[error(transparent)]
    Log(#[from] orrery_log::Error),
    /// The log ends before records that were durable.
    #[error(
        "the log of the data directory {} has lost records: it ends at {last}, and {needed} was durable. Bring the \
         whole directory back from a backup, or the files of its `log` from where they are. If other regions have the \
         data, the directory may be removed and is filled from them. To go on without what is lost, start with \
         --accept-loss, which says what that is",
        directory.display()
    )]
    LogBehind {
        directory: PathBuf,
        last: orrery_log::Position,
        needed: orrery_log::Position,
    },
    /// Stored bytes do not decode or contradict other rows. The store never serves such data.
    #[error("the stored data is damaged: {0}")]
    Damaged(String),
    #[error("the store takes no more writes after an earlier failure: {0}")]
    ReadOnly(String),
}

impl Error {
    pub(crate) fn io(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// The error and its causes in one line.
    pub(crate) fn chain(&self) -> String {
        orrery_log::error_chain(self)
    }
}
