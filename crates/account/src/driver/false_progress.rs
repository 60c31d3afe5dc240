//! What a region had acknowledged and is not part of the history: kept for people, as lines of JSON.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

const FILE: &str = "false-progress.jsonl";

/// In a file of the region, or in memory if the account is.
pub(crate) struct FalseProgress {
    path: Option<PathBuf>,
    lines: Vec<String>,
    count: u64,
}

impl FalseProgress {
    pub(crate) fn open(directory: Option<&Path>) -> io::Result<FalseProgress> {
        let path = directory.map(|directory| directory.join(FILE));
        let count = match path.as_ref().map(File::open) {
            Some(Ok(file)) => BufReader::new(file).lines().count() as u64,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Some(Err(_)) | None => 0,
        };
        Ok(FalseProgress {
            path,
            lines: Vec::new(),
            count,
        })
    }

    /// Durable when this returns.
    pub(crate) fn add(&mut self, lines: Vec<String>) -> io::Result<()> {
        self.count += lines.len() as u64;
        let Some(path) = &self.path else {
            self.lines.extend(lines);
            return Ok(());
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut text = lines.join("\n");
        text.push('\n');
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn lines(&self) -> io::Result<Vec<String>> {
        let Some(path) = &self.path else {
            return Ok(self.lines.clone());
        };
        match fs::read_to_string(path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
