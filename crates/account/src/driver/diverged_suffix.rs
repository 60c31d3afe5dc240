//! The acknowledged records of a region that are not part of the history, as lines of JSON for
//! operators.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use orrery_partition::Error;
use orrery_regions::{Sequence, StreamId};

use super::Driver;

/// Bytes of records that are converted to lines at a time.
pub(super) const READ_BYTES: usize = 1024 * 1024;
const FILE: &str = "false-progress.jsonl";

/// Stored in a file of the region, or in memory for an account in memory.
pub(crate) struct DivergedSuffix {
    path: Option<PathBuf>,
    lines: Vec<String>,
    count: u64,
}

/// The result of reading a diverged suffix from the log.
pub(super) enum SuffixRead {
    /// The next records as lines; `last` is the last of these records.
    Records { lines: Vec<String>, last: Sequence },
    /// The log does not have the next records; it begins after this record.
    Trimmed { begins_after: Sequence },
}

/// The records of a stream after `after`, up to `upto`, as lines. One line stands for each gap of
/// records that the log does not have any more, so that an operator learns of their loss. A record
/// that does not convert is an error: the caller must not give up the state that has its changes.
pub(super) fn suffix_lines(
    region: &str,
    stream: StreamId,
    mut after: Sequence,
    upto: Sequence,
    mut read: impl FnMut(Sequence) -> Result<SuffixRead, Error>,
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    while after < upto {
        let begins_after = match read(after)? {
            SuffixRead::Records { lines: read, last } if last > after => {
                lines.extend(read);
                after = last;
                continue;
            }
            SuffixRead::Records { .. } => upto,
            SuffixRead::Trimmed { begins_after } => begins_after,
        };
        let gap_end = if begins_after > after {
            begins_after.min(upto)
        } else {
            upto
        };
        tracing::error!(
            region,
            %stream,
            %after,
            upto = %gap_end,
            "records that are not part of the history are not in the log any more"
        );
        lines.push(format!(
            r#"{{"stream":"{stream}","operation":"unknown","after":{after},"upto":{gap_end}}}"#
        ));
        after = gap_end;
    }
    Ok(lines)
}

impl DivergedSuffix {
    pub(crate) fn open(directory: Option<&Path>) -> io::Result<DivergedSuffix> {
        let path = directory.map(|directory| directory.join(FILE));
        let count = match path.as_ref().map(File::open) {
            Some(Ok(file)) => BufReader::new(file).lines().count() as u64,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Some(Err(_)) | None => 0,
        };
        Ok(DivergedSuffix {
            path,
            lines: Vec::new(),
            count,
        })
    }

    /// Adds lines, which are durable when this returns.
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

impl<S> Driver<S> {
    /// Saves the records of a diverged suffix, which are durable when this returns true. After a
    /// failure the region stays as it is: no snapshot may replace a state whose acknowledged writes
    /// are saved nowhere else.
    pub(super) fn save_diverged(&mut self, lines: Result<Vec<String>, Error>) -> bool {
        let saved = lines.map_err(|error| format!("false progress cannot be read: {error}"));
        let saved = saved.and_then(|lines| {
            let count = lines.len();
            let suffix = self.diverged_suffix.lock();
            let saved = suffix.unwrap_or_else(PoisonError::into_inner).add(lines);
            let saved = saved.map_err(|error| format!("false progress cannot be saved: {error}"));
            saved.map(|()| count)
        });
        match saved {
            Ok(changes) => tracing::warn!(
                region = self.region.name(),
                changes,
                "this region had acknowledged what the history does not have; it is kept as false progress"
            ),
            Err(ref cause) => self.break_down(cause),
        }
        saved.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of records 3 to 8 of a log that begins after `begins_after` and ends with `last`.
    fn lines_of(begins_after: u64, last: u64) -> Vec<String> {
        let read = |after: Sequence| {
            let next = after.next();
            Ok(if after.0 < begins_after {
                SuffixRead::Trimmed {
                    begins_after: Sequence(begins_after),
                }
            } else if after.0 < last {
                SuffixRead::Records {
                    lines: vec![next.to_string()],
                    last: next,
                }
            } else {
                SuffixRead::Records {
                    lines: Vec::new(),
                    last: after,
                }
            })
        };
        suffix_lines("a", StreamId::Account, Sequence(2), Sequence(8), read).unwrap()
    }

    #[test]
    fn a_line_stands_for_records_that_the_log_has_lost() {
        let gap = |after: u64, upto: u64| {
            format!(r#"{{"stream":"account","operation":"unknown","after":{after},"upto":{upto}}}"#)
        };
        let numbers = |numbers: std::ops::RangeInclusive<u64>| numbers.map(|n| n.to_string());
        assert_eq!(lines_of(0, 8), numbers(3..=8).collect::<Vec<_>>());
        let rest: Vec<String> = [gap(2, 6)].into_iter().chain(numbers(7..=8)).collect();
        assert_eq!(lines_of(6, 8), rest);
        assert_eq!(lines_of(9, 9), [gap(2, 8)]);
        let start: Vec<String> = numbers(3..=5).chain([gap(5, 8)]).collect();
        assert_eq!(lines_of(0, 5), start);
    }

    #[test]
    fn a_record_that_does_not_convert_is_an_error() {
        let damaged = |_| Err(Error::Damaged("it does not decode".to_owned()));
        let lines = suffix_lines("a", StreamId::Account, Sequence(2), Sequence(8), damaged);
        assert!(lines.is_err());
    }
}
