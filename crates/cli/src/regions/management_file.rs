//! The file by which `orrery region` finds the server of a data directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::private_file;

const FILE_NAME: &str = "management.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManagementFile {
    pub(crate) endpoint: String,
    pub(crate) key_file: PathBuf,
    /// None without TLS.
    pub(crate) certificate: Option<PathBuf>,
}

impl ManagementFile {
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        private_file::write(
            &directory.join(FILE_NAME),
            &serde_json::to_vec_pretty(self)?,
        )
    }

    /// A server that stops is not found any more.
    pub(crate) fn remove(directory: &Path) {
        let _ = fs::remove_file(directory.join(FILE_NAME));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_there_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = ManagementFile {
            endpoint: "https://127.0.0.1:1/".to_owned(),
            key_file: "/k".into(),
            certificate: None,
        };
        file.write(directory.path()).unwrap();
        assert!(directory.path().join(FILE_NAME).exists());
        ManagementFile::remove(directory.path());
        assert!(!directory.path().join(FILE_NAME).exists());
    }
}
