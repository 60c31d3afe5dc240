//! The file by which `orrery region` finds the server of a data directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::private_file;

const FILE_NAME: &str = "management.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManagementFile {
    pub(crate) endpoint: String,
    pub(crate) key_file: PathBuf,
    /// The certificate that clients must trust. None without TLS.
    pub(crate) certificate: Option<PathBuf>,
}

impl ManagementFile {
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        private_file::write(
            &directory.join(FILE_NAME),
            &serde_json::to_vec_pretty(self)?,
        )
    }

    /// Removes the file when the server stops, so that `orrery region` does not connect to a dead
    /// server.
    pub(crate) fn remove(directory: &Path) {
        let _ = fs::remove_file(directory.join(FILE_NAME));
    }

    pub(crate) fn read(directory: &Path) -> Result<ManagementFile> {
        let path = directory.join(FILE_NAME);
        let text = fs::read(&path).with_context(|| {
            format!(
                "cannot read {}, which a running server with regions writes; name its data directory with --data, or \
                 the server with --management and --management-key-file",
                path.display()
            )
        })?;
        serde_json::from_slice(&text).with_context(|| format!("in {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = ManagementFile {
            endpoint: "https://127.0.0.1:1/".to_owned(),
            key_file: "/k".into(),
            certificate: None,
        };
        file.write(directory.path()).unwrap();
        assert_eq!(ManagementFile::read(directory.path()).unwrap(), file);
        ManagementFile::remove(directory.path());
        let error = ManagementFile::read(directory.path()).unwrap_err();
        assert!(error.to_string().contains("--data"), "{error}");
    }
}
