//! Read-ahead for long walks: another thread reads entries from the storage engine while this
//! thread processes earlier entries. Read-ahead starts once a walk has proved to be long. The
//! number of such walks is limited to the number of cores minus one, because more threads would not
//! gain speed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use bytes::Bytes;
use orrery_storage::{Error, Range};

/// Number of entries after which a walk counts as long.
const LONG: usize = 20_000;
/// Number of entries in one batch, and maximum number of waiting batches.
const BATCH: usize = 2_048;
const WAITING: usize = 4;

type EntryResult = Result<(Bytes, Bytes), Error>;

/// Number of walks that read ahead now.
static READING: AtomicUsize = AtomicUsize::new(0);

/// The permission to read ahead; dropping it frees the slot.
struct ReadAheadPermit;

impl ReadAheadPermit {
    fn ask() -> Option<ReadAheadPermit> {
        static READING_MAX: OnceLock<usize> = OnceLock::new();
        let most = *READING_MAX.get_or_init(|| {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            cores.saturating_sub(1).max(1)
        });
        let more = |reading: usize| (reading < most).then_some(reading + 1);
        let asked = READING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        asked.ok().map(|_| ReadAheadPermit)
    }
}

impl Drop for ReadAheadPermit {
    fn drop(&mut self) {
        READING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The entries of a range, in order.
pub(super) struct ReadAhead {
    source: Source,
}

enum Source {
    Near {
        range: Range,
        read: usize,
    },
    Ahead {
        batches: Receiver<Vec<EntryResult>>,
        batch: std::vec::IntoIter<EntryResult>,
    },
}

impl ReadAhead {
    pub(super) fn new(range: Range) -> ReadAhead {
        ReadAhead {
            source: Source::Near { range, read: 0 },
        }
    }
}

impl Iterator for ReadAhead {
    type Item = EntryResult;

    fn next(&mut self) -> Option<EntryResult> {
        if let Source::Near { read: LONG, .. } = self.source {
            let empty = Source::Ahead {
                batches: sync_channel(0).1,
                batch: Vec::new().into_iter(),
            };
            if let Source::Near { range, .. } = std::mem::replace(&mut self.source, empty) {
                self.source = ahead(range);
            }
        }
        match &mut self.source {
            Source::Near { range, read } => {
                *read += 1;
                range.next()
            }
            Source::Ahead { batches, batch } => loop {
                if let Some(entry) = batch.next() {
                    return Some(entry);
                }
                *batch = batches.recv().ok()?.into_iter();
            },
        }
    }
}

/// Continues a range on a new thread, or on this thread if no slot or thread is available.
fn ahead(range: Range) -> Source {
    let Some(leave) = ReadAheadPermit::ask() else {
        return near(range);
    };
    let (sender, batches) = sync_channel(WAITING);
    let (hand_over, range_there) = sync_channel::<Range>(1);
    let read = move || {
        let _leave = leave;
        let Ok(mut range) = range_there.recv() else {
            return;
        };
        loop {
            let batch: Vec<EntryResult> = range.by_ref().take(BATCH).collect();
            // Sending fails when the consumer has ended its walk.
            if batch.is_empty() || sender.send(batch).is_err() {
                return;
            }
        }
    };
    let name = "orrery-ahead".to_owned();
    match thread::Builder::new().name(name).spawn(read) {
        Ok(_) => match hand_over.send(range) {
            Ok(()) => Source::Ahead {
                batches,
                batch: Vec::new().into_iter(),
            },
            Err(unsent) => near(unsent.0),
        },
        Err(_) => near(range),
    }
}

/// A range that stays on this thread.
fn near(range: Range) -> Source {
    Source::Near {
        range,
        read: LONG + 1,
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::{Batch, KeyspaceId, Storage};

    use super::*;

    #[test]
    fn long_and_short_ranges_are_whole_and_in_order() {
        let storage = Storage::in_memory(&["a"]);
        let mut batch = Batch::default();
        let count = u32::try_from(LONG + 3 * BATCH + 7).unwrap();
        for number in 0..count {
            let key = Bytes::copy_from_slice(&number.to_be_bytes());
            batch.put(KeyspaceId(0), key, Bytes::new());
        }
        storage.write(batch).unwrap();
        for end in [0, 10, LONG, LONG + 1, count as usize] {
            let end = u32::try_from(end).unwrap();
            let range = storage
                .snapshot()
                .range(KeyspaceId(0), &[], Some(&end.to_be_bytes()));
            let mut walk = ReadAhead::new(range);
            for number in 0..end {
                let (key, _) = walk.next().unwrap().unwrap();
                assert_eq!(key[..], number.to_be_bytes());
            }
            assert!(walk.next().is_none());
        }
        // Dropping the walk does not wait for the reading thread.
        let range = storage.snapshot().range(KeyspaceId(0), &[], None);
        let taken = ReadAhead::new(range).take(LONG + 1).count();
        assert_eq!(taken, LONG + 1);
    }
}
